#include <limits>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/reduce/axis.hpp"
#include "kernels/reduce/reduce.hpp"

namespace dala {
namespace {

constexpr int64_t kLongestSegment = int64_t{1} << 30;  // indices within a segment are 32 bit

int64_t highest_index(DType dtype) {
  switch (dtype) {
    case DType::s32:
      return std::numeric_limits<int32_t>::max();
    case DType::u32:
      return std::numeric_limits<uint32_t>::max();
    default:
      return std::numeric_limits<int64_t>::max();
  }
}

void check_search(const std::string& name, const Call& call) {
  need_output_dtype(name, call, kIndexDTypes);
  need_output_shape(name, call, reduced_shapes(call));
  need_elements_along_axis(name, call);
  const int64_t last = view_of(call).axis - 1;
  if (last > highest_index(call.output.dtype)) {
    throw Error(Reason::dtype_mismatch,
                text("the output of ", name, " is ", to_string(call.output.dtype),
                     ", which cannot hold the index ", last));
  }
}

KernelStep step(const Planner& planner, const std::shared_ptr<Program>& program,
                const std::string& entry, std::vector<Argument> arguments, AxisView view,
                DType dtype) {
  if (planner.cpu_class()) {
    const Range range = piece_range(planner, view);
    arguments.push_back(value(view));
    return {program, entry, std::move(arguments), range};
  }
  const size_t items = items_for(planner, view, size_of(dtype) + sizeof(int64_t));
  const Range range = line_range(planner, view, items);
  arguments.push_back(value(view));
  arguments.push_back(LocalMemory{items * size_of(dtype)});
  arguments.push_back(LocalMemory{items * sizeof(int64_t)});
  return {program, entry, std::move(arguments), range};
}

Launch plan_search(const std::string& name, const Call& call, Planner& planner) {
  planner.need_arithmetic(name, call);
  Launch launch;
  if (call.output.count() == 0) return launch;
  const DType in = call.inputs[0].dtype;
  const DType out = call.output.dtype;
  const auto program = planner.program(text(name, " ", to_string(in), " to ", to_string(out)), [&] {
    ProgramSource source{element_defines(in),
                         {{planner.cpu_class() ? "reduce/argmax_cpu.cl" : "reduce/argmax_gpu.cl"}}};
    source.defines.emplace_back("OUT", cl_name(out));
    source.defines.emplace_back("LARGEST", name == "argmax" ? "1" : "0");
    return source;
  });

  const AxisView view = cut(view_of(call), planner, kLongestSegment);
  launch.work = static_cast<double>(call.inputs[0].bytes() + call.output.bytes());
  if (view.segments == 1) {
    launch.steps.push_back(step(planner, program, "argmax_direct", {input(0), output()}, view, in));
    return launch;
  }
  const auto candidates = static_cast<size_t>(results_of(view));
  launch.scratch = {candidates * size_of(in), candidates * sizeof(int64_t)};
  launch.steps.push_back(
      step(planner, program, "argmax_partial", {input(0), scratch(0), scratch(1)}, view, in));
  launch.steps.push_back(KernelStep{program,
                                    "argmax_merge",
                                    {scratch(0), scratch(1), output(), value(view)},
                                    item_per_result(planner, view.outer * view.inner)});
  return launch;
}

Descriptor search(const std::string& name, const std::string& summary) {
  Descriptor descriptor;
  descriptor.name = name;
  descriptor.summary = summary;
  descriptor.dtypes = kPlainDTypes;
  descriptor.output_rule =
      "s32, s64 or u32, the input's shape without the axis, or with 1 in its place";
  descriptor.params = {axis_param("the axis to search; the whole buffer when absent", {})};
  descriptor.check = [name](const Call& call) { check_search(name, call); };
  descriptor.plan = [name](const Call& call, Planner& planner) {
    return plan_search(name, call, planner);
  };
  return descriptor;
}

}  // namespace

Descriptor argmax_kernel() {
  return search("argmax",
                "The index of the first largest element along an axis; NaN counts as largest.");
}

Descriptor argmin_kernel() {
  return search("argmin",
                "The index of the first smallest element along an axis; NaN counts as smallest.");
}

}  // namespace dala
