// A std::variant whose copies survive a lack of memory. libstdc++ takes a variant of numbers,
// strings and vectors for one that always has a value; when copying one of these throws, the
// variant that is being made is destroyed with an index that is none (GCC bug 112591, mended in
// GCC 13.3).
#pragma once

#include <utility>
#include <variant>

namespace dala {

template <typename... Types>
struct Variant : std::variant<Types...> {
  using Base = std::variant<Types...>;
  using Base::Base;
  using Base::operator=;

  Variant() = default;
  // The alternative is copied first, and moving it in does not throw.
  Variant(const Variant& other)
      : Base(std::visit(
            [](const auto& value) {
              using T = std::decay_t<decltype(value)>;
              return Base(std::in_place_type<T>, T(value));
            },
            static_cast<const Base&>(other))) {}
  Variant(Variant&&) noexcept = default;
  Variant& operator=(const Variant& other) { return *this = Variant(other); }
  Variant& operator=(Variant&&) noexcept = default;
};

}  // namespace dala
