#include "runtime/memory/narrow_float.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace dala {
namespace {

constexpr uint32_t kSign = 0x80000000;
constexpr uint32_t kInfinity = 0x7f800000;

// The number as a float whose last bit is sticky (1 if any lower bits were lost), so that a second
// rounding gives the same result as rounding the number itself.
uint32_t sticky_float_bits(double number) {
  const auto nearest = static_cast<float>(number);
  auto bits = std::bit_cast<uint32_t>(nearest);
  const auto back = static_cast<double>(nearest);
  if (std::isnan(number) || back == number) return bits;
  if (std::abs(back) > std::abs(number)) --bits;
  return bits | 1;
}

}  // namespace

uint16_t bf16_bits(double number) {
  const uint32_t bits = sticky_float_bits(number);
  if ((bits & ~kSign) > kInfinity) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

uint16_t f16_bits(double number) {
  const uint32_t all = sticky_float_bits(number);
  const auto sign = static_cast<uint16_t>((all & kSign) >> 16);
  const uint32_t bits = all & ~kSign;
  if (bits > kInfinity) return sign | 0x7e00;
  if (bits >= 0x477ff000) return sign | 0x7c00;  // 65520, halfway between the largest f16 and 2^16
  if (bits >= 0x38800000) {                      // 2^-14, the smallest normal number
    const uint32_t rebased = bits - 0x38000000;
    return sign | static_cast<uint16_t>((rebased + 0xfff + ((rebased >> 13) & 1)) >> 13);
  }
  // Subnormal: multiples of 2^-24. At least 13 bits of the significand are rounded off.
  const uint32_t exponent = bits >> 23;
  if (exponent < 102) return sign;  // below half of 2^-24
  const uint32_t significand = (bits & 0x7fffff) | 0x800000;
  const uint32_t dropped = 126 - exponent;
  const uint32_t half = uint32_t{1} << (dropped - 1);
  const uint32_t odd = (significand >> dropped) & 1;
  return sign | static_cast<uint16_t>((significand + half - 1 + odd) >> dropped);
}

double bf16_number(uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
}

double f16_number(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  double size = 0;
  if (exponent == 31) {
    size = fraction == 0 ? std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  } else {
    size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -size : size;
}

double sticky_double(uint64_t integer) {
  if (integer < uint64_t{1} << 53) return static_cast<double>(integer);
  const uint64_t kept = (integer >> 11) | ((integer & 0x7ff) != 0 ? 1 : 0);
  return 2048.0 * static_cast<double>(kept);
}

double sticky_double(int64_t integer) {
  const auto bits = static_cast<uint64_t>(integer);
  return integer < 0 ? -sticky_double(0 - bits) : sticky_double(bits);
}

}  // namespace dala
