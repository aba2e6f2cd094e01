// How single C++ values become terms and terms become C++ values.
//
// Part of the stand-in for elixir-nx/fine; see fine.hpp. As there, int, size_t
// and float have no codec and a float argument does not accept an integer: the
// boundary is written in terms of int64_t, uint64_t and double.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "terms.hpp"

namespace fine {

template <typename T>
T decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
  return Decoder<std::remove_cv_t<T>>::decode(env, term);
}

template <typename T>
ERL_NIF_TERM encode(ErlNifEnv* env, const T& value) {
  return Encoder<std::remove_cv_t<T>>::encode(env, value);
}

namespace detail {

[[noreturn]] inline void reject(ErlNifEnv* env, ERL_NIF_TERM term, const std::string& wanted) {
  throw std::invalid_argument("expected " + wanted + ", got " + format_term(env, term));
}

inline bool is_atom(ErlNifEnv* env, ERL_NIF_TERM term, const Atom& atom) {
  return enif_is_identical(term, encode(env, atom)) != 0;
}

template <size_t N>
ERL_NIF_TERM make_map(ErlNifEnv* env, std::array<ERL_NIF_TERM, N> keys,
                      std::array<ERL_NIF_TERM, N> values) {
  ERL_NIF_TERM map;
  if (!enif_make_map_from_arrays(env, keys.data(), values.data(), N, &map)) {
    throw std::runtime_error("a map to encode has a key twice");
  }
  return map;
}

}  // namespace detail

// Plain values

template <>
struct Decoder<Term> {
  static Term decode(ErlNifEnv*, const ERL_NIF_TERM& term) { return term; }
};
template <>
struct Encoder<Term> {
  static ERL_NIF_TERM encode(ErlNifEnv*, const Term& term) { return term; }
};

template <>
struct Decoder<int64_t> {
  static int64_t decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    ErlNifSInt64 value;
    if (!enif_get_int64(env, term, &value)) detail::reject(env, term, "an integer");
    return value;
  }
};
template <>
struct Encoder<int64_t> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const int64_t& value) {
    return enif_make_int64(env, value);
  }
};

template <>
struct Decoder<uint64_t> {
  static uint64_t decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    ErlNifUInt64 value;
    if (!enif_get_uint64(env, term, &value)) detail::reject(env, term, "an unsigned integer");
    return value;
  }
};
template <>
struct Encoder<uint64_t> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const uint64_t& value) {
    return enif_make_uint64(env, value);
  }
};

template <>
struct Decoder<double> {
  static double decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    double value;
    if (!enif_get_double(env, term, &value)) detail::reject(env, term, "a float");
    return value;
  }
};
template <>
struct Encoder<double> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const double& value) {
    return enif_make_double(env, value);
  }
};

template <>
struct Encoder<Atom> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const Atom& atom) {
    return atom.term_ != 0 ? atom.term_ : detail::make_atom(env, atom.name_);
  }
};
template <>
struct Decoder<Atom> {
  static Atom decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    unsigned length = 0;
    if (!enif_get_atom_length(env, term, &length, detail::kAtomEncoding)) {
      detail::reject(env, term, "an atom");
    }
    std::string name(length + 1, '\0');  // the call writes a closing zero byte, too
    if (!enif_get_atom(env, term, name.data(), length + 1, detail::kAtomEncoding)) {
      detail::reject(env, term, "an atom");
    }
    name.pop_back();
    return Atom(std::move(name));
  }
};

template <>
struct Decoder<bool> {
  static bool decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    if (detail::is_atom(env, term, detail::atoms::true_)) return true;
    if (!detail::is_atom(env, term, detail::atoms::false_)) detail::reject(env, term, "a boolean");
    return false;
  }
};
template <>
struct Encoder<bool> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const bool& value) {
    return fine::encode(env, value ? detail::atoms::true_ : detail::atoms::false_);
  }
};

template <>
struct Decoder<ErlNifPid> {
  static ErlNifPid decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    ErlNifPid pid;
    // False for a pid of another node as well: a NIF can send to local ones only.
    if (!enif_get_local_pid(env, term, &pid)) detail::reject(env, term, "a local pid");
    return pid;
  }
};
template <>
struct Encoder<ErlNifPid> {
  // The member is what enif_make_pid reads; the macro itself casts to a const
  // value, which -Wextra objects to.
  static ERL_NIF_TERM encode(ErlNifEnv*, const ErlNifPid& pid) { return pid.pid; }
};

// Binaries and strings. A decoded ErlNifBinary or string_view points into the
// term and is valid for the length of the NIF call.

template <>
struct Decoder<ErlNifBinary> {
  static ErlNifBinary decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    ErlNifBinary binary;
    if (!enif_inspect_binary(env, term, &binary)) detail::reject(env, term, "a binary");
    return binary;
  }
};
template <>
struct Encoder<ErlNifBinary> {
  // Hands the allocated binary over to the VM; the C interface just is not const.
  static ERL_NIF_TERM encode(ErlNifEnv* env, const ErlNifBinary& binary) {
    return enif_make_binary(env, const_cast<ErlNifBinary*>(&binary));
  }
};

template <>
struct Decoder<std::string_view> {
  static std::string_view decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    const auto binary = fine::decode<ErlNifBinary>(env, term);
    return {reinterpret_cast<const char*>(binary.data), binary.size};
  }
};
template <>
struct Encoder<std::string_view> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const std::string_view& text) {
    return make_new_binary(env, text.data(), text.size());
  }
};

template <typename Alloc>
struct Decoder<std::basic_string<char, std::char_traits<char>, Alloc>> {
  using String = std::basic_string<char, std::char_traits<char>, Alloc>;
  static String decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    return String(fine::decode<std::string_view>(env, term));
  }
};
template <typename Alloc>
struct Encoder<std::basic_string<char, std::char_traits<char>, Alloc>> {
  using String = std::basic_string<char, std::char_traits<char>, Alloc>;
  static ERL_NIF_TERM encode(ErlNifEnv* env, const String& text) {
    return fine::encode<std::string_view>(env, text);
  }
};

}  // namespace fine
