// 16-bit floats on the host, over all bit patterns and around every representable number, against
// the tables of support/narrow_floats.hpp.
#include "runtime/memory/narrow_float.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "support/narrow_floats.hpp"

namespace dala::test {
namespace {

uint16_t bits_of(DType dtype, double number) {
  return dtype == DType::f16 ? f16_bits(number) : bf16_bits(number);
}
double number_of(DType dtype, uint16_t bits) {
  return dtype == DType::f16 ? f16_number(bits) : bf16_number(bits);
}

// The number of values that are not rounded as in the tables.
int wrong(DType dtype, const std::vector<double>& numbers) {
  int count = 0;
  for (double number : numbers) {
    for (double each : {number, -number}) {
      count += bits_of(dtype, each) == narrow_pattern(dtype, each) ? 0 : 1;
    }
  }
  return count;
}

}  // namespace

TEST_CASE("every pattern of 16 bits means its number, and the number its pattern") {
  for (DType dtype : {DType::f16, DType::bf16}) {
    int different = 0;
    for (int n = 0; n < 0x10000; ++n) {
      const auto pattern = static_cast<uint16_t>(n);
      const long double expected = narrow_value(dtype, pattern);
      const double got = number_of(dtype, pattern);
      const bool same = std::isnan(expected)
                            ? std::isnan(got) && std::isnan(number_of(dtype, bits_of(dtype, got)))
                            : got == expected && bits_of(dtype, got) == pattern;
      different += same ? 0 : 1;
    }
    CHECK(different == 0);
  }
}

TEST_CASE("numbers between two patterns go to the nearest, halves to the even one") {
  for (DType dtype : {DType::f16, DType::bf16}) {
    const std::vector<long double>& table = narrow_numbers(dtype);
    std::vector<double> numbers;
    for (size_t i = 0; i + 1 < table.size(); ++i) {
      const auto half = static_cast<double>((table[i] + table[i + 1]) / 2);
      numbers.insert(numbers.end(), {half, std::nextafter(half, 0.0), std::nextafter(half, 1e300)});
    }
    CHECK(wrong(dtype, numbers) == 0);
  }
}

TEST_CASE("numbers of all sizes") {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> digits(1, 2);
  std::vector<double> numbers{0, 1e300, 1e-300, 5e-324, INFINITY};
  for (int i = 0; i < 20000; ++i) {
    numbers.push_back(std::ldexp(digits(random), static_cast<int>(random() % 300) - 160));
  }
  CHECK(wrong(DType::f16, numbers) == 0);
  CHECK(wrong(DType::bf16, numbers) == 0);
}

TEST_CASE("an integer is rounded once") {
  // Slightly above the midpoint of 2^62 and the next bf16.
  const int64_t above = (int64_t{1} << 62) + (int64_t{1} << 54) + 1;
  CHECK(bf16_bits(sticky_double(above)) == narrow_pattern(DType::bf16, above));
  CHECK(bf16_bits(sticky_double(-above)) == narrow_pattern(DType::bf16, -above));
  CHECK(bf16_bits(sticky_double(above - 1)) == narrow_pattern(DType::bf16, above - 1));
  CHECK(sticky_double(int64_t{-7}) == -7);
  CHECK(bf16_bits(sticky_double(~uint64_t{0})) == narrow_pattern(DType::bf16, ~uint64_t{0}));
}

}  // namespace dala::test
