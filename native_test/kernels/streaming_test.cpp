// Outputs larger than the caches, which CPU kernels write with non-temporal stores, at odd sizes
// and offsets.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "support/engine_fixture.hpp"

namespace dala::test {
namespace {

constexpr int64_t kRows = 3;
constexpr int64_t kColumns = 700'001;  // 8 MiB of floats in three rows
constexpr int64_t kCount = kRows * kColumns;

float pattern(int64_t i) { return static_cast<float>(i % 1013) / 64 - 7; }

// A borrowed buffer whose memory is only aligned for its elements.
template <typename T>
BufferPtr unaligned_buffer(Shape shape, const std::function<T(int64_t)>& element) {
  const TensorType type = checked_type(dtype_of<T>(), std::move(shape));
  auto owner = std::make_shared<std::vector<T>>(static_cast<size_t>(type.count()) + 1);
  for (int64_t i = 0; i < type.count(); ++i) {
    (*owner)[static_cast<size_t>(i) + 1] = element(i);
  }
  return engine().runtime().from_host(type, owner->data() + 1, owner);
}

// The index of the first wrong element, or -1.
template <typename T>
int64_t first_wrong(const BufferPtr& output, const std::function<bool(int64_t, T)>& right) {
  const std::vector<T> elements = read<T>(output);
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!right(static_cast<int64_t>(i), elements[i])) return static_cast<int64_t>(i);
  }
  return -1;
}

}  // namespace

TEST_CASE("large elementwise results are right from the first element to the last") {
  if (quick()) return;
  const BufferPtr a = unaligned_buffer<float>({kRows, kColumns}, pattern);
  const BufferPtr row =
      unaligned_buffer<float>({kColumns}, [](int64_t i) { return pattern(3 * i); });
  const BufferPtr sum = zeros(DType::f32, {kRows, kColumns});
  run("elementwise_add", {a, row}, sum);
  CHECK(first_wrong<float>(sum, [](int64_t i, float x) {
          return x == pattern(i) + pattern(3 * (i % kColumns));
        }) == -1);

  run("relu", {sum}, sum);  // in place
  CHECK(first_wrong<float>(sum, [](int64_t i, float x) {
          return x == std::max(0.0F, pattern(i) + pattern(3 * (i % kColumns)));
        }) == -1);

  const int64_t many = 4 * kCount + 1;
  const BufferPtr bytes =
      unaligned_buffer<uint8_t>({many}, [](int64_t i) { return uint8_t(i % 251); });
  const BufferPtr scaled = zeros(DType::u8, {many});
  run("scalar_mul", {bytes}, scaled, {{"scalar", int64_t{3}}});
  CHECK(first_wrong<uint8_t>(
            scaled, [](int64_t i, uint8_t x) { return x == uint8_t(3 * (i % 251)); }) == -1);

  const BufferPtr rounded = zeros(DType::u8, {many});
  const BufferPtr reals =
      unaligned_buffer<float>({many}, [](int64_t i) { return 20 * pattern(i); });
  run("cast", {reals}, rounded);
  CHECK(first_wrong<uint8_t>(rounded, [](int64_t i, uint8_t x) {
          return x == uint8_t(std::clamp(20 * pattern(i), 0.0F, 255.0F));
        }) == -1);
}

TEST_CASE("large rows of softmax and layer_norm are right") {
  if (quick()) return;
  constexpr int64_t kLength = 1001;
  constexpr int64_t kMany = kCount / kLength + 1;
  const BufferPtr x = unaligned_buffer<float>({kMany, kLength}, pattern);
  const BufferPtr soft = zeros(DType::f32, {kMany, kLength});
  const BufferPtr normal = zeros(DType::f32, {kMany, kLength});
  run("softmax", {x}, soft);
  run("layer_norm", {x}, normal);

  std::vector<double> sums(kMany);
  std::vector<double> means(kMany);
  std::vector<double> factors(kMany);
  for (int64_t r = 0; r < kMany; ++r) {
    const auto row = static_cast<size_t>(r);
    double squares = 0;
    for (int64_t i = r * kLength; i < (r + 1) * kLength; ++i) {
      sums[row] += std::exp(double{pattern(i)});
      means[row] += double{pattern(i)} / kLength;
    }
    for (int64_t i = r * kLength; i < (r + 1) * kLength; ++i) {
      squares += (pattern(i) - means[row]) * (pattern(i) - means[row]);
    }
    factors[row] = 1 / std::sqrt(squares / kLength + 1e-5);
  }
  CHECK(first_wrong<float>(soft, [&](int64_t i, float each) {
          const double expected = std::exp(double{pattern(i)}) / sums[size_t(i / kLength)];
          return std::abs(each - expected) <= 2e-6 * expected;
        }) == -1);
  CHECK(first_wrong<float>(normal, [&](int64_t i, float each) {
          const auto row = static_cast<size_t>(i / kLength);
          return std::abs(each - (pattern(i) - means[row]) * factors[row]) <= 2e-6;
        }) == -1);
}

}  // namespace dala::test
