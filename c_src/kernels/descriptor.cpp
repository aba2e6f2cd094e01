#include "kernels/descriptor.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "kernels/element.hpp"
#include "runtime/error.hpp"
#include "runtime/memory/narrow_float.hpp"

namespace dala {
namespace {

// Identifiers are shown bare, as atoms read; any other text in quotes, such as "3".
std::string shown(const ParamValue& given) {
  const auto* name = std::get_if<std::string>(&given);
  if (name == nullptr) return to_string(given);
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto inside = [&](char c) { return letter(c) || c == '_' || (c >= '0' && c <= '9'); };
  const bool word =
      !name->empty() && letter(name->front()) && std::all_of(name->begin(), name->end(), inside);
  return word ? *name : "\"" + *name + "\"";
}

[[noreturn]] void reject(const Descriptor& kernel, const ParamSpec& spec, const std::string& wanted,
                         const ParamValue& given) {
  throw Error(Reason::invalid_param,
              text(spec.name, " of ", kernel.name, " must be ", wanted, ", got ", shown(given)));
}

// The shortest text that parses to the same number.
std::string number_text(double number) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return {digits.data(), end};
}

std::string range_text(const std::string& kind, const ParamSpec& spec) {
  constexpr double kUnbounded = 1e299;
  const bool low = spec.min > -kUnbounded;
  const bool high = spec.max < kUnbounded;
  if (low && high) {
    return text(kind, " between ", number_text(spec.min), " and ", number_text(spec.max));
  }
  if (low) return text(kind, " of at least ", number_text(spec.min));
  if (high) return text(kind, " of at most ", number_text(spec.max));
  return kind;
}

std::optional<double> as_number(const ParamValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* large = std::get_if<uint64_t>(&value)) return static_cast<double>(*large);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

ParamValue checked_number(const Descriptor& kernel, const ParamSpec& spec,
                          const ParamValue& given) {
  const auto number = as_number(given);
  // Written so that NaN fails.
  if (!number || !(*number >= spec.min && *number <= spec.max)) {
    reject(kernel, spec, range_text("a number", spec), given);
  }
  return given;
}

ParamValue checked_integer(const Descriptor& kernel, const ParamSpec& spec,
                           const ParamValue& given) {
  const auto* integer = std::get_if<int64_t>(&given);
  if (integer == nullptr || static_cast<double>(*integer) < spec.min ||
      static_cast<double>(*integer) > spec.max) {
    reject(kernel, spec, range_text("an integer", spec), given);
  }
  return given;
}

struct IntegerRange {
  int64_t min;
  uint64_t max;
};

IntegerRange range_of(DType dtype) {
  const int bits = static_cast<int>(8 * size_of(dtype));
  if (!is_signed(dtype)) return {0, std::numeric_limits<uint64_t>::max() >> (64 - bits)};
  const uint64_t max = std::numeric_limits<uint64_t>::max() >> (65 - bits);
  return {-static_cast<int64_t>(max) - 1, max};
}

// Integers stay integers, so that every s64 is exact.
ParamValue checked_element(const Descriptor& kernel, const ParamSpec& spec, DType dtype,
                           const ParamValue& given) {
  if (!is_integer(dtype)) {
    if (as_number(given)) return given;
    if (const auto* name = std::get_if<std::string>(&given)) {
      if (*name == "nan") return std::numeric_limits<double>::quiet_NaN();
      if (*name == "infinity") return std::numeric_limits<double>::infinity();
      if (*name == "neg_infinity") return -std::numeric_limits<double>::infinity();
    }
    const auto* pair = std::get_if<std::vector<double>>(&given);
    if (dtype == DType::c64 && pair != nullptr && pair->size() == 2) return given;
    reject(kernel, spec, dtype == DType::c64 ? "a number or a pair of numbers" : "a number", given);
  }
  const IntegerRange range = range_of(dtype);
  if (const auto* exact = std::get_if<int64_t>(&given)) {
    if (*exact >= range.min && (*exact < 0 || static_cast<uint64_t>(*exact) <= range.max)) {
      return given;
    }
  } else if (const auto* large = std::get_if<uint64_t>(&given)) {
    if (*large <= range.max) return given;
  } else if (const auto* number = std::get_if<double>(&given)) {
    if (std::trunc(*number) == *number && std::abs(*number) < 0x1p62 &&
        *number >= static_cast<double>(range.min) && *number <= static_cast<double>(range.max)) {
      return static_cast<int64_t>(*number);
    }
  }
  reject(kernel, spec,
         text("an integer between ", range.min, " and ", range.max, " for ", to_string(dtype)),
         given);
}

// A number or a list of them; integers only for `integers`.
ParamValue checked_list(const Descriptor& kernel, const ParamSpec& spec, const ParamValue& given) {
  const bool whole = spec.kind == ParamSpec::Kind::integers;
  const auto fits = [&](double number) {
    return (!whole || std::trunc(number) == number) && number >= spec.min && number <= spec.max;
  };
  bool valid = false;
  if (const auto* integer = std::get_if<int64_t>(&given)) {
    valid = fits(static_cast<double>(*integer));
  } else if (const auto* number = std::get_if<double>(&given)) {
    valid = !whole && fits(*number);
  } else if (const auto* numbers = std::get_if<std::vector<double>>(&given)) {
    const auto& counts = spec.counts;
    valid = (counts.empty() ||
             std::find(counts.begin(), counts.end(), numbers->size()) != counts.end()) &&
            std::all_of(numbers->begin(), numbers->end(), fits);
  }
  if (valid) return given;
  if (spec.counts.empty()) {
    reject(kernel, spec,
           text(range_text(whole ? "an integer" : "a number", spec), ", or a list of them"), given);
  }
  std::vector<std::string> counts;
  for (size_t count : spec.counts) counts.push_back(std::to_string(count));
  reject(kernel, spec,
         text(range_text(whole ? "an integer" : "a number", spec), ", or ", join(counts, " or "),
              " of them"),
         given);
}

ParamValue checked_axis(const Descriptor& kernel, const ParamSpec& spec, const Call& call,
                        const ParamValue& given, bool by_default) {
  const Shape& shape = call.inputs.at(0).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  // A scalar has a single element along the default axis.
  if (rank == 0 && by_default) return int64_t{0};
  const auto* axis = std::get_if<int64_t>(&given);
  if (rank == 0) reject(kernel, spec, "absent for a scalar", given);
  if (axis == nullptr || *axis < -rank || *axis >= rank) {
    reject(kernel, spec,
           text("an integer between ", -rank, " and ", rank - 1, " for an input of shape ",
                to_string(shape)),
           given);
  }
  return *axis < 0 ? *axis + rank : *axis;
}

ParamValue checked_axes(const Descriptor& kernel, const ParamSpec& spec, const ParamValue& given) {
  const auto* axes = std::get_if<std::vector<double>>(&given);
  if (axes == nullptr) reject(kernel, spec, "a list of integers", given);
  for (double axis : *axes) {
    if (std::trunc(axis) != axis || std::abs(axis) > 0x1p53) {
      reject(kernel, spec, "a list of integers", given);
    }
  }
  return given;
}

ParamValue checked_param(const Descriptor& kernel, const ParamSpec& spec, const Call& call,
                         const ParamValue& given, bool by_default) {
  switch (spec.kind) {
    case ParamSpec::Kind::number:
      return checked_number(kernel, spec, given);
    case ParamSpec::Kind::integer:
      return checked_integer(kernel, spec, given);
    case ParamSpec::Kind::integers:
    case ParamSpec::Kind::numbers:
      return checked_list(kernel, spec, given);
    case ParamSpec::Kind::element:
      return checked_element(kernel, spec, call.output.dtype, given);
    case ParamSpec::Kind::axis:
      return checked_axis(kernel, spec, call, given, by_default);
    case ParamSpec::Kind::axes:
      return checked_axes(kernel, spec, given);
    case ParamSpec::Kind::flag:
      if (!std::holds_alternative<bool>(given)) reject(kernel, spec, "true or false", given);
      return given;
    case ParamSpec::Kind::choice: {
      // true and false are ordinary names if the kernel's choices include them.
      const bool is_flag = std::holds_alternative<bool>(given);
      for (const std::string& choice : spec.choices) {
        if (given == ParamValue(choice) || (is_flag && choice == to_string(given))) return choice;
      }
      reject(kernel, spec, join(spec.choices, " or "), given);
    }
    case ParamSpec::Kind::name:
      if (!std::holds_alternative<std::string>(given)) reject(kernel, spec, "a name", given);
      return given;
  }
  return given;
}

void check_arity(const Descriptor& kernel, size_t given) {
  const auto least = static_cast<size_t>(kernel.inputs);
  const auto most = least + static_cast<size_t>(kernel.optional_inputs);
  if (given >= least && given <= most) return;
  const std::string wanted = most == 0       ? "no input"
                             : least != most ? text(least, " to ", most, " inputs")
                             : least == 1    ? "1 input"
                                             : text(least, " inputs");
  throw Error(Reason::arity_mismatch, text(kernel.name, " takes ", wanted, ", got ", given));
}

void check_outputs(const Descriptor& kernel, size_t count) {
  if (count == static_cast<size_t>(kernel.outputs)) return;
  throw Error(Reason::arity_mismatch,
              text(kernel.name, " has ", kernel.outputs,
                   kernel.outputs == 1 ? " output" : " outputs", ", got ", count));
}

void check_names(const Descriptor& kernel, const Params& params) {
  std::vector<std::string> known;
  for (const ParamSpec& spec : kernel.params) known.push_back(spec.name);
  for (const auto& [name, value] : params) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw Error(Reason::unknown_param, text(kernel.name, " has no parameter ", name, "; it takes ",
                                            known.empty() ? "none" : join(known)));
  }
}

