// Casts of f64 on devices without double precision, against the doubles of this machine.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "model/model.hpp"
#include "support/device_limits.hpp"
#include "support/engine_fixture.hpp"
#include "support/onnx_writer.hpp"

namespace dala::test {
namespace {

using uint = unsigned int;
using ulong = unsigned long;

uint as_uint(float x) { return std::bit_cast<uint>(x); }
float as_float(uint bits) { return std::bit_cast<float>(bits); }
int clz(uint x) { return std::countl_zero(x); }
int clz(ulong x) { return std::countl_zero(x); }

// NOLINTBEGIN
#include "kernels/model/double_bits.cl"
// NOLINTEND

using model::ElementType;
using model::Model;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Exponents around the limits of floats and integers, with sparse and dense mantissas, and random
// values.
std::vector<double> doubles() {
  std::vector<double> values{
      0.0,    -0.0,      0.315,      1e300,
      5e-324, kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()};
  std::mt19937_64 random(7);
  for (int exponent = -155; exponent <= 130; ++exponent) {
    for (double bits : {1.0, 1.5, 1.0 + 0x1p-24, 1.0 + 0x1p-23 + 0x1p-24, 2.0 - 0x1p-52}) {
      values.push_back(std::ldexp(bits, exponent));
      values.push_back(-std::ldexp(bits, exponent));
    }
  }
  for (int i = 0; i < 20000; ++i) values.push_back(std::bit_cast<double>(random()));
  for (int i = 0; i < 20000; ++i) {
    values.push_back(std::ldexp(static_cast<double>(static_cast<int64_t>(random())),
                                static_cast<int>(random() % 80) - 70));
  }
  return values;
}

std::vector<int64_t> integers() {
  std::vector<int64_t> values{0, 1, -1, INT64_MIN, INT64_MAX};
  std::mt19937_64 random(8);
  for (int i = 0; i < 20000; ++i) {
    values.push_back(static_cast<int64_t>(random()) >> (random() % 64));
  }
  return values;
}

// Truncates and saturates, like the casts of models.
template <typename T>
T saturated(double x) {
  if (std::isnan(x)) return 0;
  const long double wide = std::trunc(static_cast<long double>(x));
  if (wide <= static_cast<long double>(std::numeric_limits<T>::lowest())) {
    return std::numeric_limits<T>::lowest();
  }
  if (wide >= static_cast<long double>(std::numeric_limits<T>::max())) {
    return std::numeric_limits<T>::max();
  }
  return static_cast<T>(wide);
}

template <typename T>
bool same(const std::vector<T>& got, const std::vector<T>& expected) {
  if (got.size() != expected.size()) return false;
  for (size_t i = 0; i < got.size(); ++i) {
    const bool both_nan = got[i] != got[i] && expected[i] != expected[i];
    if (!both_nan && std::memcmp(&got[i], &expected[i], sizeof(T)) != 0) {
      MESSAGE("element ", i, ": ", got[i], " instead of ", expected[i]);
      return false;
    }
  }
  return true;
}

// A second engine whose device has no double precision.
class NoDoubles {
 public:
  NoDoubles() {
    engine();  // the engine of the other tests is created first, with the real capabilities
    DeviceLimits limits = limits_now();
    limits.fp64 = false;
    limits_ = std::make_unique<ImposedLimits>(limits);
    engine_ = std::make_unique<Engine>(with_environment(Config{}));
  }

  template <typename To, typename From>
  std::vector<To> cast(const std::vector<From>& values, ElementType from, ElementType to) {
    const auto count = static_cast<int64_t>(values.size());
    OnnxWriter writer;
    writer.input("x", {count}, from).output("y", {count}, to);
    writer.node("Cast", {"x"}, {"y"}, {attribute("to", static_cast<int64_t>(to))});
    const auto model = Model::load(*engine_, as_bytes(writer.str()), "");
    auto owner = std::make_shared<std::vector<From>>(values);
    const TensorType type = checked_type(dtype_of<From>(), {count});
    const BufferPtr x = engine_->runtime().from_host(type, owner->data(), owner);
    const auto outputs = model->predict_now({x});
    const std::vector<std::byte> bytes = engine_->runtime().read_now(outputs.front());
    std::vector<To> result(bytes.size() / sizeof(To));
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }

 private:
  std::unique_ptr<ImposedLimits> limits_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace

TEST_CASE("doubles become floats and integers by their bits") {
  for (double x : doubles()) {
    CAPTURE(x);
    const auto bits = std::bit_cast<ulong>(x);
    const float narrow = float_of_bits(bits);
    if (std::isnan(x)) {
      CHECK(std::isnan(narrow));
    } else {
      CHECK(as_uint(narrow) == as_uint(static_cast<float>(x)));
    }
    CHECK(bits_are_zero(bits) == (x == 0.0));
    CHECK(integer_of_bits(bits, 0x80, 0x7f) == saturated<int8_t>(x));
    CHECK(integer_of_bits(bits, 1UL << 63, ~0UL >> 1) == saturated<int64_t>(x));
    CHECK(static_cast<uint64_t>(integer_of_bits(bits, 0, ~0UL)) == saturated<uint64_t>(x));
  }
}

TEST_CASE("floats and integers become doubles by their bits") {
  std::mt19937 random(9);
  for (int i = 0; i < 100000; ++i) {
    const float x = as_float(static_cast<uint>(random()));
    CAPTURE(x);
    const auto wide = std::bit_cast<double>(bits_of_float(x));
    if (std::isnan(x)) {
      CHECK(std::isnan(wide));
    } else {
      CHECK(std::bit_cast<ulong>(wide) == std::bit_cast<ulong>(static_cast<double>(x)));
    }
  }
  for (int64_t n : integers()) {
    CAPTURE(n);
    const auto size = static_cast<ulong>(n);
    CHECK(std::bit_cast<double>(bits_of_integer(n < 0 ? 0 - size : size, n < 0)) ==
          static_cast<double>(n));
    CHECK(std::bit_cast<double>(bits_of_integer(size, false)) == static_cast<double>(size));
  }
}

TEST_CASE("models cast f64 on a device without double precision") {
  NoDoubles device;
  const std::vector<double> x = doubles();
  const auto each = [&x](auto function) {
    std::vector<decltype(function(0.0))> results;
    for (double value : x) results.push_back(function(value));
    return results;
  };
  CHECK(same(device.cast<float>(x, ElementType::f64, ElementType::f32),
             each([](double v) { return static_cast<float>(v); })));
  CHECK(
      same(device.cast<int32_t>(x, ElementType::f64, ElementType::i32), each(saturated<int32_t>)));
  CHECK(
      same(device.cast<int64_t>(x, ElementType::f64, ElementType::i64), each(saturated<int64_t>)));
  CHECK(same(device.cast<uint8_t>(x, ElementType::f64, ElementType::boolean),
             each([](double v) { return static_cast<uint8_t>(v != 0.0); })));

  std::vector<double> widened;
  const std::vector<float> narrow = each([](double v) { return static_cast<float>(v); });
  for (float value : narrow) widened.push_back(value);
  CHECK(same(device.cast<double>(narrow, ElementType::f32, ElementType::f64), widened));
  std::vector<double> converted;
  for (int64_t n : integers()) converted.push_back(static_cast<double>(n));
  CHECK(same(device.cast<double>(integers(), ElementType::i64, ElementType::f64), converted));
}

}  // namespace dala::test
