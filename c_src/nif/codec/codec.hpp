// Codecs: how terms become values of the library, and values become terms. NIFs are functions of
// these types; fine calls the codecs.
#pragma once

#include <concepts>
#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/descriptor.hpp"
#include "nif/boundary.hpp"
#include "runtime/error.hpp"
#include "runtime/memory/tensor_type.hpp"

namespace dala::nif {

// An argument that may be wrong in a way that is the NIF's result, `{:error, e}`, and no exception:
// a buffer that has been freed, too many parameters. The error is thrown where the argument is
// used, inside of `guarded`.
template <typename T>
class Given {
 public:
  explicit Given(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  explicit Given(ErrorPtr error) : content_(std::in_place_index<1>, std::move(error)) {}

  const T& operator*() const {
    if (const auto* error = std::get_if<1>(&content_)) throw Error(**error);
    return std::get<0>(content_);
  }
  const T* operator->() const { return &**this; }

 private:
  std::variant<T, ErrorPtr> content_;
};

// The return type of a NIF: the value, or `{:error, e}`.
template <typename T>
class Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Result(ErrorPtr error) : content_(std::in_place_index<1>, std::move(error)) {}

  const T* value() const { return std::get_if<0>(&content_); }
  const Error& error() const { return *std::get<1>(content_); }

 private:
  std::variant<T, ErrorPtr> content_;
};

// `:ok`, or `{:ok, values...}`, or `{:error, e}`.
template <typename... Values>
using OkOrError = Result<fine::Ok<Values...>>;

template <typename... Values>
fine::Ok<std::decay_t<Values>...> ok(Values&&... values) {
  return fine::Ok<std::decay_t<Values>...>(std::forward<Values>(values)...);
}

// Runs the body of a NIF: its errors become `{:error, e}`; a malformed term
// (std::invalid_argument) raises ArgumentError in the caller.
template <typename Body>
auto guarded(ErlNifEnv* env, Body body) -> Result<std::invoke_result_t<Body>> {
  const Caller caller(env);
  try {
    return body();
  } catch (const Error& problem) {
    return std::make_shared<const Error>(problem);
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

// The result of a body that gives a result itself.
template <typename T>
Result<T> flat(Result<Result<T>> result) {
  if (result.value() != nullptr) return *result.value();
  return std::make_shared<const Error>(result.error());
}

// A float; non-finite ones are :nan, :infinity and :neg_infinity.
struct Number {
  double value = 0;
};

// A text, or nil for an empty one.
struct TextOrNil {
  const std::string& text;
};

// The dimensions of a shape, a list. More than a shape may have are an Error.
struct Dims {
  Shape shape;
};

inline TensorType type_of(const Given<Dims>& dims, DType dtype) {
  return checked_type(dtype, dims->shape);
}

// Options, a map with atoms as keys. `what` names it: "the options".
class Options {
 public:
  Options(ErlNifEnv* env, ERL_NIF_TERM map, std::string_view what)
      : env_(env), map_(map), what_(what) {}

  bool has(std::string_view key) const { return find(key) != 0; }

  template <typename T>
  T get(std::string_view key) const {
    const ERL_NIF_TERM value = find(key);
    if (value == 0) throw std::invalid_argument(text(what_, " has no ", key));
    return fine::decode<T>(env_, value);
  }
  template <typename T>
  void read(std::string_view key, T& target) const {
    target = get<T>(key);
  }

 private:
  ERL_NIF_TERM find(std::string_view key) const {
    ERL_NIF_TERM value = 0;
    return enif_get_map_value(env_, map_, atom(env_, key), &value) != 0 ? value : 0;
  }

  ErlNifEnv* env_;
  ERL_NIF_TERM map_;
  std::string_view what_;
};

// A map of atoms: fields(env, "width", width, "height", height).
inline ERL_NIF_TERM put_fields(ErlNifEnv*, ERL_NIF_TERM map) { return map; }
template <typename T, typename... Rest>
ERL_NIF_TERM put_fields(ErlNifEnv* env, ERL_NIF_TERM map, std::string_view key, const T& value,
                        const Rest&... rest) {
  enif_make_map_put(env, map, atom(env, key), fine::encode(env, value), &map);
  return put_fields(env, map, rest...);
}
template <typename... Fields>
ERL_NIF_TERM fields(ErlNifEnv* env, const Fields&... all) {
  return put_fields(env, enif_make_new_map(env), all...);
}

// A list of the items as a function encodes them, or gives values that can be encoded.
template <typename Items, typename Convert>
auto each(const Items& items, Convert convert) {
  std::vector<std::decay_t<decltype(convert(*items.begin()))>> result;
  for (const auto& item : items) result.push_back(convert(item));
  return result;
}

inline fine::Atom to_atom(const std::string& name) { return fine::Atom(name); }

}  // namespace dala::nif

namespace fine {

template <typename T>
struct Decoder<dala::nif::Given<T>> {
  static dala::nif::Given<T> decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    try {
      return dala::nif::Given<T>(fine::decode<T>(env, term));
    } catch (const dala::Error& error) {
      return dala::nif::Given<T>(std::make_shared<const dala::Error>(error));
    }
  }
};

template <>
struct Encoder<dala::Error> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const dala::Error& error);
};

template <typename T>
struct Encoder<dala::nif::Result<T>> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const dala::nif::Result<T>& result) {
    if (result.value() != nullptr) return fine::encode(env, *result.value());
    return fine::encode(env, fine::Error<dala::Error>(result.error()));
  }
};

template <>
struct Encoder<dala::nif::Number> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const dala::nif::Number& number);
};

template <>
struct Encoder<dala::nif::TextOrNil> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const dala::nif::TextOrNil& text);
};

template <>
struct Decoder<dala::DType> {
  static dala::DType decode(ErlNifEnv* env, const ERL_NIF_TERM& term);
};
template <>
struct Encoder<dala::DType> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const dala::DType& dtype);
};

template <>
struct Decoder<dala::nif::Dims> {
  static dala::nif::Dims decode(ErlNifEnv* env, const ERL_NIF_TERM& term);
};

// Parameters of a kernel: a map of names and values.
template <>
struct Decoder<dala::Params> {
  static dala::Params decode(ErlNifEnv* env, const ERL_NIF_TERM& term);
};
template <>
struct Encoder<dala::ParamValue> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const dala::ParamValue& value);
};

}  // namespace fine
