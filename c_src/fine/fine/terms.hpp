// The vocabulary of the boundary: terms, atoms, tagged results and resources.
//
// Part of the stand-in for elixir-nx/fine; see fine.hpp.
#pragma once

#include <erl_nif.h>

#include <compare>
#include <cstddef>
#include <cstring>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace fine {

template <typename T, typename Enable = void>
struct Decoder {};
template <typename T, typename Enable = void>
struct Encoder {};

class Registration;

// ERL_NIF_TERM is a plain integer, so codecs could not tell it from uint64_t.
// Term is the same word with a type of its own.
class Term {
 public:
  Term() = default;
  Term(const ERL_NIF_TERM& term) : term_(term) {}
  operator ERL_NIF_TERM() const { return term_; }

  friend bool operator==(const Term& a, const Term& b) noexcept {
    return enif_compare(a.term_, b.term_) == 0;
  }
  friend std::weak_ordering operator<=>(const Term& a, const Term& b) noexcept {
    return enif_compare(a.term_, b.term_) <=> 0;
  }

 private:
  ERL_NIF_TERM term_ = 0;
};

namespace detail {

// Atoms could hold UTF-8 from NIF version 2.17 (OTP 26) on.
#if ERL_NIF_MAJOR_VERSION > 2 || (ERL_NIF_MAJOR_VERSION == 2 && ERL_NIF_MINOR_VERSION >= 17)
inline constexpr auto kAtomEncoding = ERL_NIF_UTF8;
#else
inline constexpr auto kAtomEncoding = ERL_NIF_LATIN1;
#endif

inline ERL_NIF_TERM make_atom(ErlNifEnv* env, const std::string& name) {
  ERL_NIF_TERM term;
  if (enif_make_existing_atom(env, name.c_str(), &term, kAtomEncoding)) return term;
  return enif_make_atom(env, name.c_str());
}

}  // namespace detail

// An atom by name. Atoms that live since before the library was loaded, that is
// globals, get their term once at load; all others look it up when encoded.
class Atom {
 public:
  Atom(std::string name) : name_(std::move(name)) {
    if (!loaded_) waiting_.push_back(this);
  }
  Atom(const Atom&) = default;
  Atom& operator=(const Atom&) = default;
  // A temporary that dies before load must not be written to at load.
  ~Atom() {
    if (!loaded_) std::erase(waiting_, this);
  }

  const std::string& to_string() const& noexcept { return name_; }
  std::string to_string() && { return std::move(name_); }

  bool operator==(const Atom& other) const { return name_ == other.name_; }
  bool operator==(const char* other) const { return name_ == other; }
  bool operator<(const Atom& other) const { return name_ < other.name_; }

 private:
  friend class Registration;
  friend struct Encoder<Atom>;

  static void resolve_globals(ErlNifEnv* env) {
    for (Atom* atom : waiting_) atom->term_ = detail::make_atom(env, atom->name_);
    waiting_.clear();
    loaded_ = true;
  }

  inline static std::vector<Atom*> waiting_;
  inline static bool loaded_ = false;

  std::string name_;
  ERL_NIF_TERM term_ = 0;  // 0 is no valid term: not resolved
};

namespace detail::atoms {
inline const Atom ok("ok");
inline const Atom error("error");
inline const Atom nil("nil");
inline const Atom true_("true");
inline const Atom false_("false");
inline const Atom struct_("__struct__");
inline const Atom exception("__exception__");
inline const Atom message("message");
inline const Atom argument_error("Elixir.ArgumentError");
inline const Atom runtime_error("Elixir.RuntimeError");
}  // namespace detail::atoms

namespace detail {

// The common base of Ok and Error. Tagged<Tag, int> converts to Tagged<Tag, int64_t>,
// so a NIF may return a narrower type than it declares.
template <typename Derived, typename... Items>
class Tagged {
 public:
  explicit Tagged(std::tuple<Items...> items) : items_(std::move(items)) {}
  const std::tuple<Items...>& items() const& noexcept { return items_; }
  std::tuple<Items...>& items() & noexcept { return items_; }
  std::tuple<Items...>&& items() && noexcept { return std::move(items_); }

 private:
  std::tuple<Items...> items_;
};

}  // namespace detail

// `:ok`, or `{:ok, items...}`.
template <typename... Args>
class Ok : public detail::Tagged<Ok<Args...>, Args...> {
 public:
  using Items = std::tuple<Args...>;
  explicit Ok(Args... items) : Ok::Tagged(Items{std::move(items)...}) {}
  template <typename... Others>
  Ok(const Ok<Others...>& other) : Ok::Tagged(Items(other.items())) {}
  template <typename... Others>
  Ok(Ok<Others...>&& other) : Ok::Tagged(Items(std::move(other).items())) {}
};

