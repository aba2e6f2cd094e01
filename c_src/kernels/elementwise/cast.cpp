#include "kernels/elementwise/cast.hpp"

#include <algorithm>
#include <optional>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/elementwise/pointwise.hpp"

namespace dala {
namespace {

// The first value above the type's range.
std::string limit_of(DType dtype) {
  const int bits = static_cast<int>(8 * size_of(dtype));
  return text("0x1p", is_signed(dtype) ? bits - 1 : bits, "f");
}

std::string function_of(DType from, DType to) {
  return text("cast_", to_string(from), "_to_", to_string(to));
}
std::string entry_of(DType from) { return text("run_cast_from_", to_string(from)); }

// The function that converts a number to a sticky float, which is then rounded once more; none if a
// float represents the type exactly, or inexact values are beyond the range of the result.
std::optional<std::string> sticky_float(DType from, DType to) {
  if (is_narrow_float(to) && from == DType::f64) return "sticky_float_of_double";
  if (to != DType::bf16 || !is_integer(from) || size_of(from) < 4) return std::nullopt;
  return is_signed(from) ? "sticky_float_of_long" : "sticky_float_of_ulong";
}

// Under the names of the argument: T0, T0_STORED and so on.
Defines argument_defines(DType from) {
  Defines defines;
  for (const auto& [name, text_of] : element_defines(from)) {
    if (name == "T" || name == "T_STORED" || name == "T_FLOAT") {
      defines.emplace_back(name == "T" ? "T0" : "T0" + name.substr(1), text_of);
    } else if (name == "FROM_STORED(x)") {
      defines.emplace_back("FROM_STORED0(x)", text_of);
    }
  }
  return defines;
}

Part cast_source(DType from, DType to) {
  // A pair stays a pair.
  if (from == DType::c64 && to == DType::c64) {
    return {"elementwise/formulas/complex_identity.cl", {{"BODY", function_of(from, to)}}};
  }
  Part part{"elementwise/formulas/cast.cl", element_defines(to)};
  const Defines argument = argument_defines(from);
  part.defines.insert(part.defines.end(), argument.begin(), argument.end());
  part.defines.insert(part.defines.end(),
                      {{"BODY", function_of(from, to)}, {"T_LIMIT", limit_of(to)}});
  if (const auto function = sticky_float(from, to)) {
    part.defines.emplace_back("TO_FLOAT(x)", *function + "(x)");
  }
  return part;
}

// Casts between common types are one program; the other types are in another, which few callers
// need.
bool is_common(DType dtype) {
  return std::find(kEveryDType.begin(), kEveryDType.end(), dtype) != kEveryDType.end();
}

// All casts to one type, from types that are as common as `like`.
ProgramSource source_to(const Planner& planner, DType to, DType like) {
  ProgramSource source;
  for (DType from : kAllDTypes) {
    if (from == DType::f64 && !planner.fp64()) continue;
    if (is_common(from) != is_common(like)) continue;
    source.parts.push_back(cast_source(from, to));
    source.parts.push_back(
        pointwise_part(planner, entry_of(from), function_of(from, to), {from}, to, 0));
  }
  return source;
}

}  // namespace

Launch cast_launch(const Call& call, Planner& planner) {
  planner.need_arithmetic("cast", call);
  const DType from = call.inputs[0].dtype;
  const DType to = call.output.dtype;
  const std::string key = text("cast to ", to_string(to), is_common(from) ? "" : " from others");
  const Entry entry{planner.program(key, [&] { return source_to(planner, to, from); }),
                    entry_of(from)};
  return pointwise_launch(planner, entry, call,
                          broadcast_layout("cast", call.inputs, call.output.shape), {});
}

Descriptor cast_kernel() {
  Descriptor cast;
  cast.name = "cast";
  cast.summary =
      "Converts to the output's element type: floats to integers truncate and saturate (NaN "
      "becomes 0), integers to integers wrap, integers to floats round to nearest; a complex "
      "number "
      "gives its real part.";
  cast.dtypes = kMovedDTypes;
  cast.output_rule = "any element type, a shape that the input broadcasts to";
  cast.check = [](const Call& call) { need_broadcast("cast", call); };
  cast.plan = cast_launch;
  cast.body = [](const Call& call, const Planner&) {
    const DType from = call.inputs[0].dtype;
    const DType to = call.output.dtype;
    return pointwise_body(call, function_of(from, to), {cast_source(from, to)}, {});
  };
  return cast;
}

}  // namespace dala
