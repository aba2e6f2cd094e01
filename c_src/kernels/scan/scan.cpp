#include "kernels/scan/scan.hpp"

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/narrow.hpp"
#include "kernels/reduce/axis.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/scan/scan_args.h"

namespace dala {
namespace {

struct Operation {
  std::string name;  // as in reductions
  std::string identity;
  bool widens = false;  // accumulates in a wider type than the elements'
};

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all{
      {"sum", "0", true}, {"product", "1", true}, {"min", "HIGHEST"}, {"max", "LOWEST"}};
  return all;
}

std::shared_ptr<Program> program_for(Planner& planner, DType dtype) {
  return planner.program(text("scan ", to_string(dtype)), [&] {
    ProgramSource source{axis_defines(dtype, planner.fp64()), {}};
    for (const Operation& operation : operations()) {
      const std::string element = cl_name(dtype);
      const std::string wide = sum_type(dtype, planner.fp64());
      // Integers are accumulated as unsigned, so that they wrap.
      const std::string running = is_float(dtype) ? wide : "ulong";
      source.parts.push_back({planner.cpu_class() ? "scan/scan_cpu.cl" : "scan/scan_gpu.cl",
                              {{"ENTRY", "scan_" + operation.name},
                               {"ACC", operation.widens ? running : element},
                               {"PART", operation.widens ? wide : element},
                               {"IDENTITY", "((ACC)" + operation.identity + ")"},
                               {"COMBINE", "combine_" + operation.name},
                               {"ADDS", operation.name == "sum" ? "1" : "0"}}});
    }
    return source;
  });
}

KernelStep scan_step(Planner& planner, const Operation& operation, const Call& call, AxisView view,
                     Operand partials) {
  ScanWay way;
  way.reverse = call.flag("reverse") ? 1 : 0;
  way.exclusive = call.flag("exclusive") ? 1 : 0;
  const DType dtype = call.output.dtype;
  const auto program = program_for(planner, dtype);
  const std::string entry = "scan_" + operation.name;
  if (planner.cpu_class()) {
    const Range range = piece_range(planner, view);
    return {program, entry, {input(0), output(), partials, value(view), value(way)}, range};
  }
  constexpr int64_t kManyColumns = 32;
  if (view.inner >= kManyColumns || view.segment <= 8) {
    return {program,
            entry + "_columns",
            {input(0), output(), partials, value(view), value(way)},
            item_per_result(planner, results_of(view))};
  }
  const size_t bytes = operation.widens ? sizeof(int64_t) : size_of(dtype);
  const size_t items = planner.group_items(256, bytes);
  return {program,
          entry + "_rows",
          {input(0), output(), partials, value(view), value(way), LocalMemory{items * bytes}},
          group_per_result(results_of(view), items)};
}

Launch plan_scan(const std::string& name, const Operation& operation, const Call& call,
                 Planner& planner) {
  planner.need_arithmetic(name, call);
  Launch launch;
  if (call.output.count() == 0) return launch;
  const AxisView whole = view_of(call);
  const AxisView view = cut(whole, planner, whole.axis);
  const size_t bytes = operation.widens ? sizeof(int64_t) : size_of(call.output.dtype);
  launch.scratch = {static_cast<size_t>(results_of(view)) * bytes};
  if (view.segments > 1) {
    launch.steps.push_back(
        partial_step(planner, operation.name, call.output.dtype, input(0), scratch(0), view));
  }
  launch.steps.push_back(scan_step(planner, operation, call, view, scratch(0)));
  // All partial results are complete before any element is written, and each element is read before
  // it is written.
  launch.in_place = true;
  launch.work = static_cast<double>(2 * call.inputs[0].bytes() + call.output.bytes());
  return launch;
}

Descriptor cumulative(const Operation& operation, const std::string& summary) {
  const std::string name = "cumulative_" + operation.name;
  Descriptor scan;
  scan.name = name;
  scan.summary = summary;
  scan.dtypes = kPlainDTypes;
  scan.output_rule = "the input's element type and shape";
  scan.params = {axis_param("the axis to go along; the last when absent", -1),
                 flag_param("reverse", "whether it goes from the end to the beginning"),
                 flag_param("exclusive", "whether an element itself is left out of its result")};
  scan.check = [name](const Call& call) {
    need_output_dtype(name, call, {call.inputs[0].dtype});
    need_output_shape(name, call, {call.inputs[0].shape});
  };
  scan.plan = [name, operation](const Call& call, Planner& planner) {
    return plan_scan(name, operation, call, planner);
  };
  return with_narrow_floats(scan);
}

}  // namespace

Descriptors scan_kernels() {
  const auto& [sum, product, min, max] =
      std::tie(operations()[0], operations()[1], operations()[2], operations()[3]);
  return {
      cumulative(sum, "The sum of the elements up to each along an axis; integers wrap."),
      cumulative(product, "The product of the elements up to each along an axis; integers wrap."),
      cumulative(min, "The smallest element up to each along an axis; NaN from the first on."),
      cumulative(max, "The largest element up to each along an axis; NaN from the first on."),
  };
}

}  // namespace dala
