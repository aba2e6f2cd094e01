// A tensor whose values are known on the host: a weight, a constant, or what was computed from
// such. Its bytes are laid out as a buffer of the storage type would hold them.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "model/element_type.hpp"

namespace dala::model {

struct HostTensor {
  ElementType type = ElementType::f32;
  Shape shape;
  std::vector<std::byte> bytes;

  // Zeros. Throws `shape_mismatch` for shapes beyond any memory.
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

  // One element, whatever the type; `shape_mismatch` when there is none at that place. Integers
  // beyond 2^53 lose bits in `number`.
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

// Halves and brain floats as floats, and back with rounding to nearest even.
float from_half(uint16_t bits);
float from_brain_float(uint16_t bits);

}  // namespace dala::model
