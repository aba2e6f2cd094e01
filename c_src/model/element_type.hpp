// Element types of models. ONNX has more of them than buffers do, so each names the buffer type
// that holds its values and the OpenCL C type it is computed in:
//
//   f16, bf16          held and computed as f32; only Cast rounds to them
//   i8, i16, u16       held in 32 bits, computed in their own width, so they wrap as they should
//   u64                held in the bits of s64, computed as unsigned
//   bool               held as u8, 0 or 1
#pragma once

#include <cstdint>
#include <string>

#include "runtime/tensor_type.hpp"

namespace dala::model {

// The numbers are those of ONNX.
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

// Throws `invalid_model` for numbers that are no type, `unsupported` for types without tensors
// here (strings, complex numbers, 8 and 4 bit floats).
ElementType element_type(int64_t onnx_code);

using dala::to_string;                       // of shapes and buffer types
const char* to_string(ElementType type);     // "i8", "bool"
DType storage_of(ElementType type);          // what a buffer of it holds
ElementType computed_as(ElementType type);   // f32 for f16 and bf16, u8 for bool, else itself
const char* compute_name(ElementType type);  // the OpenCL C type it is computed in
size_t file_bytes(ElementType type);         // of one element in a file

inline bool is_float(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f64 || type == ElementType::f16 ||
         type == ElementType::bf16;
}

}  // namespace dala::model
