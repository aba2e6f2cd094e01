#include "kernels/element.hpp"

namespace dala {

Defines element_defines(DType dtype) {
  const bool floats = is_float(dtype);
  const bool negatives = dtype != DType::u32 && dtype != DType::u8;
  return {{"T", cl_name(dtype)},
          {"UT", floats ? cl_name(dtype) : unsigned_name(size_of(dtype))},
          {"T_FLOAT", floats ? "1" : "0"},
          {"T_SIGNED", negatives ? "1" : "0"},
          {"T_BITS", std::to_string(8 * size_of(dtype))}};
}

const char* unsigned_name(size_t bytes) {
  return bytes == 1 ? "uchar" : bytes == 4 ? "uint" : "ulong";
}

const char* sum_type(DType dtype, bool fp64) {
  switch (dtype) {
    case DType::f32:
      return fp64 ? "double" : "float";
    case DType::f64:
      return "double";
    case DType::s32:
    case DType::s64:
      return "long";
    case DType::u32:
    case DType::u8:
      return "ulong";
  }
  return "";
}

}  // namespace dala
