// A tensor with its values in host memory: a weight, a constant, or a result folded from those. Its
// bytes have the layout of a buffer of the storage type.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "model/graph/element_type.hpp"

namespace dala::model {

struct HostTensor {
  ElementType type = ElementType::f32;
  Shape shape;
  std::vector<std::byte> bytes;

  // Filled with zeros. Throws `shape_mismatch` for a shape that is too large.
  HostTensor(ElementType type, Shape shape);

  TensorType storage() const { return {storage_of(type), shape}; }
  int64_t count() const { return storage().count(); }

  // The elements as the storage type's host type, which must be T.
  template <typename T>
  T* data() {
    return reinterpret_cast<T*>(bytes.data());
  }
  template <typename T>
  const T* data() const {
    return reinterpret_cast<const T*>(bytes.data());
  }

  // One element, converted from or to the element type. Throws `shape_mismatch` for an index out of
  // bounds. Integers beyond 2^53 lose bits in `number`.
  int64_t integer(int64_t index) const;
  double number(int64_t index) const;
  void set(int64_t index, double number);

  std::vector<int64_t> integers() const;
  std::vector<double> numbers() const;

 private:
  void need(int64_t index) const;
};

using HostTensorPtr = std::shared_ptr<const HostTensor>;

HostTensorPtr vector_of(const std::vector<int64_t>& values);                // i64, one axis
HostTensorPtr scalar_of(ElementType type, double value, Shape shape = {});  // one element

// The float value of a half (f16) and of a bfloat16.
float from_half(uint16_t bits);
float from_brain_float(uint16_t bits);

}  // namespace dala::model
