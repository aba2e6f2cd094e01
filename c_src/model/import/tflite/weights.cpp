#include "model/import/tflite/weights.hpp"

#include "model/graph/problem.hpp"
#include "model/import/tflite/sparse.hpp"
#include "runtime/error.hpp"

namespace dala::model::tflite {
namespace {

// The bound of all weights: a fixed allowance plus a multiple of the file size, since 4-bit numbers
// become floats and sparse tensors dense.
constexpr size_t kAlwaysAllowed = size_t{1} << 26;
constexpr size_t kMaxGrowth = 64;

// One element as stored in the file; exact except for 64-bit integers beyond 2^53.
double element(const TensorInfo& tensor, size_t index) {
  const Bytes data = tensor.data;
  if (tensor.nibbles) {
    const auto both = load<uint8_t>(data, index / 2);
    const int bits = index % 2 == 0 ? both & 15 : both >> 4;
    return bits >= 8 ? bits - 16 : bits;
  }
  const size_t at = index * file_bytes(tensor.type);
  switch (tensor.type) {
    case ElementType::f16:
      return static_cast<double>(from_half(load<uint16_t>(data, at)));
    case ElementType::bf16:
      return static_cast<double>(from_brain_float(load<uint16_t>(data, at)));
    case ElementType::f64:
      return load<double>(data, at);
    case ElementType::u8:
    case ElementType::boolean:
      return load<uint8_t>(data, at);
    case ElementType::i8:
      return load<int8_t>(data, at);
    case ElementType::i16:
      return load<int16_t>(data, at);
    case ElementType::u16:
      return load<uint16_t>(data, at);
    case ElementType::i32:
      return load<int32_t>(data, at);
    case ElementType::u32:
      return load<uint32_t>(data, at);
    case ElementType::i64:
    case ElementType::u64:
      return static_cast<double>(load<int64_t>(data, at));
    default:
      return static_cast<double>(load<float>(data, at));
  }
}

// The number of elements in the data.
size_t stored(const TensorInfo& tensor) {
  if (tensor.nibbles) return 2 * tensor.data.size();
  return tensor.data.size() / file_bytes(tensor.type);
}

// The index of the scale of an element. Several scales apply along one axis.
struct ScaleOf {
  explicit ScaleOf(const TensorInfo& tensor) : count(tensor.quantization.scales.size()) {
    if (count <= 1) return;
    for (size_t d = tensor.shape.size(); --d > static_cast<size_t>(tensor.quantization.axis);) {
      inner *= static_cast<size_t>(tensor.shape[d]);
    }
  }
  size_t operator()(size_t index) const { return count <= 1 ? 0 : index / inner % count; }

  size_t count;
  size_t inner = 1;
};

void put(const TensorInfo& from, size_t value, HostTensor& to, size_t index,
         const ScaleOf& scale_of) {
  if (from.quantized()) {
    const size_t scale = scale_of(index);
    to.data<float>()[index] = static_cast<float>(
        from.quantization.scale(scale) *
        (element(from, value) - static_cast<double>(from.quantization.zero_point(scale))));
  } else if (to.type == ElementType::i64 || to.type == ElementType::u64) {
    to.data<int64_t>()[index] = load<int64_t>(from.data, value * sizeof(int64_t));
  } else if (to.type == ElementType::boolean) {
    to.data<uint8_t>()[index] = element(from, value) != 0 ? 1 : 0;
  } else {
    to.set(static_cast<int64_t>(index), element(from, value));
  }
}

}  // namespace

ElementType graph_type(const TensorInfo& tensor) {
  const bool half = tensor.type == ElementType::f16 || tensor.type == ElementType::bf16;
  return half || tensor.quantized() ? ElementType::f32 : tensor.type;
}

void need_readable(const TensorInfo& tensor) {
  if (tensor.unreadable.empty()) return;
  unsupported(text(tensor.unreadable, " in \"", tensor.name, "\""));
}

Weights::Weights(size_t file_bytes) : left_(kAlwaysAllowed + kMaxGrowth * file_bytes) {}

HostTensorPtr Weights::read(const TensorInfo& tensor) {
  need_readable(tensor);
  const ElementType type = graph_type(tensor);
  TensorType whole;
  try {
    whole = checked_type(storage_of(type), tensor.shape);
  } catch (const Error& problem) {
    reject_tensor(std::string(tensor.name), problem.message);
  }
  const auto count = static_cast<size_t>(whole.count());
  const size_t expected = tensor.nibbles ? (count + 1) / 2 : count * file_bytes(tensor.type);
  if (!tensor.sparsity && tensor.data.size() != expected) {
    reject_tensor(std::string(tensor.name),
                  text("its shape ", to_string(tensor.shape), " of ", to_string(tensor.type),
                       " needs ", expected, " bytes, the file has ", tensor.data.size()));
  }
  if (whole.bytes() > left_) {
    reject_tensor(std::string(tensor.name),
                  text("the weights exceed ", kAlwaysAllowed, " bytes plus ", kMaxGrowth,
                       " times the size of the file"));
  }
  left_ -= whole.bytes();

  auto result = std::make_shared<HostTensor>(type, tensor.shape);
  const ScaleOf scale_of(tensor);
  if (tensor.sparsity) {
    // Elements that are not stored are 0; the zero point of sparse weights is 0.
    walk_sparse(tensor, stored(tensor), [&](size_t element, size_t value) {
      put(tensor, value, *result, element, scale_of);
    });
  } else if (type == ElementType::f32 && tensor.type == ElementType::f32) {
    if (count > 0) std::memcpy(result->bytes.data(), tensor.data.data(), expected);
  } else {
    for (size_t i = 0; i < count; ++i) put(tensor, i, *result, i, scale_of);
  }
  return result;
}

}  // namespace dala::model::tflite
