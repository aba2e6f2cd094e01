// Tensors on the host, for references: every float as a long double, every integer as an int64, so
// that expected results are computed in higher precision than the device's. An int64 holds the bits
// of a u64, or of a complex number, which only the kernels of complex numbers interpret; see
// `number_of` and `complex_bits`.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/error.hpp"
#include "runtime/memory/tensor_type.hpp"
#include "support/narrow_floats.hpp"

namespace dala::test {

struct Tensor {
  TensorType type;
  std::vector<long double> reals = {};   // of float types
  std::vector<int64_t> integers = {};    // of integer types
  std::vector<long double> scales = {};  // to which errors are relative; empty: the values

  explicit Tensor(TensorType tensor_type) : type(std::move(tensor_type)) {
    const auto count = static_cast<size_t>(type.count());
    if (is_float(type.dtype)) {
      reals.resize(count);
    } else {
      integers.resize(count);
    }
  }

  bool is_real() const { return is_float(type.dtype); }
  size_t size() const { return is_real() ? reals.size() : integers.size(); }
};

// An integer wrapped to the type.
inline int64_t wrap(DType dtype, __int128 value) {
  switch (dtype) {
    case DType::s32:
      return static_cast<int32_t>(value);
    case DType::u32:
      return static_cast<uint32_t>(value);
    case DType::u8:
      return static_cast<uint8_t>(value);
    case DType::s8:
      return static_cast<int8_t>(value);
    case DType::s16:
      return static_cast<int16_t>(value);
    case DType::u16:
      return static_cast<uint16_t>(value);
    default:
      return static_cast<int64_t>(value);
  }
}

inline int64_t complex_bits(std::complex<float> number) {
  int64_t bits = 0;
  std::memcpy(&bits, &number, sizeof(bits));
  return bits;
}
inline std::complex<float> complex_of(int64_t bits) {
  const auto [real, imaginary] = std::bit_cast<std::array<float, 2>>(bits);
  return {real, imaginary};
}
// An integer as an element of a tensor that is not of floats.
inline int64_t element_of(DType dtype, int64_t integer) {
  return dtype == DType::c64 ? complex_bits(static_cast<float>(integer)) : wrap(dtype, integer);
}

// The number that an element of a tensor of integers represents.
inline __int128 number_of(DType dtype, int64_t integer) {
  return dtype == DType::u64 ? static_cast<__int128>(static_cast<uint64_t>(integer)) : integer;
}

// Conversions between the elements of a tensor of integers and numbers.
inline std::vector<__int128> numbers_of(const Tensor& tensor) {
  std::vector<__int128> numbers;
  for (int64_t integer : tensor.integers) numbers.push_back(number_of(tensor.type.dtype, integer));
  return numbers;
}
inline void set_numbers(Tensor& tensor, const std::vector<__int128>& numbers) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    tensor.integers[i] = wrap(tensor.type.dtype, numbers[i]);
  }
}

template <typename T, typename From>
void append_as(std::vector<std::byte>& bytes, From value) {
  const T element = static_cast<T>(value);
  const auto* first = reinterpret_cast<const std::byte*>(&element);
  bytes.insert(bytes.end(), first, first + sizeof(T));
}

inline std::vector<std::byte> to_bytes(const Tensor& tensor) {
  std::vector<std::byte> bytes;
  bytes.reserve(tensor.type.bytes());
  for (size_t i = 0; i < tensor.size(); ++i) {
    switch (tensor.type.dtype) {
      case DType::f32:
        append_as<float>(bytes, tensor.reals[i]);
        break;
      case DType::f64:
        append_as<double>(bytes, tensor.reals[i]);
        break;
      case DType::s32:
        append_as<int32_t>(bytes, tensor.integers[i]);
        break;
      case DType::s64:
        append_as<int64_t>(bytes, tensor.integers[i]);
        break;
      case DType::u32:
        append_as<uint32_t>(bytes, tensor.integers[i]);
        break;
      case DType::u8:
        append_as<uint8_t>(bytes, tensor.integers[i]);
        break;
      case DType::f16:
      case DType::bf16:
        append_as<uint16_t>(bytes, narrow_pattern(tensor.type.dtype, tensor.reals[i]));
        break;
      case DType::s8:
        append_as<int8_t>(bytes, tensor.integers[i]);
        break;
      case DType::s16:
        append_as<int16_t>(bytes, tensor.integers[i]);
        break;
      case DType::u16:
        append_as<uint16_t>(bytes, tensor.integers[i]);
        break;
      case DType::u64:
        append_as<uint64_t>(bytes, tensor.integers[i]);
        break;
      case DType::c64:
        append_as<int64_t>(bytes, tensor.integers[i]);
        break;
    }
  }
  return bytes;
}

template <typename T>
T element_at(const std::vector<std::byte>& bytes, size_t index) {
  T element;
  std::memcpy(&element, bytes.data() + index * sizeof(T), sizeof(T));
  return element;
}

