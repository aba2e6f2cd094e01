#include "model/import/onnx/weights.hpp"

#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "model/graph/problem.hpp"
#include "model/import/common/folder.hpp"
#include "model/import/onnx/schema.hpp"
#include "runtime/error.hpp"

namespace dala::model::onnx {
namespace {

// A TensorProto that refers to its data in the file.
struct Proto {
  std::string name;
  Shape dims;
  int64_t type = 0;
  std::optional<Bytes> raw;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<int64_t> integers;  // int32_data, int64_data or uint64_data
  bool external = false;
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length;
};

int64_t parse_number(const std::string& name, std::string_view digits) {
  int64_t value = 0;
  for (char digit : digits) {
    if (digit < '0' || digit > '9' || value > (int64_t{1} << 58)) {
      reject_tensor(name,
                    text("\"", digits, "\" is not a valid offset or length of external data"));
    }
    value = 10 * value + (digit - '0');
  }
  return value;
}

void read_external(Bytes entry, Proto& proto) {
  Message message(entry, "an external data entry");
  std::string_view key;
  std::string_view value;
  for (Field field; message.next(field);) {
    if (field.number == field::kEntryKey) key = field.text();
    if (field.number == field::kEntryValue) value = field.text();
  }
  if (key == "location") proto.location = value;
  if (key == "offset") proto.offset = parse_number(proto.name, value);
  if (key == "length") proto.length = parse_number(proto.name, value);
}

Proto read_proto(Bytes bytes) {
  Proto proto;
  Message message(bytes, "a tensor");
  for (Field field; message.next(field);) {
    switch (field.number) {
      case field::kTensorDims:
        append_integers(field, proto.dims);
        break;
      case field::kTensorDataType:
        proto.type = field.integer();
        break;
      case field::kTensorFloatData:
        append_floats(field, proto.floats);
        break;
      case field::kTensorInt32Data:
      case field::kTensorInt64Data:
      case field::kTensorUint64Data:
        append_integers(field, proto.integers);
        break;
      case field::kTensorName:
        proto.name = field.text();
        break;
      case field::kTensorRawData:
        proto.raw = field.content();
        break;
      case field::kTensorDoubleData:
        append_doubles(field, proto.doubles);
        break;
      case field::kTensorExternalData:
        read_external(field.content(), proto);
        break;
      case field::kTensorDataLocation:
        proto.external = field.integer() == kExternal;
        break;
      default:
        break;
    }
  }
  return proto;
}

// Reads external data. The file must be inside of the model's folder, so that a model cannot read
// other files of the machine.
std::vector<std::byte> external_bytes(const Proto& proto, const std::string& folder,
                                      size_t expected) {
  namespace fs = std::filesystem;
  if (folder.empty()) {
    reject_tensor(
        proto.name,
        "its data is in another file, which a model loaded from bytes cannot refer to; load the "
        "model from its path");
  }
  const std::optional<fs::path> found = inside_folder(folder, proto.location);
  if (!found) {
    reject_tensor(proto.name,
                  text("external data \"", proto.location, "\" is not inside the model's folder"));
  }
  const fs::path& path = *found;
  std::error_code failure;
  if (!fs::is_regular_file(path, failure)) {
    reject_tensor(proto.name, text("external data \"", proto.location, "\" does not exist"));
  }
  const auto size = static_cast<int64_t>(fs::file_size(path, failure));
  const auto length = static_cast<int64_t>(expected);
  if (proto.length && *proto.length != length) {
    reject_tensor(proto.name, text("its shape needs ", length, " bytes, the external data has ",
                                   *proto.length));
  }
  if (failure || proto.offset > size || length > size - proto.offset) {
    reject_tensor(proto.name, text("external data \"", proto.location, "\" has ", size,
                                   " bytes, needed are ", length, " at offset ", proto.offset));
  }
  std::vector<std::byte> bytes(expected);
  std::ifstream file(path, std::ios::binary);
  file.seekg(proto.offset);
  file.read(reinterpret_cast<char*>(bytes.data()), length);
  if (!file)
    reject_tensor(proto.name, text("external data \"", proto.location, "\" cannot be read"));
  return bytes;
}

// Converts from the layout of files to that of buffers.
void convert_raw(const std::byte* from, HostTensor& tensor) {
  const auto count = static_cast<size_t>(tensor.count());
  const auto widen = [&]<typename To, typename Convert>(To* to, Convert convert) {
    const size_t step = file_bytes(tensor.type);
    for (size_t i = 0; i < count; ++i) to[i] = convert(from + i * step);
  };
  switch (tensor.type) {
    case ElementType::f16:
      widen(tensor.data<float>(), [](auto* at) { return from_half(load<uint16_t>(at)); });
      break;
    case ElementType::bf16:
      widen(tensor.data<float>(), [](auto* at) { return from_brain_float(load<uint16_t>(at)); });
      break;
    case ElementType::i8:
      widen(tensor.data<int32_t>(), [](auto* at) { return load<int8_t>(at); });
      break;
    case ElementType::i16:
      widen(tensor.data<int32_t>(), [](auto* at) { return load<int16_t>(at); });
      break;
    case ElementType::u16:
      widen(tensor.data<uint32_t>(), [](auto* at) { return load<uint16_t>(at); });
      break;
    case ElementType::boolean:
      widen(tensor.data<uint8_t>(),
            [](auto* at) { return static_cast<uint8_t>(load<uint8_t>(at) != 0 ? 1 : 0); });
      break;
    default:
      if (count > 0) std::memcpy(tensor.bytes.data(), from, tensor.bytes.size());
  }
}

void convert_integer(int64_t value, size_t index, HostTensor& tensor) {
  switch (tensor.type) {
    case ElementType::f16:
      tensor.data<float>()[index] = from_half(static_cast<uint16_t>(value));
      break;
    case ElementType::bf16:
      tensor.data<float>()[index] = from_brain_float(static_cast<uint16_t>(value));
      break;
    case ElementType::i8:
      tensor.data<int32_t>()[index] = static_cast<int8_t>(value);
      break;
    case ElementType::i16:
      tensor.data<int32_t>()[index] = static_cast<int16_t>(value);
      break;
    case ElementType::i32:
      tensor.data<int32_t>()[index] = static_cast<int32_t>(value);
      break;
    case ElementType::u16:
      tensor.data<uint32_t>()[index] = static_cast<uint16_t>(value);
      break;
    case ElementType::u32:
      tensor.data<uint32_t>()[index] = static_cast<uint32_t>(value);
      break;
    case ElementType::boolean:
      tensor.data<uint8_t>()[index] = value != 0 ? 1 : 0;
      break;
    case ElementType::u8:
      tensor.data<uint8_t>()[index] = static_cast<uint8_t>(value);
      break;
    default:
      tensor.data<int64_t>()[index] = value;
  }
}

// The number of elements in the typed list for this element type.
size_t listed(const Proto& proto, ElementType type) {
  if (type == ElementType::f32) return proto.floats.size();
  if (type == ElementType::f64) return proto.doubles.size();
  return proto.integers.size();
}

void convert_lists(const Proto& proto, HostTensor& tensor) {
  if (tensor.bytes.empty()) return;
  if (tensor.type == ElementType::f32) {
    std::memcpy(tensor.bytes.data(), proto.floats.data(), tensor.bytes.size());
  } else if (tensor.type == ElementType::f64) {
    std::memcpy(tensor.bytes.data(), proto.doubles.data(), tensor.bytes.size());
  } else {
    for (size_t i = 0; i < proto.integers.size(); ++i) {
      convert_integer(proto.integers[i], i, tensor);
    }
  }
}

}  // namespace

NamedTensor read_tensor(Bytes message, const std::string& folder) {
  const Proto proto = read_proto(message);
  const ElementType type = element_type(proto.type);
  int64_t count = 0;
  try {
    count = checked_type(DType::s64, proto.dims).count();
  } catch (const Error& problem) {
    reject_tensor(proto.name, problem.message);
  }
  const size_t expected = static_cast<size_t>(count) * file_bytes(type);
  const auto need = [&](size_t given) {
    if (given == expected) return;
    reject_tensor(proto.name, text("its shape ", to_string(proto.dims), " of ", to_string(type),
                                   " needs ", expected, " bytes, the file has ", given));
  };

  if (proto.external) {
    const std::vector<std::byte> bytes = external_bytes(proto, folder, expected);
    auto tensor = std::make_shared<HostTensor>(type, proto.dims);
    convert_raw(bytes.data(), *tensor);
    return {proto.name, std::move(tensor)};
  }
  if (proto.raw) {
    need(proto.raw->size());
  } else {
    need(listed(proto, type) * file_bytes(type));
  }
  auto tensor = std::make_shared<HostTensor>(type, proto.dims);
  if (proto.raw) {
    convert_raw(proto.raw->data(), *tensor);
  } else {
    convert_lists(proto, *tensor);
  }
  return {proto.name, std::move(tensor)};
}

}  // namespace dala::model::onnx
