// Codecs for what is made of other values: optionals, variants, tuples, lists,
// maps, tagged results, resources and Elixir structs.
//
// Part of the stand-in for elixir-nx/fine; see fine.hpp.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "terms.hpp"
#include "values.hpp"

namespace fine {

namespace detail {

// A type that stands for an Elixir struct: `module` points to the atom of its
// module, `fields()` pairs each member pointer with the atom of its key.
template <typename T>
concept ElixirStruct = requires {
  T::module;
  T::fields();
};

template <typename T>
consteval bool is_exception() {
  if constexpr (requires { T::is_exception; }) {
    return T::is_exception;
  } else {
    return false;
  }
}

}  // namespace detail

// One of several, or none

template <>
struct Encoder<std::nullopt_t> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const std::nullopt_t&) {
    return fine::encode(env, detail::atoms::nil);
  }
};

template <typename T>
struct Decoder<std::optional<T>> {
  static std::optional<T> decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    if (detail::is_atom(env, term, detail::atoms::nil)) return std::nullopt;
    return fine::decode<T>(env, term);
  }
};
template <typename T>
struct Encoder<std::optional<T>> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const std::optional<T>& value) {
    return value ? fine::encode(env, *value) : fine::encode(env, std::nullopt);
  }
};

// The first alternative that accepts the term wins.
template <typename... Args>
struct Decoder<std::variant<Args...>> {
  static std::variant<Args...> decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    std::optional<std::variant<Args...>> result;
    if (!(attempt<Args>(env, term, result) || ...)) {
      detail::reject(env, term, "one of several types");
    }
    return std::move(*result);
  }

 private:
  template <typename T>
  static bool attempt(ErlNifEnv* env, ERL_NIF_TERM term,
                      std::optional<std::variant<Args...>>& result) {
    try {
      result.emplace(fine::decode<T>(env, term));
      return true;
    } catch (const std::invalid_argument&) {
      return false;
    }
  }
};
template <typename... Args>
struct Encoder<std::variant<Args...>> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const std::variant<Args...>& variant) {
    return std::visit([env](const auto& value) { return fine::encode(env, value); }, variant);
  }
};

// Tuples

template <typename... Args>
struct Decoder<std::tuple<Args...>> {
  static std::tuple<Args...> decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    int arity = 0;
    const ERL_NIF_TERM* items = nullptr;
    if (!enif_get_tuple(env, term, &arity, &items)) detail::reject(env, term, "a tuple");
    if (arity != static_cast<int>(sizeof...(Args))) {
      detail::reject(env, term, "a tuple of " + std::to_string(sizeof...(Args)) + " elements");
    }
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return std::tuple<Args...>{fine::decode<Args>(env, items[I])...};
    }
    (std::index_sequence_for<Args...>{});
  }
};
template <typename... Args>
struct Encoder<std::tuple<Args...>> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const std::tuple<Args...>& tuple) {
    const auto items = std::apply(
        [env](const auto&... item) {
          return std::array<ERL_NIF_TERM, sizeof...(Args)>{fine::encode(env, item)...};
        },
        tuple);
    return enif_make_tuple_from_array(env, items.data(), sizeof...(Args));
  }
};

template <typename A, typename B>
struct Decoder<std::pair<A, B>> {
  static std::pair<A, B> decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    auto [a, b] = fine::decode<std::tuple<A, B>>(env, term);
    return {std::move(a), std::move(b)};
  }
};
template <typename A, typename B>
struct Encoder<std::pair<A, B>> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const std::pair<A, B>& pair) {
    return fine::encode(env, std::tie(pair.first, pair.second));
  }
};

template <typename... Args>
struct Encoder<Ok<Args...>> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const Ok<Args...>& ok) {
    if constexpr (sizeof...(Args) == 0) return fine::encode(env, detail::atoms::ok);
    return fine::encode(env, std::tuple_cat(std::tuple(detail::atoms::ok), ok.items()));
  }
};
template <typename... Args>
struct Encoder<Error<Args...>> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const Error<Args...>& error) {
    if constexpr (sizeof...(Args) == 0) return fine::encode(env, detail::atoms::error);
    return fine::encode(env, std::tuple_cat(std::tuple(detail::atoms::error), error.items()));
  }
};

// Lists and maps

