#include "nif/codec/list_codec.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "runtime/memory/narrow_float.hpp"

namespace dala::nif {
namespace {

[[noreturn]] void refuse(Reason reason, size_t index, DType dtype, ErlNifEnv* env,
                         ERL_NIF_TERM element, const char* why) {
  throw Error(
      reason,
      text("element ", index, " (", shown(env, element), ") ", why,
           dtype == DType::bf16 || dtype == DType::c64 || !is_signed(dtype) ? " a " : " an ",
           to_string(dtype), " buffer"),
      {{"index", static_cast<int64_t>(index)}});
}

// Atoms are the same for as long as the VM lives, and looking one up takes longer than a number.
struct NotFinite {
  ERL_NIF_TERM nan;
  ERL_NIF_TERM infinity;
  ERL_NIF_TERM neg_infinity;
};
const NotFinite& not_finite(ErlNifEnv* env) {
  static const NotFinite atoms{atom(env, "nan"), atom(env, "infinity"), atom(env, "neg_infinity")};
  return atoms;
}

// A number as `from` makes it of a double or an integer.
template <typename From>
auto to_float(ErlNifEnv* env, ERL_NIF_TERM element, size_t index, DType dtype, From from) {
  double real = 0;
  if (enif_get_double(env, element, &real) != 0) return from(real);
  ErlNifSInt64 integer = 0;
  if (enif_get_int64(env, element, &integer) != 0) return from(int64_t{integer});
  ErlNifUInt64 large = 0;
  if (enif_get_uint64(env, element, &large) != 0) return from(uint64_t{large});
  const NotFinite& atoms = not_finite(env);
  if (element == atoms.nan) return from(std::numeric_limits<double>::quiet_NaN());
  if (element == atoms.infinity) return from(std::numeric_limits<double>::infinity());
  if (element == atoms.neg_infinity) return from(-std::numeric_limits<double>::infinity());
  const bool is_integer = enif_term_type(env, element) == ERL_NIF_TERM_TYPE_INTEGER;
  refuse(Reason::invalid_param, index, dtype, env, element,
         is_integer ? "is out of range for" : "is not a number for");
}

template <typename T>
bool fits(int64_t integer) {
  if constexpr (std::is_unsigned_v<T>) {
    return integer >= 0 && static_cast<uint64_t>(integer) <= std::numeric_limits<T>::max();
  } else {
    return integer >= std::numeric_limits<T>::min() && integer <= std::numeric_limits<T>::max();
  }
}

template <typename T>
T to_integer(ErlNifEnv* env, ERL_NIF_TERM element, size_t index, DType dtype) {
  ErlNifSInt64 integer = 0;
  if (enif_get_int64(env, element, &integer) != 0) {
    if (fits<T>(integer)) return static_cast<T>(integer);
    refuse(Reason::invalid_param, index, dtype, env, element, "is out of range for");
  }
  if constexpr (std::is_same_v<T, uint64_t>) {
    ErlNifUInt64 large = 0;
    if (enif_get_uint64(env, element, &large) != 0) return large;
  }
  if (enif_term_type(env, element) == ERL_NIF_TERM_TYPE_INTEGER) {
    refuse(Reason::invalid_param, index, dtype, env, element, "is out of range for");
  }
  const bool is_float = enif_term_type(env, element) == ERL_NIF_TERM_TYPE_FLOAT;
  refuse(is_float ? Reason::dtype_mismatch : Reason::invalid_param, index, dtype, env, element,
         "is not an integer, as needed for");
}

// Elements that the host has no arithmetic for.
struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};
struct C64 {
  float real;
  float imaginary;
};

double as_double(double number) { return number; }
double as_double(int64_t integer) { return sticky_double(integer); }
double as_double(uint64_t integer) { return sticky_double(integer); }

// A pair {real, imaginary}, or the real part alone.
C64 to_complex(ErlNifEnv* env, ERL_NIF_TERM element, size_t index) {
  const auto part = [&](ERL_NIF_TERM term) {
    return to_float(env, term, index, DType::c64,
                    [](auto number) { return static_cast<float>(number); });
  };
  const ERL_NIF_TERM* parts = nullptr;
  int count = 0;
  if (enif_get_tuple(env, element, &count, &parts) == 0) return {part(element), 0};
  if (count == 2) return {part(parts[0]), part(parts[1])};
  refuse(Reason::invalid_param, index, DType::c64, env, element, "is not a pair of numbers for");
}

template <typename T>
T to_element(ErlNifEnv* env, ERL_NIF_TERM element, size_t index, DType dtype) {
  if constexpr (std::is_same_v<T, F16>) {
    return to_float(env, element, index, dtype,
                    [](auto number) { return F16{f16_bits(as_double(number))}; });
  } else if constexpr (std::is_same_v<T, BF16>) {
    return to_float(env, element, index, dtype,
                    [](auto number) { return BF16{bf16_bits(as_double(number))}; });
  } else if constexpr (std::is_same_v<T, C64>) {
    return to_complex(env, element, index);
  } else if constexpr (std::is_floating_point_v<T>) {
    return to_float(env, element, index, dtype, [](auto number) { return static_cast<T>(number); });
  } else {
    return to_integer<T>(env, element, index, dtype);
  }
}

template <typename T>
void encode_all(ErlNifEnv* env, ERL_NIF_TERM list, DType dtype, std::byte* out, size_t count) {
  ERL_NIF_TERM head = 0;
  for (size_t i = 0; i < count; ++i) {
    enif_get_list_cell(env, list, &head, &list);
    const T value = to_element<T>(env, head, i, dtype);
    std::memcpy(out + i * sizeof(T), &value, sizeof(T));
  }
}

ERL_NIF_TERM to_term(ErlNifEnv* env, double value) {
  if (std::isfinite(value)) return enif_make_double(env, value);
  const NotFinite& atoms = not_finite(env);
  if (std::isnan(value)) return atoms.nan;
  return value > 0 ? atoms.infinity : atoms.neg_infinity;
}

ERL_NIF_TERM to_term(ErlNifEnv* env, float value) {
  return to_term(env, static_cast<double>(value));
}
ERL_NIF_TERM to_term(ErlNifEnv* env, F16 value) { return to_term(env, f16_number(value.bits)); }
ERL_NIF_TERM to_term(ErlNifEnv* env, BF16 value) { return to_term(env, bf16_number(value.bits)); }
ERL_NIF_TERM to_term(ErlNifEnv* env, C64 value) {
  return enif_make_tuple2(env, to_term(env, value.real), to_term(env, value.imaginary));
}
ERL_NIF_TERM to_term(ErlNifEnv* env, int64_t value) { return enif_make_int64(env, value); }
ERL_NIF_TERM to_term(ErlNifEnv* env, uint64_t value) { return enif_make_uint64(env, value); }

template <typename T>
Term decode_all(ErlNifEnv* env, const unsigned char* data, size_t count) {
  ERL_NIF_TERM result = enif_make_list(env, 0);
  for (size_t i = count; i-- > 0;) {
    T value{};
    std::memcpy(&value, data + i * sizeof(T), sizeof(T));
    ERL_NIF_TERM element = 0;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, uint64_t>) {
      element = to_term(env, static_cast<int64_t>(value));
    } else {
      element = to_term(env, value);
    }
    result = enif_make_list_cell(env, element, result);
  }
  return result;
}

