// A small stand-in for elixir-nx/fine: typed NIFs in C++.
//
// The boundary in c_src/nif includes <fine.hpp> and compiles against either
// header. The real one comes first on the include path when Hex provides it;
// this one lets the project build with nothing but a compiler and Erlang. It
// offers the part of fine that the boundary uses, under the same names.
// Error texts differ; both contain "expected <what>".
#pragma once

#include <erl_nif.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "fine/containers.hpp"
#include "fine/terms.hpp"
#include "fine/values.hpp"

namespace fine {

namespace detail {

// Carries a term from raise() to the edge of the NIF.
struct Raised : std::exception {
  explicit Raised(ERL_NIF_TERM reason) : reason(reason) {}
  const char* what() const noexcept override { return "an Erlang exception"; }
  ERL_NIF_TERM reason;
};

inline ERL_NIF_TERM raise_message(ErlNifEnv* env, const Atom& module, std::string_view message) {
  const ERL_NIF_TERM error = make_map<3>(
      env,
      {encode(env, atoms::struct_), encode(env, atoms::exception), encode(env, atoms::message)},
      {encode(env, module), encode(env, true), encode(env, message)});
  return enif_raise_exception(env, error);
}

// No C++ exception may cross into the VM: everything ends here.
template <typename Return, typename... Args>
ERL_NIF_TERM call(ErlNifEnv* env, const ERL_NIF_TERM argv[], Return (*fun)(ErlNifEnv*, Args...)) {
  try {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return encode(env, fun(env, decode<Args>(env, argv[I])...));
    }
    (std::index_sequence_for<Args...>{});
  } catch (const Raised& raised) {
    return enif_raise_exception(env, raised.reason);
  } catch (const std::invalid_argument& error) {
    return raise_message(env, atoms::argument_error, error.what());
  } catch (const std::exception& error) {
    return raise_message(env, atoms::runtime_error, error.what());
  } catch (...) {
    return raise_message(env, atoms::runtime_error, "a NIF threw something unknown");
  }
}

// The C function behind a NIF. The VM has matched the arity already.
template <auto fun>
ERL_NIF_TERM entry(ErlNifEnv* env, int, const ERL_NIF_TERM argv[]) {
  return call(env, argv, fun);
}

}  // namespace detail

// Leaves the NIF with an Elixir exception, or with any other term as reason.
template <typename T>
void raise(ErlNifEnv* env, const T& value) {
  throw detail::Raised(encode(env, value));
}

template <typename Return, typename... Args>
constexpr unsigned nif_arity(Return (*)(ErlNifEnv*, Args...)) {
  return sizeof...(Args);
}

// Collects NIFs, resources and callbacks from static initialisers, which run
// when the library is mapped and thus before the VM asks for the entry.
class Registration {
 public:
  using LoadCallback = std::function<void(ErlNifEnv*, void**, Term)>;
  using UnloadCallback = std::function<void(ErlNifEnv*, void*)>;

  static Registration register_nif(ErlNifFunc nif) {
    nifs_.push_back(nif);
    return {};
  }

  template <typename T>
  static Registration register_resource(const char* name) {
    resources_.push_back({name, &ResourcePtr<T>::type_, detail::ResourceBlock<T>::destroy});
    return {};
  }

  static Registration register_load(LoadCallback callback) {
    if (load_) throw std::logic_error("there is a load callback already");
    load_ = std::move(callback);
    return {};
  }

  static Registration register_unload(UnloadCallback callback) {
    if (unload_) throw std::logic_error("there is an unload callback already");
    unload_ = std::move(callback);
    return {};
  }

  // For FINE_INIT only.
  static std::vector<ErlNifFunc>& nifs() { return nifs_; }

  static int load(ErlNifEnv* env, void** priv_data, ERL_NIF_TERM info) noexcept {
    try {
      Atom::resolve_globals(env);
      for (const auto& [name, type, destroy] : resources_) {
        *type = enif_open_resource_type(env, nullptr, name, destroy, ERL_NIF_RT_CREATE, nullptr);
        if (*type == nullptr) return -1;
      }
      if (load_) load_(env, priv_data, info);
      return 0;
    } catch (const std::exception& error) {
      enif_fprintf(stderr, "the NIF library refused to load: %s\n", error.what());
    } catch (...) {
      enif_fprintf(stderr, "the NIF library refused to load\n");
    }
    return -1;
  }

  static void unload(ErlNifEnv* env, void* priv_data) noexcept {
    if (unload_) unload_(env, priv_data);
  }

 private:
  struct Resource {
    const char* name;
    ErlNifResourceType** type;
    ErlNifResourceDtor* destroy;
  };

  inline static std::vector<ErlNifFunc> nifs_;
  inline static std::vector<Resource> resources_;
  inline static LoadCallback load_;
  inline static UnloadCallback unload_;
};

}  // namespace fine

#define FINE_STANDIN_JOIN_(a, b) a##b
#define FINE_STANDIN_JOIN(a, b) FINE_STANDIN_JOIN_(a, b)

// Makes `name`, a function (ErlNifEnv*, args...), the NIF name/arity.
#define FINE_NIF(name, flags)                                                                    \
  [[maybe_unused]] static const auto FINE_STANDIN_JOIN(fine_nif_, name) =                        \
      fine::Registration::register_nif({#name, fine::nif_arity(name), fine::detail::entry<name>, \
                                        static_cast<unsigned>(flags)});                          \
  static_assert(true, "needs a semicolon")

// Makes `type` usable with make_resource.
#define FINE_RESOURCE(type)                                                        \
  [[maybe_unused]] static const auto FINE_STANDIN_JOIN(fine_resource_, __LINE__) = \
      fine::Registration::register_resource<type>(#type);                          \
  static_assert(true, "needs a semicolon")

// The library's entry, once per library, with the name of the Elixir module.
// ERL_NIF_INIT wants a static array of functions, hence its pieces. There is no
// upgrade callback: the VM then refuses to swap the library under live resources.
#define FINE_INIT(module_name)                               \
  ERL_NIF_INIT_PROLOGUE                                      \
  ERL_NIF_INIT_GLOB                                          \
  ERL_NIF_INIT_DECL(NAME);                                   \
  ERL_NIF_INIT_DECL(NAME) {                                  \
    auto& nifs = fine::Registration::nifs();                 \
    static ErlNifEntry entry{ERL_NIF_MAJOR_VERSION,          \
                             ERL_NIF_MINOR_VERSION,          \
                             module_name,                    \
                             static_cast<int>(nifs.size()),  \
                             nifs.data(),                    \
                             fine::Registration::load,       \
                             nullptr,                        \
                             nullptr,                        \
                             fine::Registration::unload,     \
                             ERL_NIF_VM_VARIANT,             \
                             1,                              \
                             sizeof(ErlNifResourceTypeInit), \
                             ERL_NIF_MIN_ERTS_VERSION};      \
    ERL_NIF_INIT_BODY;                                       \
    return &entry;                                           \
  }                                                          \
  ERL_NIF_INIT_EPILOGUE                                      \
  static_assert(true, "needs a semicolon")
