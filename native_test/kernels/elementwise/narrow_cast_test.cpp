// Casts from and to 16-bit floats, over all bit patterns and around every representable number,
// against the tables of support/narrow_floats.hpp.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "support/engine_fixture.hpp"
#include "support/narrow_floats.hpp"

namespace dala::test {
namespace {

constexpr DType kNarrow[] = {DType::f16, DType::bf16};

std::vector<uint16_t> all_patterns() {
  std::vector<uint16_t> patterns(0x10000);
  for (size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<uint16_t>(i);
  return patterns;
}

BufferPtr narrow_buffer(DType dtype, const std::vector<uint16_t>& patterns) {
  std::vector<std::byte> bytes(2 * patterns.size());
  std::memcpy(bytes.data(), patterns.data(), bytes.size());
  return buffer_of_bytes({dtype, {static_cast<int64_t>(patterns.size())}}, std::move(bytes));
}

// Halfway between neighbours, and a little to both sides.
template <typename T>
std::vector<T> around_halves(DType dtype) {
  const std::vector<long double>& table = narrow_numbers(dtype);
  std::vector<T> numbers;
  for (size_t i = 0; i + 1 < table.size(); ++i) {
    const auto half = static_cast<T>((table[i] + table[i + 1]) / 2);
    for (T each : {half, std::nextafter(half, T{0}), std::nextafter(half, T{INFINITY})}) {
      numbers.insert(numbers.end(), {each, -each});
    }
  }
  const T infinity = std::numeric_limits<T>::infinity();
  numbers.insert(numbers.end(), {infinity, -infinity, std::numeric_limits<T>::max(),
                                 std::numeric_limits<T>::denorm_min(), T{0}, -T{0}});
  return numbers;
}

template <typename T>
std::vector<uint16_t> cast_to(DType dtype, const std::vector<T>& numbers) {
  const BufferPtr output = zeros(dtype, {static_cast<int64_t>(numbers.size())});
  run("cast", {buffer(numbers)}, output);
  return read<uint16_t>(output);
}

template <typename T>
int wrongly_rounded(DType dtype, const std::vector<T>& numbers) {
  const std::vector<uint16_t> got = cast_to(dtype, numbers);
  int wrong = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    wrong += got[i] == narrow_pattern(dtype, static_cast<long double>(numbers[i])) ? 0 : 1;
  }
  return wrong;
}

// Integers of all lengths, many of which are ties between two bf16, or next to one.
template <typename T>
std::vector<T> integers() {
  std::mt19937_64 random(5);
  std::vector<T> numbers{std::numeric_limits<T>::max(), std::numeric_limits<T>::min(), 0, 1};
  for (int i = 0; i < 20000; ++i) {
    const uint64_t bits = random() >> (random() % 64);
    const int length = std::numeric_limits<uint64_t>::digits - std::countl_zero(bits | 1);
    const uint64_t halfway = length > 9 ? (bits >> (length - 9) | 1) << (length - 9) : bits;
    for (uint64_t each : {bits, halfway, halfway + 1, halfway - 1, 0 - halfway}) {
      numbers.push_back(static_cast<T>(each));
    }
  }
  return numbers;
}

bool has_doubles() { return engine().runtime().device().info().fp64; }

}  // namespace

TEST_CASE("every pattern of 16 bits is widened to its number") {
  for (DType dtype : kNarrow) {
    const std::vector<uint16_t> patterns = all_patterns();
    const BufferPtr output = zeros(DType::f32, {0x10000});
    run("cast", {narrow_buffer(dtype, patterns)}, output);
    const std::vector<float> got = read<float>(output);
    int wrong = 0;
    for (size_t i = 0; i < patterns.size(); ++i) {
      const long double expected = narrow_value(dtype, patterns[i]);
      const bool same = std::isnan(expected)
                            ? std::isnan(got[i])
                            : got[i] == expected && std::signbit(got[i]) == std::signbit(expected);
      wrong += same ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("floats are rounded to 16 bits once, halves to even") {
  for (DType dtype : kNarrow) {
    CHECK(wrongly_rounded(dtype, around_halves<float>(dtype)) == 0);
    if (has_doubles()) CHECK(wrongly_rounded(dtype, around_halves<double>(dtype)) == 0);
  }
}

TEST_CASE("integers are rounded to 16 bits once") {
  for (DType dtype : kNarrow) {
    CHECK(wrongly_rounded(dtype, integers<int64_t>()) == 0);
    CHECK(wrongly_rounded(dtype, integers<uint64_t>()) == 0);
    CHECK(wrongly_rounded(dtype, integers<int32_t>()) == 0);
    CHECK(wrongly_rounded(dtype, integers<uint32_t>()) == 0);
    CHECK(wrongly_rounded(dtype, integers<int16_t>()) == 0);
    CHECK(wrongly_rounded(dtype, integers<uint8_t>()) == 0);
  }
}

TEST_CASE("NaN stays NaN in 16 bits") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (DType dtype : kNarrow) {
    for (uint16_t pattern : cast_to<float>(dtype, {nan, -nan})) {
      CHECK(std::isnan(narrow_value(dtype, pattern)));
    }
    // All bit patterns.
    const BufferPtr output = zeros(dtype, {0x10000});
    run("neg", {narrow_buffer(dtype, all_patterns())}, output);
    const std::vector<uint16_t> got = read<uint16_t>(output);
    int wrong = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      const long double expected = narrow_value(dtype, static_cast<uint16_t>(i));
      const bool same =
          std::isnan(expected) ? std::isnan(narrow_value(dtype, got[i])) : got[i] == (i ^ 0x8000);
      wrong += same ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

}  // namespace dala::test
