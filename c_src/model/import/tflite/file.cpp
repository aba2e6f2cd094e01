#include "model/import/tflite/file.hpp"

#include <algorithm>
#include <cmath>

#include "model/graph/problem.hpp"
#include "model/import/tflite/schema.hpp"
#include "runtime/error.hpp"

namespace dala::model::tflite {
namespace {

constexpr size_t kMaxRank = 32;
constexpr size_t kMaxNameLength = 1000;  // many tensors can share one long name in the file
constexpr uint32_t kVersion = 3;

// Sets the element type from a TensorType code of the schema.
void read_type(int64_t code, TensorInfo& tensor) {
  switch (static_cast<TensorTypeCode>(code)) {
    case TensorTypeCode::float32:
      tensor.type = ElementType::f32;
      return;
    case TensorTypeCode::float16:
      tensor.type = ElementType::f16;
      return;
    case TensorTypeCode::int32:
      tensor.type = ElementType::i32;
      return;
    case TensorTypeCode::uint8:
      tensor.type = ElementType::u8;
      return;
    case TensorTypeCode::int64:
      tensor.type = ElementType::i64;
      return;
    case TensorTypeCode::boolean:
      tensor.type = ElementType::boolean;
      return;
    case TensorTypeCode::int16:
      tensor.type = ElementType::i16;
      return;
    case TensorTypeCode::int8:
      tensor.type = ElementType::i8;
      return;
    case TensorTypeCode::float64:
      tensor.type = ElementType::f64;
      return;
    case TensorTypeCode::uint64:
      tensor.type = ElementType::u64;
      return;
    case TensorTypeCode::uint32:
      tensor.type = ElementType::u32;
      return;
    case TensorTypeCode::uint16:
      tensor.type = ElementType::u16;
      return;
    case TensorTypeCode::int4:
      tensor.type = ElementType::i8;
      tensor.nibbles = true;
      return;
    case TensorTypeCode::bfloat16:
      tensor.type = ElementType::bf16;
      return;
    default:
      tensor.unreadable = text("elements of type ", code);
  }
}

TensorQuantization read_quantization(const Table& table, const TensorInfo& tensor) {
  TensorQuantization result;
  result.scales = table.numbers<float>(field::kQuantizationScale);
  result.zero_points = table.numbers<int64_t>(field::kQuantizationZeroPoint);
  result.axis = table.number<int32_t>(field::kQuantizationAxis);
  if (!result.present()) return result;
  const size_t count = result.scales.size();
  // A vector has one axis, whatever the file says: converters write that of the weights for biases.
  if (tensor.shape.size() == 1) result.axis = 0;
  const auto axis = static_cast<size_t>(result.axis);
  const bool fits = count == 1 || (axis < tensor.shape.size() &&
                                   static_cast<size_t>(tensor.shape[axis]) == count);
  if (!fits) {
    reject(text("tensor \"", tensor.name, "\": ", count, " scales do not fit shape ",
                to_string(tensor.shape), " with quantized_dimension ", result.axis));
  }
  for (size_t i = 0; i < count; ++i) {
    if (std::isfinite(result.scales[i]) && result.scales[i] >= 0) continue;
    reject(text("tensor \"", tensor.name, "\": scale ", result.scales[i],
                " is not finite and non-negative"));
  }
  return result;
}

// The data of a buffer. Files of more than 2 GB, the limit of flatbuffer offsets, append data after
// the flatbuffer.
Bytes buffer_of(Bytes file, const Table& model, uint32_t index) {
  const Tables buffers = model.tables(field::kModelBuffers);
  if (index == 0 || buffers.size() == 0) return {};
  if (index >= buffers.size()) {
    reject(text("buffer ", index, " does not exist, the file has ", buffers.size(), " buffers"));
  }
  const Table buffer = buffers[index];
  const auto offset = buffer.number<uint64_t>(field::kBufferOffset);
  if (offset <= 1) return buffer.bytes(field::kBufferData);
  const auto size = buffer.number<uint64_t>(field::kBufferSize);
  if (offset > file.size() || size > file.size() - offset) reject_offset(file, offset);
  return file.subspan(offset, size);
}

TensorInfo read_tensor(Bytes file, const Table& model, const Table& table) {
  TensorInfo tensor;
  tensor.name = table.text(field::kTensorName).substr(0, kMaxNameLength);
  read_type(table.number<int8_t>(field::kTensorType), tensor);
  const auto dims = table.numbers<int32_t>(field::kTensorShape);
  const auto signature = table.numbers<int32_t>(field::kTensorShapeSignature);
  if (dims.size() > kMaxRank) {
    reject(text("tensor \"", tensor.name, "\" has ", dims.size(), " dimensions, at most ", kMaxRank,
                " are supported"));
  }
  tensor.shape = dims.integers();
  for (int64_t size : tensor.shape) {
    if (size < 0) reject(text("tensor \"", tensor.name, "\": negative dimension ", size));
  }
  if (signature.size() == dims.size()) tensor.signature = signature.integers();
  tensor.data = buffer_of(file, model, table.number<uint32_t>(field::kTensorBuffer));
  if (const auto quantization = table.table(field::kTensorQuantization)) {
    tensor.quantization = read_quantization(*quantization, tensor);
  }
  tensor.sparsity = table.table(field::kTensorSparsity);
  tensor.variable = table.flag(field::kTensorIsVariable);
  return tensor;
}

// Indices of tensors; -1, if `min` allows it, is an omitted input.
std::vector<int64_t> references(const Table& table, int field, size_t tensors, int64_t min) {
  const auto numbers = table.numbers<int32_t>(field);
  if (numbers.size() > tensors + 16) {
    reject(text("a list of ", numbers.size(), " tensors in a graph of ", tensors, " tensors"));
  }
  std::vector<int64_t> indices = numbers.integers();
  for (int64_t index : indices) {
    if (index < min || index >= static_cast<int64_t>(tensors)) {
      reject(text("tensor ", index, " does not exist, the graph has ", tensors, " tensors"));
    }
  }
  return indices;
}

OperatorInfo read_operator(const Table& model, const Table& table, size_t tensors) {
  const Tables codes = model.tables(field::kModelOperatorCodes);
  const auto index = table.number<uint32_t>(field::kOperatorCode);
  if (index >= codes.size()) {
    reject(text("operator code ", index, " does not exist, the file has ", codes.size()));
  }
  const Table code = codes[index];
  // Old files have only the one-byte field; codes above 127 are only in the newer field.
  const auto number = std::max<int64_t>(code.number<int8_t>(field::kCodeDeprecatedBuiltin),
                                        code.number<int32_t>(field::kCodeBuiltin));
  OperatorInfo info;
  info.name = number == kCustom ? std::string(code.text(field::kCodeCustom)) : builtin_name(number);
  info.inputs = references(table, field::kOperatorInputs, tensors, -1);
  info.outputs = references(table, field::kOperatorOutputs, tensors, 0);
  info.options = table.table(field::kOperatorOptions);
  info.custom_options = table.bytes(field::kOperatorCustomOptions);
  return info;
}

}  // namespace

bool TensorInfo::quantized() const {
  const bool integers = type == ElementType::u8 || type == ElementType::i8 ||
                        type == ElementType::i16 || type == ElementType::i32 ||
                        type == ElementType::i64;
  return integers && quantization.present();
}

int64_t OperatorInfo::integer(int field, int64_t fallback) const {
  return options ? options->number<int32_t>(field, static_cast<int32_t>(fallback)) : fallback;
}

int64_t OperatorInfo::byte(int field) const { return options ? options->number<int8_t>(field) : 0; }

bool OperatorInfo::flag(int field) const { return options && options->flag(field); }

double OperatorInfo::real(int field) const {
  return options ? static_cast<double>(options->number<float>(field)) : 0;
}

std::vector<int64_t> OperatorInfo::integers(int field) const {
  return options ? options->numbers<int32_t>(field).integers() : std::vector<int64_t>();
}

bool is_tflite(Bytes bytes) {
  return bytes.size() >= 8 && std::memcmp(bytes.data() + 4, "TFL3", 4) == 0;
}

File read_file(Bytes bytes, size_t number) {
  if (!is_tflite(bytes)) reject("this is not a TFLite file");
  const Table model = Table::root(bytes);
  const auto version = model.number<uint32_t>(field::kModelVersion);
  if (version != kVersion) {
    throw Error(Reason::unsupported, text("the model has schema version ", version,
                                          ", supported is version ", kVersion));
  }
  const Tables subgraphs = model.tables(field::kModelSubgraphs);
  if (subgraphs.size() == 0) reject("the file has no graph");
  if (number >= subgraphs.size()) {
    reject(text("graph ", number, " does not exist, the file has ", subgraphs.size()));
  }
  const Table graph = subgraphs[number];

  File file;
  file.description = model.text(field::kModelDescription);
  const Tables tensors = graph.tables(field::kGraphTensors);
  file.tensors.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    file.tensors.push_back(read_tensor(bytes, model, tensors[i]));
  }
  // A file can refer to one table many times. This bound keeps the memory proportional to the file.
  size_t references_left = bytes.size();
  const Tables operators = graph.tables(field::kGraphOperators);
  for (size_t i = 0; i < operators.size(); ++i) {
    file.operators.push_back(read_operator(model, operators[i], tensors.size()));
    const size_t used = file.operators.back().inputs.size() + file.operators.back().outputs.size();
    if (used > references_left) {
      reject(text("the operators have more inputs and outputs than the file has bytes (",
                  bytes.size(), ")"));
    }
    references_left -= used;
  }
  file.inputs = references(graph, field::kGraphInputs, tensors.size(), 0);
  file.outputs = references(graph, field::kGraphOutputs, tensors.size(), 0);
  return file;
}

}  // namespace dala::model::tflite
