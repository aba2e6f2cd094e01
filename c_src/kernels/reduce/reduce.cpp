#include "kernels/reduce/reduce.hpp"

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/reduce/axis.hpp"

namespace dala {
namespace {

// What tells the reductions apart: names in operations.cl.
struct Operation {
  std::string name;  // of its kernels
  std::string combine;
  std::string identity;
  bool adds = false;  // accumulates in SUM, not in T
  bool averages = false;
};

const Operation kSum{"sum", "combine_sum", "0", true, false};
const Operation kMean{"mean", "combine_sum", "0", true, true};
const Operation kMax{"max", "combine_max", "LOWEST", false, false};
const Operation kMin{"min", "combine_min", "HIGHEST", false, false};

std::vector<const Operation*> operations(DType in, DType out) {
  if (in == out) return {&kSum, &kMean, &kMax, &kMin};
  return {&kSum, &kMean};
}

// The kernels of one operation: elements to results, elements to partial results of segments, and
// those to results.
void add_parts(std::vector<Part>& parts, const Planner& planner, const Operation& operation,
               DType in, DType out) {
  const std::string element = cl_name(in);
  const std::string acc = operation.adds ? sum_type(in, planner.fp64()) : element;
  const std::string finish = !operation.averages ? "KEEP"
                             : is_float(out)     ? "AVERAGE_AS_REAL"
                                                 : "AVERAGE_AS_INTEGER";
  struct Variant {
    std::string suffix;
    std::string in;
    std::string out;
    std::string finish;
  };
  const Variant variants[] = {{"_direct", element, cl_name(out), finish},
                              {"_partial", element, acc, "KEEP"},
                              {"_merge", acc, cl_name(out), finish}};
  for (const Variant& variant : variants) {
    const std::string entry = operation.name + variant.suffix;
    Defines defines{{"ENTRY", entry},
                    {"IN", variant.in},
                    {"OUT", variant.out},
                    {"ACC", acc},
                    {"IDENTITY", "((ACC)" + operation.identity + ")"},
                    {"COMBINE", operation.combine},
                    {"FINISH", variant.finish}};
    if (planner.cpu_class()) {
      Defines row = defines;
      row.emplace_back("NAME", "row_" + entry);
      row.emplace_back("MAP(x, center)", "(x)");
      row.emplace_back("LANE", operation.adds ? "SUM_LANE" : acc);
      row.emplace_back("SPACE", "__global");
      parts.push_back({"reduce/row_cpu.cl", row});
      defines.emplace_back("ROW", "row_" + entry);
    }
    parts.push_back(
        {planner.cpu_class() ? "reduce/reduce_cpu.cl" : "reduce/reduce_gpu.cl", defines});
  }
}

std::shared_ptr<Program> program_for(Planner& planner, DType in, DType out) {
  return planner.program(text("reduce ", to_string(in), " to ", to_string(out)), [&] {
    std::vector<Part> parts{{"reduce/axis.cl"}};
    parts.push_back({"reduce/operations.cl", {}, lines(axis_defines(in, planner.fp64()))});
    for (const Operation* operation : operations(in, out)) {
      add_parts(parts, planner, *operation, in, out);
    }
    return parts;
  });
}

KernelStep step(Planner& planner, const std::shared_ptr<Program>& program, const std::string& entry,
                Operand from, Operand to, AxisView view, size_t acc_bytes) {
  if (planner.cpu_class()) {
    const Range range = piece_range(planner, view);
    return {program, entry, {from, to, value(view)}, range};
  }
  // Neighbouring items read neighbouring columns when there are enough of them; otherwise they
  // share a row.
  constexpr int64_t kManyColumns = 32;
  if (view.inner >= kManyColumns || view.segment <= 8) {
    return {program,
            entry + "_columns",
            {from, to, value(view)},
            item_per_result(planner, view.results())};
  }
  const size_t items = planner.group_items(256, acc_bytes);
  return {program,
          entry + "_rows",
          {from, to, value(view), LocalMemory{items * acc_bytes}},
          group_per_result(view.results(), items)};
}

// Sums of f32 on a device that has nothing wider stay accurate because no accumulator takes in
// more elements than this.
int64_t longest_segment(const Planner& planner, const Operation& operation, DType in,
                        const AxisView& view) {
  if (!operation.adds || in != DType::f32 || planner.fp64()) return view.axis;
  return view.inner == 1 ? 64 * 1024 : 4 * 1024;
}

Launch plan_reduction(const std::string& name, const Operation& operation, const Call& call,
                      Planner& planner) {
  planner.need_arithmetic(name, call);
  Launch launch;
  if (call.output.count() == 0) return launch;
  const AxisView whole = view_of(call);
  if (whole.axis == 0) {
    // Only a sum gets here: the sum of nothing is 0.
    launch.steps.push_back(FillStep{output(), value(uint8_t{0}), call.output.bytes()});
    return launch;
  }
  const DType in = call.inputs[0].dtype;
  const auto program = program_for(planner, in, call.output.dtype);
  const size_t acc_bytes = operation.adds ? sizeof(int64_t) : size_of(in);
  const AxisView view = cut(whole, planner, longest_segment(planner, operation, in, whole));
  if (view.segments == 1) {
    launch.steps.push_back(
        step(planner, program, operation.name + "_direct", input(0), output(), view, acc_bytes));
  } else {
    launch.scratch.push_back(static_cast<size_t>(view.results()) * acc_bytes);
    launch.steps.push_back(
        step(planner, program, operation.name + "_partial", input(0), scratch(0), view, acc_bytes));
    launch.steps.push_back(step(planner, program, operation.name + "_merge", scratch(0), output(),
                                merged(view), acc_bytes));
  }
  launch.work = static_cast<double>(call.inputs[0].bytes() + call.output.bytes());
  return launch;
}

Descriptor reduction(const std::string& name, const std::string& summary,
                     const Operation& operation) {
  Descriptor descriptor;
  descriptor.name = name;
  descriptor.summary = summary;
  descriptor.dtypes = kEveryDType;
  descriptor.output_rule =
      std::string(
          "the input's shape without the axis, or with 1 in its place; the input's element "
          "type") +
      (operation.adds ? ", or s64, f32 or f64 for integers" : "");
  descriptor.params = {axis_param("the axis to reduce; the whole buffer when absent", {})};
  descriptor.check = [name, operation](const Call& call) {
    const DType in = call.inputs[0].dtype;
    std::vector<DType> allowed{in};
    if (operation.adds && !is_float(in)) {
      for (DType wider : {DType::s64, DType::f32, DType::f64}) {
        if (wider != in) allowed.push_back(wider);
      }
    }
    need_output_dtype(name, call, allowed);
    need_output_shape(name, call, reduced_shapes(call));
    if (!operation.adds || operation.averages) need_elements_along_axis(name, call);
  };
  descriptor.plan = [name, operation](const Call& call, Planner& planner) {
    return plan_reduction(name, operation, call, planner);
  };
  return descriptor;
}

}  // namespace

Descriptors reduce_kernels() {
  return {
      reduction("reduce_sum", "The sum along an axis; integers wrap, the sum of nothing is 0.",
                kSum),
      reduction("reduce_mean",
                "The mean along an axis; into an integer type it truncates toward zero.", kMean),
      reduction("reduce_max", "The largest element along an axis; NaN if there is one.", kMax),
      reduction("reduce_min", "The smallest element along an axis; NaN if there is one.", kMin),
      argmax_kernel(),
      softmax_kernel(),
      layer_norm_kernel(),
  };
}

}  // namespace dala
