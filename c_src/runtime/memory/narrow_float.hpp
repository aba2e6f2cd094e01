// 16-bit floats on the host: f16 is IEEE 754 binary16, bf16 the upper half of an f32. Conversion
// rounds to nearest, ties to even; NaN stays NaN.
#pragma once

#include <cstdint>

namespace dala {

uint16_t f16_bits(double number);
uint16_t bf16_bits(double number);
double f16_number(uint16_t bits);
double bf16_number(uint16_t bits);

// An integer as a double with at least 42 significant bits, the last of which is sticky: rounding
// it to a shorter type gives the same result as rounding the integer.
double sticky_double(int64_t integer);
double sticky_double(uint64_t integer);

}  // namespace dala