template <typename T, typename Alloc>
struct Decoder<std::vector<T, Alloc>> {
  static std::vector<T, Alloc> decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    unsigned length = 0;
    if (!enif_get_list_length(env, term, &length)) detail::reject(env, term, "a list");
    std::vector<T, Alloc> items;
    items.reserve(length);
    ERL_NIF_TERM head;
    ERL_NIF_TERM rest = term;
    while (enif_get_list_cell(env, rest, &head, &rest)) {
      items.push_back(fine::decode<T>(env, head));
    }
    return items;
  }
};
template <typename T, typename Alloc>
struct Encoder<std::vector<T, Alloc>> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const std::vector<T, Alloc>& items) {
    std::vector<ERL_NIF_TERM> terms;
    terms.reserve(items.size());
    for (const auto& item : items) terms.push_back(fine::encode<T>(env, item));
    return enif_make_list_from_array(env, terms.data(), static_cast<unsigned>(terms.size()));
  }
};

template <typename K, typename V, typename Compare, typename Alloc>
struct Decoder<std::map<K, V, Compare, Alloc>> {
  static std::map<K, V, Compare, Alloc> decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    // Entries may throw while they are decoded, and the iterator must go anyway.
    struct Iterator {
      ErlNifEnv* env;
      ErlNifMapIterator state;
      ~Iterator() { enif_map_iterator_destroy(env, &state); }
    };
    ErlNifMapIterator state;
    if (!enif_map_iterator_create(env, term, &state, ERL_NIF_MAP_ITERATOR_FIRST)) {
      detail::reject(env, term, "a map");
    }
    Iterator it{env, state};
    std::map<K, V, Compare, Alloc> map;
    ERL_NIF_TERM key;
    ERL_NIF_TERM value;
    while (enif_map_iterator_get_pair(env, &it.state, &key, &value)) {
      map.insert_or_assign(fine::decode<K>(env, key), fine::decode<V>(env, value));
      enif_map_iterator_next(env, &it.state);
    }
    return map;
  }
};
template <typename K, typename V, typename Compare, typename Alloc>
struct Encoder<std::map<K, V, Compare, Alloc>> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const std::map<K, V, Compare, Alloc>& map) {
    ERL_NIF_TERM term = enif_make_new_map(env);
    for (const auto& [key, value] : map) {
      enif_make_map_put(env, term, fine::encode<K>(env, key), fine::encode<V>(env, value), &term);
    }
    return term;
  }
};

// Resources and structs

template <typename T>
struct Decoder<ResourcePtr<T>> {
  static ResourcePtr<T> decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    void* memory = nullptr;
    if (!enif_get_resource(env, term, ResourcePtr<T>::type_, &memory)) {
      detail::reject(env, term, "a resource reference");
    }
    enif_keep_resource(memory);
    return ResourcePtr<T>(memory);
  }
};
template <typename T>
struct Encoder<ResourcePtr<T>> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const ResourcePtr<T>& resource) {
    return enif_make_resource(env, resource.get());
  }
};

template <typename T>
requires detail::ElixirStruct<T>
struct Decoder<T> {
  static T decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    ERL_NIF_TERM module;
    if (!enif_get_map_value(env, term, fine::encode(env, detail::atoms::struct_), &module)) {
      detail::reject(env, term, "a struct");
    }
    if (!detail::is_atom(env, module, *T::module)) {
      detail::reject(env, term, "a struct of " + T::module->to_string());
    }
    T value{};
    std::apply([&](const auto&... field) { (assign(env, term, value, field), ...); }, T::fields());
    return value;
  }

 private:
  template <typename Field>
  static void assign(ErlNifEnv* env, ERL_NIF_TERM term, T& value, const Field& field) {
    const auto& [member, key] = field;
    ERL_NIF_TERM item;
    if (!enif_get_map_value(env, term, fine::encode(env, *key), &item)) {
      detail::reject(env, term, "a struct with the field " + key->to_string());
    }
    using Value = std::remove_reference_t<decltype(value.*member)>;
    value.*member = fine::decode<Value>(env, item);
  }
};
template <typename T>
requires detail::ElixirStruct<T>
struct Encoder<T> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const T& value) {
    return std::apply(
        [&](const auto&... field) {
          using Terms = std::array<ERL_NIF_TERM, 1 + sizeof...(field)>;
          const ERL_NIF_TERM map =
              detail::make_map(env,
                               Terms{fine::encode(env, detail::atoms::struct_),
                                     fine::encode(env, *std::get<1>(field))...},
                               Terms{fine::encode(env, *T::module),
                                     fine::encode(env, value.*std::get<0>(field))...});
          if constexpr (!detail::is_exception<T>()) return map;
          ERL_NIF_TERM exception;
          enif_make_map_put(env, map, fine::encode(env, detail::atoms::exception),
                            fine::encode(env, true), &exception);
          return exception;
        },
        T::fields());
  }
};

}  // namespace fine
