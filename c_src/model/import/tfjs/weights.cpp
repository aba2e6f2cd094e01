#include "model/import/tfjs/weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "kernels/descriptor.hpp"
#include "model/graph/problem.hpp"
#include "model/import/common/folder.hpp"
#include "runtime/error.hpp"

namespace dala::model::tfjs {
namespace {

// The encoding of an element in the file.
enum class Coding { f32, i32, u8, u16, f16 };

size_t size_of(Coding coding) {
  switch (coding) {
    case Coding::u8:
      return 1;
    case Coding::u16:
    case Coding::f16:
      return 2;
    default:
      return 4;
  }
}

// The manifest entry of one weight.
struct Entry {
  std::string name;
  Shape shape;
  ElementType type = ElementType::f32;
  Coding coding = Coding::f32;
  // If scaled, the value is the stored number times `scale` plus `min`.
  bool scaled = false;
  double scale = 1;
  double min = 0;

  size_t bytes() const {
    return static_cast<size_t>(checked_type(DType::s64, shape).count()) * size_of(coding);
  }
};

void read_type(const std::string& dtype, const std::string& what, Entry& entry) {
  if (dtype == "float32") {
    entry.type = ElementType::f32;
    entry.coding = Coding::f32;
  } else if (dtype == "int32") {
    entry.type = ElementType::i32;
    entry.coding = Coding::i32;
  } else if (dtype == "uint8" || dtype == "bool") {
    entry.type = dtype == "bool" ? ElementType::boolean : ElementType::u8;
    entry.coding = Coding::u8;
  } else if (dtype == "float16") {
    entry.type = ElementType::f32;
    entry.coding = Coding::f16;
  } else {
    unsupported(text(what, " has the type \"", dtype, "\", which is not supported"));
  }
}

void read_quantization(const Json& quantization, const std::string& what, Entry& entry) {
  const std::string& dtype =
      quantization.at("dtype", what + "'s quantization").text(what + "'s quantization");
  if (entry.type != ElementType::f32 && entry.type != ElementType::i32) {
    reject(text(what, " is quantized, but its type is neither float32 nor int32"));
  }
  if (dtype == "float16") {
    entry.coding = Coding::f16;
    return;
  }
  if (dtype != "uint8" && dtype != "uint16") {
    reject(text(what, " is quantized as \"", dtype, "\", expected uint8, uint16 or float16"));
  }
  entry.coding = dtype == "uint8" ? Coding::u8 : Coding::u16;
  entry.scaled = true;
  entry.scale = quantization.at("scale", what + "'s quantization").number(what + "'s scale");
  entry.min = quantization.at("min", what + "'s quantization").number(what + "'s minimum");
}

Entry read_entry(const Json& json) {
  Entry entry;
  entry.name = json.at("name", "a weight").text("the name of a weight");
  const std::string what = text("weight \"", entry.name, "\"");
  for (const Json& dimension : json.at("shape", what).list(what + "'s shape")) {
    entry.shape.push_back(dimension.integer(what + "'s shape"));
  }
  try {
    checked_type(DType::s64, entry.shape);
  } catch (const Error& problem) {
    reject(text(what, ": ", problem.message));
  }
  read_type(json.at("dtype", what).text(what + "'s dtype"), what, entry);
  if (const Json* quantization = json.find("quantization")) {
    read_quantization(*quantization, what, entry);
  }
  return entry;
}

// The shards of a group as one byte stream.
class Shards {
 public:
  Shards(const Json& paths, const std::string& folder) {
    namespace fs = std::filesystem;
    for (const Json& each : paths.list("the paths of weights")) {
      const std::string& name = each.text("a path of weights");
      const std::optional<fs::path> path = inside_folder(folder, name);
      if (!path) reject(text("the weight file \"", name, "\" is not inside the model's folder"));
      std::error_code failure;
      if (!fs::is_regular_file(*path, failure)) {
        reject(text("the weight file \"", name, "\" does not exist in ", folder));
      }
      const uintmax_t size = fs::file_size(*path, failure);
      if (failure) reject(text("the weight file \"", name, "\" cannot be read"));
      files_.push_back({name, *path, static_cast<size_t>(size)});
      total_ += static_cast<size_t>(size);
    }
  }