void check_dtypes(const Descriptor& kernel, const std::vector<TensorType>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto& allowed = kernel.dtypes;
    if (std::find(allowed.begin(), allowed.end(), inputs[i].dtype) != allowed.end()) continue;
    std::vector<std::string> names;
    for (DType dtype : allowed) names.emplace_back(to_string(dtype));
    throw Error(Reason::dtype_mismatch,
                text("input ", i, " of ", kernel.name, " is ", to_string(inputs[i].dtype),
                     ", expected ", join(names, " or ")));
  }
}

}  // namespace

std::string join(const std::vector<std::string>& names, const std::string& last) {
  std::string result;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) result += i + 1 == names.size() ? last : ", ";
    result += names[i];
  }
  return result;
}

std::string to_string(const ParamValue& value) {
  struct Visitor {
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(int64_t integer) const { return std::to_string(integer); }
    std::string operator()(uint64_t integer) const { return std::to_string(integer); }
    std::string operator()(double number) const { return number_text(number); }
    std::string operator()(const std::string& name) const { return name; }
    std::string operator()(const std::vector<double>& numbers) const {
      std::vector<std::string> parts;
      for (double number : numbers) parts.push_back(number_text(number));
      return "{" + join(parts, ", ") + "}";
    }
  };
  return std::visit(Visitor{}, value);
}

