// A std::variant that is safe to copy when memory runs out. libstdc++ treats a variant of numbers,
// strings and vectors as never valueless; if copying an alternative throws, the variant under
// construction is destroyed with an invalid index (GCC bug 112591, fixed in GCC 13.3).
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
  // Copies the alternative first; moving it in does not throw.
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
