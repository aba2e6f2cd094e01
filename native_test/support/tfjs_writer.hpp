// Writes TF.js models for tests: model.json and a file of weights, by hand, independent of the code
// that reads them.
#pragma once

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kernels/descriptor.hpp"
#include "support/seeds.hpp"

namespace dala::test {

// A temporary folder that is removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("dala_tfjs_" + std::to_string(getpid()) + "_" + std::to_string(++count));
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string str() const { return path_.string(); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
  }

 private:
  std::filesystem::path path_;
};

inline std::string base64(const std::string& text) {
  static const char* const digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  for (size_t i = 0; i < text.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0);
    }
    for (size_t k = 0; k < 4; ++k) {
      result += i + k <= text.size() ? digits[bits >> (18 - 6 * k) & 63] : '=';
    }
  }
  return result;
}

// Attributes, as JSON members.
inline std::string truth(const std::string& name, bool value) {
  return text("\"", name, "\":{\"b\":", value ? "true" : "false", "}");
}
inline std::string whole(const std::string& name, int64_t value) {
  return text("\"", name, "\":{\"i\":\"", value, "\"}");
}
inline std::string real(const std::string& name, double value) {
  return text("\"", name, "\":{\"f\":", value, "}");
}
inline std::string word(const std::string& name, const std::string& value) {
  return text("\"", name, "\":{\"s\":\"", base64(value), "\"}");
}
inline std::string kind(const std::string& name, const std::string& type) {
  return text("\"", name, "\":{\"type\":\"", type, "\"}");
}
inline std::string called(const std::string& name, const std::string& function) {
  return text("\"", name, "\":{\"func\":{\"name\":\"", function, "\"}}");
}
inline std::string wholes(const std::string& name, const std::vector<int64_t>& values) {
  std::vector<std::string> items;
  for (int64_t value : values) items.push_back(text("\"", value, "\""));
  return text("\"", name, "\":{\"list\":{\"i\":[", join(items, ","), "]}}");
}
inline std::string words(const std::string& name, const std::vector<std::string>& values) {
  std::vector<std::string> items;
  for (const std::string& value : values) items.push_back(text("\"", base64(value), "\""));
  return text("\"", name, "\":{\"list\":{\"s\":[", join(items, ","), "]}}");
}

class TfjsWriter {
 public:
  static std::string shape(const std::vector<int64_t>& dims) {
    std::vector<std::string> items;
    for (int64_t dim : dims) items.push_back(text("{\"size\":\"", dim, "\"}"));
    return text("{\"dim\":[", join(items, ","), "]}");
  }

  TfjsWriter& node(const std::string& op, const std::string& name,
                   const std::vector<std::string>& inputs,
                   const std::vector<std::string>& attributes = {}) {
    std::vector<std::string> quoted;
    for (const std::string& each : inputs) quoted.push_back("\"" + each + "\"");
    nodes_.push_back(text("{\"name\":\"", name, "\",\"op\":\"", op, "\",\"input\":[",
                          join(quoted, ","), "],\"attr\":{", join(attributes, ","), "}}"));
    return *this;
  }

  TfjsWriter& placeholder(const std::string& name, const std::vector<int64_t>& dims,
                          const std::string& type = "DT_FLOAT") {
    return node("Placeholder", name, {},
                {kind("dtype", type), text("\"shape\":{\"shape\":", shape(dims), "}")});
  }

  // Adds a constant with its bytes, and further members of its manifest entry.
  TfjsWriter& weight(const std::string& name, const std::vector<int64_t>& dims,
                     const std::string& dtype, const std::string& bytes,
                     const std::string& quantization = "") {
    std::vector<std::string> sizes;
    for (int64_t dim : dims) sizes.push_back(std::to_string(dim));
    manifest_.push_back(text("{\"name\":\"", name, "\",\"shape\":[", join(sizes, ","),
                             "],\"dtype\":\"", dtype, "\"",
                             quantization.empty() ? "" : ",\"quantization\":" + quantization, "}"));
    bytes_ += bytes;
    return node("Const", name, {});
  }
  template <typename T>
  TfjsWriter& weight(const std::string& name, const std::vector<int64_t>& dims,
                     const std::vector<T>& values, const std::string& dtype = "") {
    const std::string bytes(reinterpret_cast<const char*>(values.data()),
                            values.size() * sizeof(T));
    const std::string type = std::is_same_v<T, float> ? "float32" : "int32";
    return weight(name, dims, dtype.empty() ? type : dtype, bytes);
  }

  // A function: its own nodes, those of another writer, over arguments and results by name.
  TfjsWriter& function(const std::string& name, const std::vector<std::string>& arguments,
                       const std::vector<std::pair<std::string, std::string>>& results,
                       const TfjsWriter& nodes) {
    std::vector<std::string> taken;
    std::vector<std::string> given;
    std::vector<std::string> sources;
    for (const std::string& each : arguments) taken.push_back("{\"name\":\"" + each + "\"}");
    for (const auto& [result, source] : results) {
      given.push_back("{\"name\":\"" + result + "\"}");
      sources.push_back("\"" + result + "\":\"" + source + "\"");
    }
    functions_.push_back(text("{\"signature\":{\"name\":\"", name, "\",\"inputArg\":[",
                              join(taken, ","), "],\"outputArg\":[", join(given, ","),
                              "]},\"nodeDef\":[", join(nodes.nodes_, ","), "],\"ret\":{",
                              join(sources, ","), "}}"));
    manifest_.insert(manifest_.end(), nodes.manifest_.begin(), nodes.manifest_.end());
    bytes_ += nodes.bytes_;
    return *this;
  }

  TfjsWriter& signature(const std::string& json) {
    signature_ = json;
    return *this;
  }

  const std::string& bytes() const { return bytes_; }

  std::string json(const std::string& paths = "\"weights.bin\"") const {
    return text("{\"format\":\"graph-model\",\"generatedBy\":\"dala tests\",",
                signature_.empty() ? "" : "\"signature\":" + signature_ + ",",
                "\"modelTopology\":{\"node\":[", join(nodes_, ","), "],\"library\":{\"function\":[",
                join(functions_, ","), "]},\"versions\":{}},\"weightsManifest\":[{\"paths\":[",
                paths, "],\"weights\":[", join(manifest_, ","), "]}]}");
  }

  // The path of model.json.
  std::string write(const TemporaryFolder& folder) const {
    folder.write("model.json", json());
    folder.write("weights.bin", bytes_);
    keep_seed("tfjs", json() + '\0' + bytes_);
    return folder / "model.json";
  }

 private:
  std::vector<std::string> nodes_;
  std::vector<std::string> functions_;
  std::vector<std::string> manifest_;
  std::string bytes_;
  std::string signature_;
};

}  // namespace dala::test
