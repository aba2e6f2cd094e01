#include "nif/list_codec.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace dala::nif {
namespace {

[[noreturn]] void refuse(Reason reason, size_t index, DType dtype, ErlNifEnv* env,
                         ERL_NIF_TERM element, const char* why) {
  throw Error(reason,
              text("element ", index, " (", shown(env, element), ") ", why, " ", to_string(dtype),
                   " buffer"),
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

template <typename T>
T to_float(ErlNifEnv* env, ERL_NIF_TERM element, size_t index, DType dtype) {
  double real = 0;
  if (enif_get_double(env, element, &real) != 0) return static_cast<T>(real);
  ErlNifSInt64 integer = 0;
  if (enif_get_int64(env, element, &integer) != 0) return static_cast<T>(integer);
  ErlNifUInt64 large = 0;
  if (enif_get_uint64(env, element, &large) != 0) return static_cast<T>(large);
  const NotFinite& atoms = not_finite(env);
  if (element == atoms.nan) return std::numeric_limits<T>::quiet_NaN();
  if (element == atoms.infinity) return std::numeric_limits<T>::infinity();
  if (element == atoms.neg_infinity) return -std::numeric_limits<T>::infinity();
  const bool is_integer = enif_term_type(env, element) == ERL_NIF_TERM_TYPE_INTEGER;
  refuse(Reason::invalid_param, index, dtype, env, element,
         is_integer ? "is out of range for an" : "is not a number for an");
}

template <typename T>
T to_integer(ErlNifEnv* env, ERL_NIF_TERM element, size_t index, DType dtype) {
  ErlNifSInt64 integer = 0;
  if (enif_get_int64(env, element, &integer) != 0) {
    if (integer >= static_cast<int64_t>(std::numeric_limits<T>::min()) &&
        integer <= static_cast<int64_t>(std::numeric_limits<T>::max())) {
      return static_cast<T>(integer);
    }
    refuse(Reason::invalid_param, index, dtype, env, element, "is out of range for an");
  }
  if (enif_term_type(env, element) == ERL_NIF_TERM_TYPE_INTEGER) {
    refuse(Reason::invalid_param, index, dtype, env, element, "is out of range for an");
  }
  const bool is_float = enif_term_type(env, element) == ERL_NIF_TERM_TYPE_FLOAT;
  refuse(is_float ? Reason::dtype_mismatch : Reason::invalid_param, index, dtype, env, element,
         "is not an integer, as needed for an");
}

template <typename T>
void encode_all(ErlNifEnv* env, ERL_NIF_TERM list, DType dtype, std::byte* out, size_t count) {
  ERL_NIF_TERM head = 0;
  for (size_t i = 0; i < count; ++i) {
    enif_get_list_cell(env, list, &head, &list);
    T value{};
    if constexpr (std::is_floating_point_v<T>) {
      value = to_float<T>(env, head, i, dtype);
    } else {
      value = to_integer<T>(env, head, i, dtype);
    }
    std::memcpy(out + i * sizeof(T), &value, sizeof(T));
  }
}

ERL_NIF_TERM to_term(ErlNifEnv* env, double value) {
  if (std::isfinite(value)) return enif_make_double(env, value);
  const NotFinite& atoms = not_finite(env);
  if (std::isnan(value)) return atoms.nan;
  return value > 0 ? atoms.infinity : atoms.neg_infinity;
}

template <typename T>
Term decode_all(ErlNifEnv* env, const unsigned char* data, size_t count) {
  ERL_NIF_TERM result = enif_make_list(env, 0);
  for (size_t i = count; i-- > 0;) {
    T value{};
    std::memcpy(&value, data + i * sizeof(T), sizeof(T));
    ERL_NIF_TERM element = 0;
    if constexpr (std::is_floating_point_v<T>) {
      element = to_term(env, static_cast<double>(value));
    } else {
      element = enif_make_int64(env, static_cast<ErlNifSInt64>(value));
    }
    result = enif_make_list_cell(env, element, result);
  }
  return result;
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
  switch (type.dtype) {
    case DType::f32:
      encode_all<float>(env, list, type.dtype, bytes.data(), count);
      break;
    case DType::f64:
      encode_all<double>(env, list, type.dtype, bytes.data(), count);
      break;
    case DType::s32:
      encode_all<int32_t>(env, list, type.dtype, bytes.data(), count);
      break;
    case DType::s64:
      encode_all<int64_t>(env, list, type.dtype, bytes.data(), count);
      break;
    case DType::u32:
      encode_all<uint32_t>(env, list, type.dtype, bytes.data(), count);
      break;
    case DType::u8:
      encode_all<uint8_t>(env, list, type.dtype, bytes.data(), count);
      break;
  }
  return bytes;
}

Term decode_elements(ErlNifEnv* env, const unsigned char* data, size_t bytes, DType dtype) {
  const size_t count = bytes / size_of(dtype);
  switch (dtype) {
    case DType::f32:
      return decode_all<float>(env, data, count);
    case DType::f64:
      return decode_all<double>(env, data, count);
    case DType::s32:
      return decode_all<int32_t>(env, data, count);
    case DType::s64:
      return decode_all<int64_t>(env, data, count);
    case DType::u32:
      return decode_all<uint32_t>(env, data, count);
    case DType::u8:
      return decode_all<uint8_t>(env, data, count);
  }
  return enif_make_list(env, 0);
}

}  // namespace dala::nif