// `:error`, or `{:error, items...}`.
template <typename... Args>
class Error : public detail::Tagged<Error<Args...>, Args...> {
 public:
  using Items = std::tuple<Args...>;
  explicit Error(Args... items) : Error::Tagged(Items{std::move(items)...}) {}
  template <typename... Others>
  Error(const Error<Others...>& other) : Error::Tagged(Items(other.items())) {}
  template <typename... Others>
  Error(Error<Others...>&& other) : Error::Tagged(Items(std::move(other).items())) {}
};

namespace detail {

// The memory of one resource. The object comes first, so that its address is
// the one the VM knows; the flag tells the VM's destructor whether the object's
// constructor ever finished.
template <typename T>
struct ResourceBlock {
  alignas(T) std::byte object[sizeof(T)];
  bool constructed;

  static_assert(alignof(T) <= 8, "the VM aligns resources to eight bytes");

  static void destroy(ErlNifEnv* env, void* memory) {
    auto* block = static_cast<ResourceBlock*>(memory);
    if (!block->constructed) return;
    auto* object = std::launder(reinterpret_cast<T*>(block->object));
    if constexpr (requires { object->destructor(env); }) object->destructor(env);
    object->~T();
  }
};

}  // namespace detail

// A reference to a resource that the VM counts like any other.
template <typename T>
class ResourcePtr {
 public:
  ResourcePtr() = default;
  ResourcePtr(const ResourcePtr& other) : object_(other.object_) {
    if (object_ != nullptr) enif_keep_resource(object_);
  }
  ResourcePtr(ResourcePtr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  ResourcePtr& operator=(ResourcePtr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~ResourcePtr() {
    if (object_ != nullptr) enif_release_resource(object_);
  }

  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  T* get() const { return object_; }

  friend void swap(ResourcePtr& a, ResourcePtr& b) noexcept { std::swap(a.object_, b.object_); }

 private:
  friend class Registration;
  friend struct Decoder<ResourcePtr<T>>;
  template <typename U, typename... Args>
  friend ResourcePtr<U> make_resource(Args&&... args);

  // Takes over a reference that is already counted.
  explicit ResourcePtr(void* memory) : object_(static_cast<T*>(memory)) {}

  inline static ErlNifResourceType* type_ = nullptr;

  T* object_ = nullptr;
};

// Constructs a T in memory of the VM. T must be registered with FINE_RESOURCE.
template <typename T, typename... Args>
ResourcePtr<T> make_resource(Args&&... args) {
  using Block = detail::ResourceBlock<T>;
  if (ResourcePtr<T>::type_ == nullptr) {
    throw std::runtime_error("make_resource: this type has no FINE_RESOURCE registration");
  }
  auto* block = static_cast<Block*>(enif_alloc_resource(ResourcePtr<T>::type_, sizeof(Block)));
  block->constructed = false;
  // The pointer owns the memory before the constructor runs, since that may throw.
  ResourcePtr<T> pointer(static_cast<void*>(block));
  new (block->object) T(std::forward<Args>(args)...);
  block->constructed = true;
  return pointer;
}

// A binary over memory that the resource owns; it keeps the resource alive.
template <typename T>
Term make_resource_binary(ErlNifEnv* env, ResourcePtr<T> resource, const char* data, size_t size) {
  return enif_make_resource_binary(env, resource.get(), data, size);
}

// A binary with a copy of the given bytes.
inline Term make_new_binary(ErlNifEnv* env, const char* data, size_t size) {
  ERL_NIF_TERM term;
  unsigned char* bytes = enif_make_new_binary(env, size, &term);
  if (bytes == nullptr) throw std::runtime_error("no memory for a binary");
  if (size > 0) std::memcpy(bytes, data, size);
  return term;
}

// The term in Erlang syntax, cut after `limit` bytes. For messages only.
inline std::string format_term(ErlNifEnv*, ERL_NIF_TERM term, size_t limit = 100) {
  // One byte more than the limit tells a cut text from one that just fits.
  std::string text(limit + 2, '\0');
  enif_snprintf(text.data(), text.size(), "%T", term);
  text.resize(std::strlen(text.c_str()));
  if (text.size() > limit) text.replace(limit, std::string::npos, "...");
  return text;
}

}  // namespace fine

template <>
struct std::hash<fine::Term> {
  size_t operator()(const fine::Term& term) const noexcept {
    return enif_hash(ERL_NIF_INTERNAL_HASH, term, 0);
  }
};

template <>
struct std::hash<fine::Atom> {
  size_t operator()(const fine::Atom& atom) const noexcept {
    return std::hash<std::string_view>{}(atom.to_string());
  }
};
