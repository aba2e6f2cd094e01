#include "kernels/elementwise/cast.hpp"

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/elementwise/pointwise.hpp"

namespace dala {
namespace {

// The first value above the type's range.
std::string limit_of(DType dtype) {
  const int bits = static_cast<int>(8 * size_of(dtype));
  const bool negatives = dtype == DType::s32 || dtype == DType::s64;
  return text("0x1p", negatives ? bits - 1 : bits, "f");
}

std::string function_of(DType from, DType to) {
  return text("cast_", to_string(from), "_to_", to_string(to));
}
std::string entry_of(DType from) { return text("run_cast_from_", to_string(from)); }

Part cast_source(DType from, DType to) {
  Part part{"elementwise/cast.cl", element_defines(to)};
  part.defines.insert(part.defines.end(), {{"BODY", function_of(from, to)},
                                           {"T0", cl_name(from)},
                                           {"T0_FLOAT", is_float(from) ? "1" : "0"},
                                           {"T_LIMIT", limit_of(to)}});
  return part;
}

// All casts to one type.
ProgramSource source_to(const Planner& planner, DType to) {
  ProgramSource source;
  for (DType from : kAllDTypes) {
    if (from == DType::f64 && !planner.fp64()) continue;
    source.parts.push_back(cast_source(from, to));
    source.parts.push_back(
        pointwise_part(planner, entry_of(from), function_of(from, to), {from}, to, 0));
  }
  return source;
}

}  // namespace

Descriptor cast_kernel() {
  Descriptor cast;
  cast.name = "cast";
  cast.summary =
      "Converts to the output's element type: floats to integers truncate and saturate (NaN "
      "becomes 0), integers to integers wrap, integers to floats round to nearest.";
  cast.dtypes = kEveryDType;
  cast.output_rule = "any element type, a shape that the input broadcasts to";
  cast.check = [](const Call& call) { need_broadcast("cast", call); };
  cast.plan = [](const Call& call, Planner& planner) {
    planner.need_arithmetic("cast", call);
    const DType to = call.output.dtype;
    const Entry entry{
        planner.program(text("cast to ", to_string(to)), [&] { return source_to(planner, to); }),
        entry_of(call.inputs[0].dtype)};
    return pointwise_launch(planner, entry, call,
                            broadcast_layout("cast", call.inputs, call.output.shape), {});
  };
  cast.body = [](const Call& call, const Planner&) {
    const DType from = call.inputs[0].dtype;
    const DType to = call.output.dtype;
    return pointwise_body(call, function_of(from, to), {cast_source(from, to)}, {});
  };
  return cast;
}

}  // namespace dala
