#include "runtime/memory/tensor_type.hpp"

#include <iterator>

#include "runtime/error.hpp"

namespace dala {

size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::u8:
    case DType::s8:
      return 1;
    case DType::f16:
    case DType::bf16:
    case DType::s16:
    case DType::u16:
      return 2;
    case DType::f32:
    case DType::s32:
    case DType::u32:
      return 4;
    case DType::f64:
    case DType::s64:
    case DType::u64:
    case DType::c64:
      return 8;
  }
  return 0;
}

bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || is_narrow_float(dtype);
}

bool is_narrow_float(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

bool is_integer(DType dtype) { return !is_float(dtype) && dtype != DType::c64; }

bool is_signed(DType dtype) {
  switch (dtype) {
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      return false;
    default:
      return true;
  }
}

const char* to_string(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::s32:
      return "s32";
    case DType::s64:
      return "s64";
    case DType::u32:
      return "u32";
    case DType::u8:
      return "u8";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::s8:
      return "s8";
    case DType::s16:
      return "s16";
    case DType::u16:
      return "u16";
    case DType::u64:
      return "u64";
    case DType::c64:
      return "c64";
  }
  return "";
}

const char* cl_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    case DType::s32:
      return "int";
    case DType::s64:
      return "long";
    case DType::u32:
      return "uint";
    case DType::u8:
      return "uchar";
    case DType::s8:
      return "char";
    case DType::s16:
      return "short";
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      return "ushort";
    case DType::u64:
      return "ulong";
    case DType::c64:
      return "float2";
  }
  return "";
}

std::string dtype_names() {
  std::string names;
  for (DType dtype : kAllDTypes) {
    const bool last = dtype == *(std::end(kAllDTypes) - 1);
    names += text(names.empty() ? ":" : last ? " and :" : ", :", to_string(dtype));
  }
  return names;
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (DType dtype : kAllDTypes) {
    if (name == to_string(dtype)) return dtype;
  }
  return std::nullopt;
}

std::string to_string(const Shape& shape) {
  std::string result = "{";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) result += ", ";
    result += std::to_string(shape[i]);
  }
  return result + "}";
}

int64_t TensorType::count() const {
  int64_t product = 1;
  for (int64_t dimension : shape) product *= dimension;
  return product;
}

std::string to_string(const TensorType& type) {
  return text(to_string(type.dtype), " ", to_string(type.shape));
}

TensorType checked_type(DType dtype, Shape shape) {
  // Zero dimensions are left out of the product: {2^62, 0} has no elements, but 2^62 rows would
  // still overflow index arithmetic.
  constexpr int64_t kMaxBytes = int64_t{1} << 62;
  if (shape.size() > kMostDimensions) {
    throw Error(Reason::shape_mismatch,
                text("a shape has at most ", kMostDimensions, " dimensions, got ", shape.size()));
  }
  int64_t bytes = static_cast<int64_t>(size_of(dtype));
  for (int64_t dimension : shape) {
    if (dimension < 0) {
      throw Error(Reason::shape_mismatch,
                  text("a shape has dimensions of 0 or more, got ", to_string(shape)));
    }
    if (dimension == 0) continue;
    if (bytes > kMaxBytes / dimension) {
      throw Error(Reason::shape_mismatch,
                  text("a shape of ", to_string(shape), " exceeds 2^62 bytes"));
    }
    bytes *= dimension;
  }
  return TensorType{dtype, std::move(shape)};
}

}  // namespace dala