double Call::number(const std::string& name) const { return as_number(params.at(name)).value(); }

int64_t Call::integer(const std::string& name) const { return std::get<int64_t>(params.at(name)); }

std::vector<int64_t> Call::integers(const std::string& name) const {
  const ParamValue& given = params.at(name);
  if (const auto* integer = std::get_if<int64_t>(&given)) return {*integer};
  std::vector<int64_t> result;
  for (double number : std::get<std::vector<double>>(given)) {
    result.push_back(static_cast<int64_t>(number));
  }
  return result;
}

std::vector<double> Call::numbers(const std::string& name) const {
  const ParamValue& given = params.at(name);
  if (const auto number = as_number(given)) return {*number};
  return std::get<std::vector<double>>(given);
}

std::string Call::choice(const std::string& name) const {
  return std::get<std::string>(params.at(name));
}

bool Call::flag(const std::string& name) const { return std::get<bool>(params.at(name)); }

Value Call::element(const std::string& name, DType dtype) const {
  const ParamValue& given = params.at(name);
  if (const auto* integer = std::get_if<int64_t>(&given)) return element_value(dtype, *integer);
  if (const auto* large = std::get_if<uint64_t>(&given)) {
    if (dtype == DType::u64) return value(*large);
    return element_value(dtype, sticky_double(*large));
  }
  if (const auto* pair = std::get_if<std::vector<double>>(&given)) {
    return value(
        std::array<float, 2>{static_cast<float>(pair->at(0)), static_cast<float>(pair->at(1))});
  }
  return element_value(dtype, std::get<double>(given));
}

Call validate(const Descriptor& kernel, std::vector<TensorType> inputs, TensorType output,
              const Params& params, std::vector<TensorType> more_outputs) {
  check_arity(kernel, inputs.size());
  check_outputs(kernel, 1 + more_outputs.size());
  check_names(kernel, params);
  Call call{std::move(inputs), std::move(output), {}, std::move(more_outputs)};
  for (const ParamSpec& spec : kernel.params) {
    const auto given = params.find(spec.name);
    if (given != params.end()) {
      call.params[spec.name] = checked_param(kernel, spec, call, given->second, false);
    } else if (spec.fallback) {
      call.params[spec.name] = checked_param(kernel, spec, call, *spec.fallback, true);
    } else if (spec.required) {
      throw Error(Reason::invalid_param, text(kernel.name, " needs the parameter ", spec.name));
    }
  }
  check_dtypes(kernel, call.inputs);
  if (kernel.check) kernel.check(call);
  return call;
}

}  // namespace dala
