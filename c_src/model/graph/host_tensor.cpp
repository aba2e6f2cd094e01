#include "model/graph/host_tensor.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/error.hpp"

namespace dala::model {
namespace {

// Calls `visit` with a pointer to the elements of the storage type.
template <typename Bytes, typename Visit>
auto with_elements(DType dtype, Bytes* bytes, Visit visit) {
  const auto as = [bytes]<typename T>(T) {
    if constexpr (std::is_const_v<Bytes>) {
      return reinterpret_cast<const T*>(bytes);
    } else {
      return reinterpret_cast<T*>(bytes);
    }
  };
  switch (dtype) {
    case DType::f64:
      return visit(as(double{}));
    case DType::s32:
      return visit(as(int32_t{}));
    case DType::s64:
      return visit(as(int64_t{}));
    case DType::u32:
      return visit(as(uint32_t{}));
    case DType::u8:
      return visit(as(uint8_t{}));
    default:
      return visit(as(float{}));
  }
}

// Saturates like the kernels' conversions; NaN becomes 0.
template <typename T>
T to_integer(double number) {
  constexpr auto kHighest = static_cast<double>(std::numeric_limits<T>::max());
  constexpr auto kLowest = static_cast<double>(std::numeric_limits<T>::min());
  if (std::isnan(number)) return 0;
  if (number >= kHighest) return std::numeric_limits<T>::max();
  if (number <= kLowest) return std::numeric_limits<T>::min();
  return static_cast<T>(number);
}

}  // namespace

HostTensor::HostTensor(ElementType type, Shape shape) : type(type) {
  const TensorType checked = checked_type(storage_of(type), std::move(shape));
  bytes.resize(checked.bytes());
  this->shape = checked.shape;
}

void HostTensor::need(int64_t index) const {
  if (static_cast<size_t>(index) < bytes.size() / size_of(storage_of(type))) return;
  throw Error(Reason::shape_mismatch,
              text("a tensor of shape ", to_string(shape), " has no element ", index));
}

int64_t HostTensor::integer(int64_t index) const {
  need(index);
  return with_elements(storage_of(type), bytes.data(), [index](const auto* elements) {
    using T = std::remove_cvref_t<decltype(*elements)>;
    if constexpr (std::is_integral_v<T>) {
      return static_cast<int64_t>(elements[index]);
    } else {
      return to_integer<int64_t>(elements[index]);
    }
  });
}

double HostTensor::number(int64_t index) const {
  need(index);
  if (type == ElementType::u64) {
    return static_cast<double>(static_cast<uint64_t>(data<int64_t>()[index]));
  }
  return with_elements(storage_of(type), bytes.data(), [index](const auto* elements) {
    return static_cast<double>(elements[index]);
  });
}

void HostTensor::set(int64_t index, double number) {
  need(index);
  with_elements(storage_of(type), bytes.data(), [index, number](auto* elements) {
    using T = std::remove_reference_t<decltype(*elements)>;
    if constexpr (std::is_integral_v<T>) {
      elements[index] = to_integer<T>(number);
    } else {
      elements[index] = static_cast<T>(number);
    }
    return 0;
  });
}

std::vector<int64_t> HostTensor::integers() const {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count(); ++i) values.push_back(integer(i));
  return values;
}

std::vector<double> HostTensor::numbers() const {
  std::vector<double> values;
  for (int64_t i = 0; i < count(); ++i) values.push_back(number(i));
  return values;
}

HostTensorPtr vector_of(const std::vector<int64_t>& values) {
  auto tensor =
      std::make_shared<HostTensor>(ElementType::i64, Shape{static_cast<int64_t>(values.size())});
  if (!values.empty()) std::memcpy(tensor->bytes.data(), values.data(), tensor->bytes.size());
  return tensor;
}

HostTensorPtr scalar_of(ElementType type, double value, Shape shape) {
  auto tensor = std::make_shared<HostTensor>(type, std::move(shape));
  tensor->set(0, value);
  return tensor;
}

float from_half(uint16_t bits) {
  const uint32_t magnitude = bits & 0x7fff;
  float value = 0;
  if (magnitude < 0x400) {
    value = static_cast<float>(magnitude) * 0x1p-24F;
  } else {
    // Rebias the exponent from 15 to 127; infinities and NaNs get the largest exponent.
    const uint32_t moved = magnitude < 0x7c00 ? 112U << 23 : 224U << 23;
    value = std::bit_cast<float>((magnitude << 13) + moved);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

float from_brain_float(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

}  // namespace dala::model
