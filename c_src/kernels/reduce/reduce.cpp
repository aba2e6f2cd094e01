#include "kernels/reduce/reduce.hpp"

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/narrow.hpp"
#include "kernels/reduce/axis.hpp"

namespace dala {
namespace {

// The parameters of a reduction: names in operations.cl.
struct Operation {
  std::string name;  // of its kernels
  std::string combine;
  std::string identity;
  bool adds = false;  // accumulates in SUM, not in T
  bool averages = false;
};

const Operation kSum{"sum", "combine_sum", "0", true, false};
const Operation kMean{"mean", "combine_sum", "0", true, true};
const Operation kProduct{"product", "combine_product", "1", true, false};
const Operation kMax{"max", "combine_max", "LOWEST", false, false};
const Operation kMin{"min", "combine_min", "HIGHEST", false, false};

std::vector<const Operation*> operations(DType in, DType out) {
  if (in == out) return {&kSum, &kMean, &kProduct, &kMax, &kMin};
  return {&kSum, &kMean, &kProduct};
}

// The kernels of one operation: elements to results, elements to partial results, partial results
// to results, and partial results of one axis to those of the next.
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
                              {"_merge", acc, cl_name(out), finish},
                              {"_fold", acc, acc, "KEEP"}};
  for (const Variant& variant : variants) {
    const Defines defines{{"ENTRY", operation.name + variant.suffix},
                          {"IN", variant.in},
                          {"OUT", variant.out},
                          {"ACC", acc},
                          {"IDENTITY", "((ACC)" + operation.identity + ")"},
                          {"COMBINE", operation.combine},
                          {"FINISH", variant.finish},
                          {"LANE", operation.adds ? "SUM_LANE" : acc}};
    parts.push_back(
        {planner.cpu_class() ? "reduce/reduce_cpu.cl" : "reduce/reduce_gpu.cl", defines});
  }
}

std::shared_ptr<Program> program_for(Planner& planner, DType in, DType out) {
  return planner.program(text("reduce ", to_string(in), " to ", to_string(out)), [&] {
    ProgramSource source{axis_defines(in, planner.fp64()), {}};
    for (const Operation* operation : operations(in, out)) {
      add_parts(source.parts, planner, *operation, in, out);
    }
    return source;
  });
}

KernelStep step(Planner& planner, const std::shared_ptr<Program>& program, const std::string& entry,
                Operand from, Operand to, AxisView view, size_t acc_bytes) {
  if (planner.cpu_class()) {
    const Range range = piece_range(planner, view);
    return {program, entry, {from, to, value(view)}, range};
  }
  const size_t items = items_for(planner, view, acc_bytes);
  const Range range = line_range(planner, view, items);
  return {program, entry, {from, to, value(view), LocalMemory{items * acc_bytes}}, range};
}

// Limits the elements per accumulator, so that sums of f32 stay accurate on a device without
// doubles.
int64_t longest_segment(const Planner& planner, const Operation& operation, DType in,
                        const AxisView& view) {
  if (!operation.adds || in != DType::f32 || planner.fp64()) return view.axis;
  return view.inner == 1 ? 64 * 1024 : 4 * 1024;
}

// The result of an operation on no elements.
Value result_of_nothing(const Operation& operation, DType dtype) {
  const Call call{{}, {}, {{"one", int64_t{operation.identity == "1" ? 1 : 0}}}};
  return call.element("one", dtype);
}

Launch plan_reduction(const std::string& name, const Operation& operation, const Call& call,
                      Planner& planner) {
  planner.need_arithmetic(name, call);
  Launch launch;
  if (call.output.count() == 0) return launch;
  if (call.inputs[0].count() == 0) {
    // Only sums and products reach this.
    launch.steps.push_back(
        FillStep{output(), result_of_nothing(operation, call.output.dtype), call.output.bytes()});
    return launch;
  }
  const DType in = call.inputs[0].dtype;
  const auto program = program_for(planner, in, call.output.dtype);
  const size_t acc_bytes = operation.adds ? sizeof(int64_t) : size_of(in);
  const std::vector<AxisView> views = views_of(call);
  Operand from = input(0);
  const auto add = [&](const AxisView& view, bool last) {
    const bool first = from.kind == Operand::Kind::input;
    const char* from_elements = last ? "_direct" : "_partial";
    const char* from_partials = last ? "_merge" : "_fold";
    const std::string entry = operation.name + (first ? from_elements : from_partials);
    Operand to = output();
    if (!last) {
      to = scratch(static_cast<int>(launch.scratch.size()));
      launch.scratch.push_back(static_cast<size_t>(results_of(view)) * acc_bytes);
    }
    launch.steps.push_back(step(planner, program, entry, from, to, view, acc_bytes));
    from = to;
  };
  for (size_t n = 0; n < views.size(); ++n) {
    const bool last = n + 1 == views.size();
    const AxisView view = cut(views[n], planner, longest_segment(planner, operation, in, views[n]));
    if (view.segments == 1) {
      add(view, last);
    } else {
      add(view, false);
      add(merged(view), last);
    }
  }
  launch.work = static_cast<double>(call.inputs[0].bytes() + call.output.bytes());
  return launch;
}

Descriptor reduction(const std::string& name, const std::string& summary,
                     const Operation& operation) {
  Descriptor descriptor;
  descriptor.name = name;
  descriptor.summary = summary;
  descriptor.dtypes = kPlainDTypes;
  descriptor.output_rule =
      std::string(
          "the input's shape without the axes, or with 1 in their place; the input's element "
          "type") +
      (operation.adds ? ", or s64, f32, f64, and u64 for unsigned ones, of integers" : "");
  descriptor.params = reduced_axes_params("reduce");
  descriptor.check = [name, operation](const Call& call) {
    need_one_of_axes(name, call);
    const DType in = call.inputs[0].dtype;
    std::vector<DType> allowed{in};
    if (operation.adds && !is_float(in)) {
      for (DType wider : {DType::s64, DType::f32, DType::f64}) {
        if (wider != in) allowed.push_back(wider);
      }
      if (!is_signed(in) && in != DType::u64) allowed.push_back(DType::u64);
    }
    need_output_dtype(name, call, allowed);
    need_output_shape(name, call, reduced_shapes(call));
    if (!operation.adds || operation.averages) need_elements_along_axis(name, call);
  };
  descriptor.plan = [name, operation](const Call& call, Planner& planner) {
    return plan_reduction(name, operation, call, planner);
  };
  return with_narrow_floats(descriptor);
}

}  // namespace

KernelStep partial_step(Planner& planner, const std::string& operation, DType dtype, Operand from,
                        Operand to, const AxisView& view) {
  const bool adds = operation == "sum" || operation == "product";
  return step(planner, program_for(planner, dtype, dtype), operation + "_partial", from, to, view,
              adds ? sizeof(int64_t) : size_of(dtype));
}

Descriptors reduce_kernels() {
  return {
      reduction("reduce_sum", "The sum along an axis; integers wrap, the sum of nothing is 0.",
                kSum),
      reduction("reduce_mean",
                "The mean along an axis; into an integer type it truncates toward zero.", kMean),
      reduction("reduce_product",
                "The product along an axis; integers wrap, the product of nothing is 1.", kProduct),
      reduction("reduce_max", "The largest element along an axis; NaN if there is one.", kMax),
      reduction("reduce_min", "The smallest element along an axis; NaN if there is one.", kMin),
      with_narrow_floats(argmax_kernel()),
      with_narrow_floats(argmin_kernel()),
      with_narrow_floats(softmax_kernel()),
      with_narrow_floats(layer_norm_kernel()),
  };
}

}  // namespace dala