// Calls `visitor` with a value of the host's type of an element.
template <typename Visitor>
auto with_type(DType dtype, Visitor visitor) {
  switch (dtype) {
    case DType::f32:
      return visitor(float{});
    case DType::f64:
      return visitor(double{});
    case DType::s32:
      return visitor(int32_t{});
    case DType::s64:
      return visitor(int64_t{});
    case DType::u32:
      return visitor(uint32_t{});
    case DType::u8:
      return visitor(uint8_t{});
    case DType::f16:
      return visitor(F16{});
    case DType::bf16:
      return visitor(BF16{});
    case DType::s8:
      return visitor(int8_t{});
    case DType::s16:
      return visitor(int16_t{});
    case DType::u16:
      return visitor(uint16_t{});
    case DType::u64:
      return visitor(uint64_t{});
    case DType::c64:
      return visitor(C64{});
  }
  throw std::logic_error("an element type without a host type");
}

}  // namespace

std::vector<std::byte> encode_elements(ErlNifEnv* env, ERL_NIF_TERM list, const TensorType& type) {
  unsigned length = 0;
  if (enif_get_list_length(env, list, &length) == 0) {
    throw std::invalid_argument("the values are a list of numbers, got " + shown(env, list));
  }
  const auto count = static_cast<size_t>(type.count());
  if (length != count) {
    throw Error(Reason::shape_mismatch, text("shape ", to_string(type.shape), " has ", count,
                                             " elements, the list has ", length));
  }
  std::vector<std::byte> bytes(type.bytes());
  with_type(type.dtype, [&](auto zero) {
    encode_all<decltype(zero)>(env, list, type.dtype, bytes.data(), count);
  });
  return bytes;
}

Term decode_elements(ErlNifEnv* env, const unsigned char* data, size_t bytes, DType dtype) {
  const size_t count = bytes / size_of(dtype);
  return with_type(dtype, [&](auto zero) { return decode_all<decltype(zero)>(env, data, count); });
}

}  // namespace dala::nif
