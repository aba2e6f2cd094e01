// Element types and shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dala {

// f16 is IEEE 754 binary16, bf16 the upper half of an f32, c64 a pair of f32: real, imaginary.
enum class DType : uint8_t { f32, f64, s32, s64, u32, u8, f16, bf16, s8, s16, u16, u64, c64 };

inline constexpr DType kAllDTypes[] = {DType::f32, DType::f64, DType::s32,  DType::s64, DType::u32,
                                       DType::u8,  DType::f16, DType::bf16, DType::s8,  DType::s16,
                                       DType::u16, DType::u64, DType::c64};

size_t size_of(DType dtype);
bool is_float(DType dtype);         // includes f16 and bf16, but not c64
bool is_narrow_float(DType dtype);  // f16 and bf16, which are computed in f32
bool is_integer(DType dtype);
bool is_signed(DType dtype);
const char* to_string(DType dtype);  // "f32", as in Elixir
// The type of memory in OpenCL C, such as "float". f16 and bf16 are ushort, since variables of type
// half need an extension.
const char* cl_name(DType dtype);
std::string dtype_names();  // ":f32, :f64, ... and :c64"
std::optional<DType> parse_dtype(std::string_view name);

using Shape = std::vector<int64_t>;

inline constexpr size_t kMostDimensions = 32;

std::string to_string(const Shape& shape);  // "{2, 3}", as in Elixir

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;

  int64_t count() const;  // elements; 1 for a scalar, 0 when any dimension is 0
  size_t bytes() const { return static_cast<size_t>(count()) * size_of(dtype); }
  bool operator==(const TensorType&) const = default;
};

std::string to_string(const TensorType& type);  // "f32 {2, 3}"

// A type with untrusted dimensions. Throws `shape_mismatch` for negative dimensions, too many of
// them, and sizes above 2^62 bytes, so that later products cannot overflow.
TensorType checked_type(DType dtype, Shape shape);

}  // namespace dala