inline Tensor from_bytes(const TensorType& type, const std::vector<std::byte>& bytes) {
  Tensor tensor(type);
  for (size_t i = 0; i < tensor.size(); ++i) {
    switch (type.dtype) {
      case DType::f32:
        tensor.reals[i] = element_at<float>(bytes, i);
        break;
      case DType::f64:
        tensor.reals[i] = element_at<double>(bytes, i);
        break;
      case DType::s32:
        tensor.integers[i] = element_at<int32_t>(bytes, i);
        break;
      case DType::s64:
        tensor.integers[i] = element_at<int64_t>(bytes, i);
        break;
      case DType::u32:
        tensor.integers[i] = element_at<uint32_t>(bytes, i);
        break;
      case DType::u8:
        tensor.integers[i] = element_at<uint8_t>(bytes, i);
        break;
      case DType::f16:
      case DType::bf16:
        tensor.reals[i] = narrow_value(type.dtype, element_at<uint16_t>(bytes, i));
        break;
      case DType::s8:
        tensor.integers[i] = element_at<int8_t>(bytes, i);
        break;
      case DType::s16:
        tensor.integers[i] = element_at<int16_t>(bytes, i);
        break;
      case DType::u16:
        tensor.integers[i] = element_at<uint16_t>(bytes, i);
        break;
      case DType::u64:
        tensor.integers[i] = static_cast<int64_t>(element_at<uint64_t>(bytes, i));
        break;
      case DType::c64:
        tensor.integers[i] = element_at<int64_t>(bytes, i);
        break;
    }
  }
  return tensor;
}

// Floats of about -4..4; integers of all magnitudes, including 0, 1, -1 and the bounds of the type,
// which are the edge cases of wrapping and division.
inline Tensor random_tensor(const TensorType& type, std::mt19937_64& random) {
  Tensor tensor(type);
  std::uniform_real_distribution<float> reals(-4.0F, 4.0F);
  for (long double& real : tensor.reals) real = rounded(type.dtype, reals(random));
  for (int64_t& integer : tensor.integers) {
    if (type.dtype == DType::c64) {
      const float real = reals(random);
      integer = complex_bits({real, reals(random)});
      continue;
    }
    const uint64_t bits = random();
    const uint64_t kind = bits % 8;
    const auto small = static_cast<int64_t>(bits >> 32) % 7 - 3;
    const int64_t end = (bits >> 32) % 2 == 0 ? int64_t{1} << (8 * size_of(type.dtype) - 1)
                                              : (int64_t{1} << 31) - 1;
    integer = wrap(type.dtype, kind < 3 ? small : kind < 4 ? end : static_cast<int64_t>(random()));
  }
  return tensor;
}

inline std::string number_text(long double number) {
  char digits[64];
  std::snprintf(digits, sizeof(digits), "%.20Lg", number);
  return digits;
}

inline std::string shown(std::complex<float> number) {
  return text("{", number_text(number.real()), ", ", number_text(number.imag()), "}");
}

// Within a few rounding errors, relative to the magnitude.
inline bool are_close(std::complex<float> a, std::complex<float> b) {
  return std::abs(a - b) <= 1e-6F * std::abs(b);
}

// Describes the first element that differs. `tolerance` is relative to the scales; NaN equals NaN,
// and results that round to infinity may be on either side of it. Integers may differ by `levels`.
inline std::optional<std::string> difference(const Tensor& got, const Tensor& expected,
                                             long double tolerance, int64_t levels = 0) {
  if (got.type != expected.type || got.size() != expected.size()) return "another type";
  for (size_t i = 0; i < got.size(); ++i) {
    if (!got.is_real()) {
      if (got.integers[i] == expected.integers[i]) continue;
      if (got.type.dtype == DType::c64) {
        if (are_close(complex_of(got.integers[i]), complex_of(expected.integers[i]))) continue;
        return text("element ", i, " is ", shown(complex_of(got.integers[i])), ", expected ",
                    shown(complex_of(expected.integers[i])));
      }
      if (std::abs(got.integers[i] - expected.integers[i]) <= levels) continue;
      return text("element ", i, " is ", got.integers[i], ", expected ", expected.integers[i]);
    }
    const long double a = got.reals[i];
    long double b = expected.reals[i];
    const DType dtype = expected.type.dtype;
    if (std::isfinite(b) && tolerance == 0) b = rounded(dtype, b);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const long double scale = expected.scales.empty() ? std::fabs(b) : expected.scales[i];
    const long double off = tolerance * scale;
    // A float within the tolerance is then rounded to 16 bits.
    if (is_narrow_float(dtype) && tolerance != 0) {
      if (a >= rounded(dtype, b - off) && a <= rounded(dtype, b + off)) continue;
    }
    if (std::isfinite(a) && std::isfinite(b) && std::fabs(a - b) <= off) continue;
    return text("element ", i, " is ", number_text(a), ", expected ", number_text(b), " within ",
                number_text(off));
  }
  return std::nullopt;
}

// The index in an input that broadcasts to index `index` of a shape, both in row-major order.
inline size_t broadcast_index(const Shape& input, const Shape& output, size_t index) {
  size_t result = 0;
  size_t stride = 1;
  auto rest = static_cast<int64_t>(index);
  for (size_t d = 0; d < output.size(); ++d) {
    const int64_t extent = output[output.size() - 1 - d];
    const int64_t position = rest % extent;
    rest /= extent;
    if (d >= input.size()) continue;
    const int64_t own = input[input.size() - 1 - d];
    if (own != 1) result += static_cast<size_t>(position) * stride;
    stride *= static_cast<size_t>(own);
  }
  return result;
}

}  // namespace dala::test
