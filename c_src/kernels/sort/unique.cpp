// unique: sorted elements, marked where they change, and moved to the place that the sum of the
// marks gives.
#include <algorithm>

#include "kernels/checks.hpp"
#include "kernels/compose.hpp"
#include "kernels/element.hpp"
#include "kernels/reduce/axis.hpp"
#include "kernels/scan/scan.hpp"
#include "kernels/sort/radix.hpp"
#include "kernels/sort/sort.hpp"
#include "kernels/sort/unique_args.h"

namespace dala {
namespace {

constexpr int64_t kUniqueChunk = 16 * 1024;  // positions that amortise the start of a group

bool counts_only(const Call& call) { return call.choice("result") == "count"; }

void check_unique(const Call& call) {
  const int64_t count = call.inputs[0].count();
  if (count > kLongestSortedRow) {
    throw Error(Reason::unsupported,
                text("unique sorts at most ", kLongestSortedRow, " elements, got ", count));
  }
  if (counts_only(call)) {
    need_output_dtype("unique", call, kIndexDTypes);
    need_output_shape("unique", call, {{}, {1}});
    return;
  }
  need_output_dtype("unique", call, {call.inputs[0].dtype});
  if (call.output.shape.size() == 1) return;
  throw Error(Reason::shape_mismatch,
              text("the output of unique has shape ", to_string(call.output.shape),
                   ", expected one dimension: the number of elements to keep"));
}

Range unique_range(const Planner& planner, int64_t positions, UniqueView& view) {
  if (!planner.cpu_class()) return item_per_result(planner, positions);
  view.chunk = std::max(kUniqueChunk, ceil_div(positions, planner.busy_groups()));
  Range range;
  range.global[0] = static_cast<size_t>(ceil_div(positions, view.chunk));
  return range;
}

Launch plan_unique(const Descriptor& sort, const Descriptor& sum, const Call& call,
                   Planner& planner) {
  planner.need_arithmetic("unique", call);
  Launch launch;
  if (call.output.count() == 0) return launch;
  const DType dtype = call.inputs[0].dtype;
  const DType counted = counts_only(call) ? call.output.dtype : DType::u32;
  UniqueView view;
  view.count = call.inputs[0].count();
  view.kept = call.output.count();
  if (view.count == 0) {
    const Value fill = counts_only(call) ? element_value(call.output.dtype, int64_t{0})
                                         : call.element("fill", dtype);
    launch.steps.push_back(FillStep{output(), fill, call.output.bytes()});
    return launch;
  }
  const TensorType row{dtype, {view.count}};
  const TensorType places{DType::u32, {view.count}};
  const Operand sorted = add_scratch(launch, row);
  const Operand marks = add_scratch(launch, places);
  append_call(launch, planner, sort, {row}, row, {}, {input(0)}, sorted);

  const auto program =
      planner.program(text("unique ", to_string(dtype), " ", to_string(counted)), [&] {
        Defines defines = element_defines(dtype);
        defines.emplace_back("COUNT", cl_name(counted));
        return ProgramSource{defines, {{"sort/unique.cl"}}};
      });
  Range range = unique_range(planner, view.count, view);
  launch.steps.push_back(KernelStep{program, "unique_mark", {sorted, marks, value(view)}, range});
  append_call(launch, planner, sum, {places}, places, {}, {marks}, marks);
  if (counts_only(call)) {
    range = item_per_result(planner, 1);
    launch.steps.push_back(
        KernelStep{program, "unique_count", {marks, output(), value(view)}, range});
  } else {
    range = unique_range(planner, std::max(view.count, view.kept), view);
    launch.steps.push_back(
        KernelStep{program,
                   "unique_pick",
                   {sorted, marks, output(), call.element("fill", dtype), value(view)},
                   range});
  }
  launch.work += static_cast<double>(2 * row.bytes() + 2 * places.bytes() + call.output.bytes());
  return launch;
}

}  // namespace

Descriptor unique_kernel(const Descriptor& sort) {
  ParamSpec fill;
  fill.name = "fill";
  fill.kind = ParamSpec::Kind::element;
  fill.fallback = int64_t{0};
  fill.summary = "the value of the elements after the last distinct one";
  Descriptor sum = scan_kernels().front();
  Descriptor unique;
  unique.name = "unique";
  unique.summary =
      "The distinct elements in ascending order, or their number; NaN counts once and is last.";
  unique.dtypes = kRealDTypes;
  unique.output_rule =
      "the input's element type, {k}: the first k distinct elements, then the fill value; or s32, "
      "s64 or u32, {} or {1}, for their number";
  unique.params = {fill, choice_param("result", {"values", "count"},
                                      "the distinct elements, or how many there are")};
  unique.check = check_unique;
  unique.plan = [sort, sum](const Call& call, Planner& planner) {
    return plan_unique(sort, sum, call, planner);
  };
  unique.sample = [](DType dtype) { return Call{{{dtype, {1}}}, {dtype, {1}}, {}}; };
  return unique;
}

}  // namespace dala
