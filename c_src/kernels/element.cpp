#include "kernels/element.hpp"

#include <limits>

#include "runtime/memory/narrow_float.hpp"

namespace dala {
namespace {

// Calls the visitor with a value of the host's type for an integer element type.
template <typename Visitor>
auto with_integer(DType dtype, Visitor visitor) {
  switch (dtype) {
    case DType::s8:
      return visitor(int8_t{});
    case DType::s16:
      return visitor(int16_t{});
    case DType::s32:
      return visitor(int32_t{});
    case DType::u8:
      return visitor(uint8_t{});
    case DType::u16:
      return visitor(uint16_t{});
    case DType::u32:
      return visitor(uint32_t{});
    case DType::u64:
      return visitor(uint64_t{});
    default:
      return visitor(int64_t{});
  }
}

std::string widen(DType dtype) {
  if (dtype == DType::f16) return "float_of_f16(x)";
  if (dtype == DType::bf16) return "float_of_bf16(x)";
  return dtype == DType::c64 ? "((x).s0)" : "(x)";
}

std::string narrow(DType dtype) {
  if (dtype == DType::f16) return "f16_of_float(x)";
  if (dtype == DType::bf16) return "bf16_of_float(x)";
  return dtype == DType::c64 ? "((float2)((x), 0.0f))" : "(x)";
}

// Integers with more digits than a float are beyond the range of f16, but not of bf16.
std::string from_integer(DType dtype) {
  if (dtype == DType::bf16) return "bf16_of_float(sticky_float_of_long(x))";
  return "TO_STORED((T)(x))";
}

}  // namespace

DType computed_type(DType dtype) {
  return is_narrow_float(dtype) || dtype == DType::c64 ? DType::f32 : dtype;
}

Defines element_defines(DType dtype) {
  const DType computed = computed_type(dtype);
  const bool floats = is_float(computed);
  const size_t bytes = size_of(computed);
  return {{"T", cl_name(computed)},
          {"UT", floats ? cl_name(computed) : unsigned_name(bytes)},
          {"WT", floats ? cl_name(computed) : unsigned_name(bytes < 4 ? 4 : bytes)},
          {"T_FLOAT", floats ? "1" : "0"},
          {"T_SIGNED", is_signed(dtype) ? "1" : "0"},
          {"T_BITS", std::to_string(8 * bytes)},
          {"T_STORED", cl_name(dtype)},
          {"FROM_STORED(x)", widen(dtype)},
          {"TO_STORED(x)", narrow(dtype)},
          {"STORED_INTEGER(x)", from_integer(dtype)}};
}

DType carrier(DType dtype) {
  switch (size_of(dtype)) {
    case 1:
      return DType::u8;
    case 2:
      return DType::u16;
    case 4:
      return DType::u32;
    default:
      return DType::s64;
  }
}

Value element_value(DType dtype, double number) {
  switch (dtype) {
    case DType::f16:
      return value(f16_bits(number));
    case DType::bf16:
      return value(bf16_bits(number));
    case DType::f32:
      return value(static_cast<float>(number));
    case DType::f64:
      return value(number);
    case DType::c64:
      return value(std::array<float, 2>{static_cast<float>(number), 0});
    default:
      return with_integer(dtype,
                          [&](auto zero) { return value(static_cast<decltype(zero)>(number)); });
  }
}

Value element_value(DType dtype, int64_t integer) {
  if (is_narrow_float(dtype)) return element_value(dtype, sticky_double(integer));
  if (!is_integer(dtype)) return element_value(dtype, static_cast<double>(integer));
  return with_integer(dtype,
                      [&](auto zero) { return value(static_cast<decltype(zero)>(integer)); });
}

Value lowest_value(DType dtype) {
  if (!is_integer(dtype)) return element_value(dtype, -std::numeric_limits<double>::infinity());
  return with_integer(dtype,
                      [](auto zero) { return value(std::numeric_limits<decltype(zero)>::min()); });
}

Value highest_value(DType dtype) {
  if (!is_integer(dtype)) return element_value(dtype, std::numeric_limits<double>::infinity());
  return with_integer(dtype,
                      [](auto zero) { return value(std::numeric_limits<decltype(zero)>::max()); });
}

const char* unsigned_name(size_t bytes) {
  switch (bytes) {
    case 1:
      return "uchar";
    case 2:
      return "ushort";
    case 4:
      return "uint";
    default:
      return "ulong";
  }
}

const char* sum_type(DType dtype, bool fp64) {
  const DType computed = computed_type(dtype);
  if (computed == DType::f64 || (computed == DType::f32 && fp64)) return "double";
  if (computed == DType::f32) return "float";
  return is_signed(dtype) ? "long" : "ulong";
}

}  // namespace dala
