// 16-bit floats for references, computed differently than in the library: the value of a bit
// pattern by its digits, and the nearest pattern of a number by searching a table of all of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/memory/tensor_type.hpp"

namespace dala::test {

struct NarrowFormat {
  int exponent_bits = 0;
  int fraction_bits = 0;
};
inline NarrowFormat format_of(DType dtype) {
  return dtype == DType::f16 ? NarrowFormat{5, 10} : NarrowFormat{8, 7};
}

inline long double narrow_value(DType dtype, uint16_t pattern) {
  const NarrowFormat format = format_of(dtype);
  const int fraction = pattern & ((1 << format.fraction_bits) - 1);
  const int exponent = (pattern >> format.fraction_bits) & ((1 << format.exponent_bits) - 1);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  long double size = 0;
  if (exponent == (1 << format.exponent_bits) - 1) {
    size = fraction == 0 ? std::numeric_limits<long double>::infinity()
                         : std::numeric_limits<long double>::quiet_NaN();
  } else if (exponent == 0) {
    size = std::ldexp(static_cast<long double>(fraction), 1 - bias - format.fraction_bits);
  } else {
    size = std::ldexp(static_cast<long double>(fraction + (1 << format.fraction_bits)),
                      exponent - bias - format.fraction_bits);
  }
  return pattern >= 0x8000 ? -size : size;
}

// All numbers from 0 on, and the one that would follow the largest.
inline const std::vector<long double>& narrow_numbers(DType dtype) {
  static const auto table_of = [](DType each) {
    std::vector<long double> table;
    uint16_t pattern = 0;
    for (; std::isfinite(narrow_value(each, pattern)); ++pattern) {
      table.push_back(narrow_value(each, pattern));
    }
    table.push_back(2 * table.back() - table[table.size() - 2]);
    return table;
  };
  static const std::vector<long double> f16 = table_of(DType::f16);
  static const std::vector<long double> bf16 = table_of(DType::bf16);
  return dtype == DType::f16 ? f16 : bf16;
}

// The nearest pattern, ties to even; a NaN for NaN.
inline uint16_t narrow_pattern(DType dtype, long double number) {
  const std::vector<long double>& table = narrow_numbers(dtype);
  const auto infinity = static_cast<uint16_t>(table.size() - 1);
  const uint16_t sign = std::signbit(number) ? 0x8000 : 0;
  const long double size = std::fabs(number);
  if (std::isnan(number)) return static_cast<uint16_t>(infinity + 1);
  if (size >= table.back()) return sign | infinity;
  const auto above =
      static_cast<size_t>(std::upper_bound(table.begin(), table.end(), size) - table.begin());
  const size_t below = above - 1;
  const long double to_below = size - table[below];
  const long double to_above = table[above] - size;
  const bool up = to_above < to_below || (to_above == to_below && below % 2 == 1);
  return static_cast<uint16_t>(sign | (up ? above : below));
}

// The number rounded to the type.
inline long double rounded(DType dtype, long double number) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16:
      return narrow_value(dtype, narrow_pattern(dtype, number));
    case DType::f32:
      return static_cast<float>(number);
    default:
      return static_cast<double>(number);
  }
}

}  // namespace dala::test