  size_t total() const { return total_; }

  void read(std::byte* to, size_t count) {
    while (count > 0) {
      if (!stream_.is_open()) stream_.open(files_.at(current_).path, std::ios::binary);
      const File& file = files_[current_];
      const size_t part = std::min(count, file.size - done_);
      stream_.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(part));
      if (!stream_) reject(text("the weight file \"", file.name, "\" cannot be read"));
      to += part;
      count -= part;
      done_ += part;
      if (done_ < file.size) continue;
      stream_.close();
      ++current_;
      done_ = 0;
    }
  }

 private:
  struct File {
    std::string name;
    std::filesystem::path path;
    size_t size = 0;
  };
  std::vector<File> files_;
  size_t total_ = 0;
  size_t current_ = 0;  // the file that is read next,
  size_t done_ = 0;     // and the bytes already read from it
  std::ifstream stream_;
};

template <typename T>
T element(const std::vector<std::byte>& bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

HostTensorPtr read_tensor(const Entry& entry, Shards& shards) {
  auto tensor = std::make_shared<HostTensor>(entry.type, entry.shape);
  if (!entry.scaled && entry.coding != Coding::f16) {
    shards.read(tensor->bytes.data(), tensor->bytes.size());
    if (entry.type == ElementType::boolean) {
      for (std::byte& each : tensor->bytes) each = std::byte{each != std::byte{0}};
    }
    return tensor;
  }
  std::vector<std::byte> written(entry.bytes());
  shards.read(written.data(), written.size());
  const size_t count = written.size() / size_of(entry.coding);
  const auto decode = [&](auto* to, auto value_of) {
    for (size_t i = 0; i < count; ++i) {
      double value = value_of(i);
      if (entry.scaled) value = value * entry.scale + entry.min;
      if constexpr (std::is_same_v<decltype(to), float*>) {
        to[i] = static_cast<float>(value);
      } else {
        // Rounds ties towards plus infinity, like JavaScript's Math.round.
        tensor->set(static_cast<int64_t>(i), std::floor(value + 0.5));
      }
    }
  };
  const auto decode_as = [&](auto value_of) {
    if (entry.type == ElementType::f32) {
      decode(tensor->data<float>(), value_of);
    } else {
      decode(tensor->data<int32_t>(), value_of);
    }
  };
  if (entry.coding == Coding::u8) {
    decode_as([&](size_t i) { return element<uint8_t>(written, i); });
  } else if (entry.coding == Coding::u16) {
    decode_as([&](size_t i) { return element<uint16_t>(written, i); });
  } else {
    decode_as([&](size_t i) { return from_half(element<uint16_t>(written, i)); });
  }
  return tensor;
}

void read_group(const Json& group, const std::string& folder, Weights& weights) {
  std::vector<Entry> entries;
  size_t expected = 0;
  for (const Json& each : group.at("weights", "a group of weights").list("a group's weights")) {
    entries.push_back(read_entry(each));
    const size_t bytes = entries.back().bytes();
    if (bytes > SIZE_MAX / 2 - expected) reject("the weights are too large for memory");
    expected += bytes;
  }
  const Json& paths = group.at("paths", "a group of weights");
  Shards shards(paths, folder);
  if (shards.total() != expected) {
    std::vector<std::string> names;
    for (const Json& each : paths.list("paths")) names.push_back(each.text("path"));
    reject(text("the model needs ", expected, " bytes of weights, ", join(names, ", "),
                names.size() == 1 ? " has " : " have ", shards.total()));
  }
  for (const Entry& entry : entries) {
    if (!weights.emplace(entry.name, read_tensor(entry, shards)).second) {
      reject(text("two weights have the name \"", entry.name, "\""));
    }
  }
}

}  // namespace

Weights read_weights(const Json& model, const std::string& folder) {
  const Json::List& groups =
      model.at("weightsManifest", "the file").list("the manifest of weights");
  if (folder.empty() && !groups.empty()) {
    reject(
        "a TF.js model with weight files cannot be loaded from bytes; pass the path of its "
        "model.json");
  }
  Weights weights;
  for (const Json& group : groups) read_group(group, folder, weights);
  return weights;
}

}  // namespace dala::model::tfjs
