#include "model/ops/op_call.hpp"

#include <utility>

namespace dala::model {
namespace {

const Attribute* find(const Node& node, const std::string& name) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? nullptr : &found->second;
}

template <typename Member>
auto get(const Node& node, const std::string& name, Member member, const char* wanted) {
  using T =
      typename std::remove_reference_t<decltype(std::declval<Attribute>().*member)>::value_type;
  const Attribute* attribute = find(node, name);
  if (attribute == nullptr) return std::optional<T>();
  if (!(attribute->*member)) reject(dala::text("attribute ", name, " is not ", wanted));
  return std::optional<T>(*(attribute->*member));
}

}  // namespace

const Tensor& OpCall::in(size_t index) const {
  if (!has(index)) reject(dala::text("input ", index, " is missing"));
  return *inputs[index];
}

void OpCall::set(size_t index, Tensor tensor) {
  if (outputs.size() <= index) outputs.resize(index + 1);
  outputs[index] = std::move(tensor);
}

int64_t OpCall::integer(const std::string& name, int64_t fallback) const {
  return get(node, name, &Attribute::integer, "an integer").value_or(fallback);
}

double OpCall::real(const std::string& name, double fallback) const {
  return get(node, name, &Attribute::real, "a float").value_or(fallback);
}

std::string OpCall::text(const std::string& name, const std::string& fallback) const {
  return get(node, name, &Attribute::text, "a string").value_or(fallback);
}

std::vector<int64_t> OpCall::integers(const std::string& name) const {
  return get(node, name, &Attribute::integers, "a list of integers")
      .value_or(std::vector<int64_t>());
}

std::vector<double> OpCall::reals(const std::string& name) const {
  return get(node, name, &Attribute::reals, "a list of floats").value_or(std::vector<double>());
}

std::vector<std::string> OpCall::texts(const std::string& name) const {
  return get(node, name, &Attribute::texts, "a list of strings")
      .value_or(std::vector<std::string>());
}

std::optional<std::vector<int64_t>> OpCall::integers_or_input(const std::string& name,
                                                              size_t index) const {
  if (has_attribute(name)) return integers(name);
  if (has(index)) return build.integers(in(index));
  return std::nullopt;
}

int64_t OpCall::axis(int64_t fallback, int64_t rank) const {
  return normal_axis(integer("axis", fallback), rank);
}

}  // namespace dala::model
