// The element types of models. Each has a buffer type in which it is stored and an OpenCL C type in
// which it is computed:
//
//   f16, bf16          stored and computed as f32; only Cast rounds to them
//   i8, i16, u16       stored in 32 bits, computed in their own width, so that they wrap correctly
//   u64                stored as s64 with the same bits, computed as unsigned
//   bool               stored as u8, 0 or 1
#pragma once

#include <cstdint>
#include <string>

#include "runtime/memory/tensor_type.hpp"

namespace dala::model {

// The values are those of ONNX's TensorProto.DataType.
enum class ElementType : uint8_t {
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  string = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  bf16 = 16,
};

// Throws `invalid_model` for an unknown code, `unsupported_op` for a type that is not supported in
// tensors (strings, complex numbers, 8-bit floats, 4-bit numbers).
ElementType element_type(int64_t onnx_code);

using dala::to_string;                       // for shapes and buffer types
const char* to_string(ElementType type);     // "i8", "bool"
DType storage_of(ElementType type);          // the buffer type
ElementType computed_as(ElementType type);   // f32 for f16 and bf16, u8 for bool, else itself
const char* compute_name(ElementType type);  // the OpenCL C type of the computation
size_t file_bytes(ElementType type);         // the size of one element in a file

inline bool is_float(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f64 || type == ElementType::f16 ||
         type == ElementType::bf16;
}

}  // namespace dala::model
