#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/reduce/axis.hpp"
#include "kernels/reduce/reduce.hpp"

namespace dala {
namespace {

Launch plan_softmax(const Call& call, Planner& planner) {
  planner.need_arithmetic("softmax", call);
  Launch launch;
  launch.in_place = true;
  if (call.output.count() == 0) return launch;
  const DType dtype = call.output.dtype;
  const auto program = planner.program(text("softmax ", to_string(dtype)), [&] {
    return ProgramSource{
        axis_defines(dtype, planner.fp64()),
        {{planner.cpu_class() ? "reduce/softmax_cpu.cl" : "reduce/softmax_gpu.cl"}}};
  });
  AxisView view = view_of(call);
  if (planner.cpu_class()) {
    const Range range = piece_range(planner, view);
    launch.steps.push_back(
        KernelStep{program, "softmax", {input(0), output(), value(view)}, range});
  } else {
    const size_t sum_bytes = planner.fp64() ? sizeof(double) : sizeof(float);
    const size_t items = items_for(planner, view, size_of(dtype) + sum_bytes);
    const Range range = line_range(planner, view, items);
    launch.steps.push_back(
        KernelStep{program,
                   "softmax",
                   {input(0), output(), value(view), LocalMemory{items * size_of(dtype)},
                    LocalMemory{items * sum_bytes}},
                   range});
  }
  // An exponential costs about as much as moving ten elements.
  launch.work = 10 * static_cast<double>(call.output.bytes());
  return launch;
}

}  // namespace

Descriptor softmax_kernel() {
  Descriptor softmax;
  softmax.name = "softmax";
  softmax.summary = "exp(x) / sum of exp(x) along an axis, without overflow.";
  softmax.dtypes = kFloatDTypes;
  softmax.output_rule = "the input's element type and shape";
  softmax.params = {axis_param("the axis that sums to 1; the last one when absent", -1)};
  softmax.check = [](const Call& call) {
    need_output_dtype("softmax", call, {call.inputs[0].dtype});
    need_output_shape("softmax", call, {call.inputs[0].shape});
  };
  softmax.plan = plan_softmax;
  return softmax;
}

}  // namespace dala
