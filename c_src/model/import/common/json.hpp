// A strict JSON parser: anything that does not conform to RFC 8259 is rejected with the byte offset
// of the error. It is meant for untrusted files: nesting is limited, strings must be valid UTF-8,
// and duplicate keys in an object are errors.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace dala::model {

class Json {
 public:
  using List = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;  // in the order of the text

  Json() = default;  // null
  template <typename T>
  explicit Json(T value) : value_(std::move(value)) {}

  // Throws `invalid_model` if the text is not JSON.
  static Json parse(std::string_view text);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_number() const { return std::holds_alternative<double>(value_); }
  bool is_text() const { return std::holds_alternative<std::string>(value_); }
  bool is_list() const { return std::holds_alternative<List>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  // The value as that type. Throws `invalid_model`, naming the value `what`, for another type.
  bool boolean(std::string_view what) const;
  double number(std::string_view what) const;
  int64_t integer(std::string_view what) const;  // exact; a decimal string is accepted, too
  const std::string& text(std::string_view what) const;
  const List& list(std::string_view what) const;
  const Object& object(std::string_view what) const;

  // The member with that key; null if there is none or the value is not an object.
  const Json* find(std::string_view key) const;
  // The same; throws `invalid_model`, naming the object `owner`, if there is none.
  const Json& at(std::string_view key, std::string_view owner) const;

 private:
  template <typename T>
  const T& as(std::string_view what, std::string_view kind) const;

  std::variant<std::monostate, bool, double, std::string, List, Object> value_;
};

}  // namespace dala::model
