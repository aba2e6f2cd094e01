// Floats of 16 bits on the host: f16 is IEEE 754 binary16, bf16 the upper half of an f32. Numbers
// are rounded to the nearest one, to the even one of two; NaN stays NaN.
#pragma once

#include <cstdint>

namespace dala {

uint16_t f16_bits(double number);
uint16_t bf16_bits(double number);
double f16_number(uint16_t bits);
double bf16_number(uint16_t bits);

// An integer as a double of at least 42 digits, of which the last is 1 where digits are lost:
// rounding it to a few digits gives what rounding the integer would.
double sticky_double(int64_t integer);
double sticky_double(uint64_t integer);

}  // namespace dala
