#include <algorithm>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/reduce/axis.hpp"
#include "kernels/reduce/reduce.hpp"

namespace dala {
namespace {

void check_layer_norm(const Call& call) {
  need_same_inputs("layer_norm", call);
  const Shape& shape = call.inputs[0].shape;
  need_output_dtype("layer_norm", call, {call.inputs[0].dtype});
  need_output_shape("layer_norm", call, {shape});
  if (shape.empty()) {
    throw Error(Reason::shape_mismatch, "input 0 of layer_norm is a scalar, expected a last axis");
  }
  const Shape row{shape.back()};
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    if (call.inputs[i].shape == row) continue;
    throw Error(Reason::shape_mismatch,
                text("input ", i, " of layer_norm has shape ", to_string(call.inputs[i].shape),
                     ", expected ", to_string(row), " like the last axis of input 0"));
  }
}

std::string entry_for(size_t inputs) { return text("layer_norm_", inputs); }

ProgramSource layer_norm_source(const Planner& planner, DType dtype) {
  ProgramSource source{axis_defines(dtype, planner.fp64()), {}};
  for (size_t inputs = 1; inputs <= 3; ++inputs) {
    source.parts.push_back(
        {planner.cpu_class() ? "reduce/layer_norm_cpu.cl" : "reduce/layer_norm_gpu.cl",
         {{"ENTRY", entry_for(inputs)}, {"N_INPUTS", std::to_string(inputs)}}});
  }
  return source;
}

Launch plan_layer_norm(const Call& call, Planner& planner) {
  planner.need_arithmetic("layer_norm", call);
  Launch launch;
  launch.in_place = true;  // scale and bias have the output's shape only when there is one row
  if (call.output.count() == 0) return launch;
  const DType dtype = call.output.dtype;
  const auto program = planner.program(text("layer_norm ", to_string(dtype)),
                                       [&] { return layer_norm_source(planner, dtype); });
  const int64_t length = call.output.shape.back();
  const int64_t rows = call.output.count() / length;
  const double epsilon = call.number("epsilon");
  const Value sum_epsilon = planner.fp64() ? value(epsilon) : value(static_cast<float>(epsilon));

  KernelStep step{program, entry_for(call.inputs.size()), {}, {}};
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    step.arguments.push_back(input(static_cast<int>(i)));
  }
  step.arguments.push_back(output());
  AxisView view;
  view.outer = rows;
  view.axis = view.segment = length;
  if (planner.cpu_class()) {
    step.range = piece_range(planner, view);
    step.arguments.insert(step.arguments.end(),
                          {value(rows), value(length), value(view.units), sum_epsilon});
  } else {
    const size_t sum_bytes = planner.fp64() ? sizeof(double) : sizeof(float);
    const size_t items = items_for(planner, view, sum_bytes);
    step.range = line_range(planner, view, items);
    step.arguments.insert(step.arguments.end(),
                          {value(view), sum_epsilon, LocalMemory{items * sum_bytes}});
  }
  launch.steps.push_back(std::move(step));
  launch.work = 4 * static_cast<double>(call.output.bytes());
  return launch;
}

}  // namespace

Descriptor layer_norm_kernel() {
  ParamSpec epsilon;
  epsilon.name = "epsilon";
  epsilon.fallback = 1e-5;
  epsilon.min = 0;
  epsilon.summary = "added to the variance, so that rows of equal elements do not divide by 0";

  Descriptor layer_norm;
  layer_norm.name = "layer_norm";
  layer_norm.summary =
      "Shifts and scales the last axis to mean 0 and variance 1; then, when given, multiplies by "
      "input 1 and adds input 2.";
  layer_norm.optional_inputs = 2;
  layer_norm.dtypes = kFloatDTypes;
  layer_norm.output_rule = "the element type and shape of input 0";
  layer_norm.params = {epsilon};
  layer_norm.check = check_layer_norm;
  layer_norm.plan = plan_layer_norm;
  return layer_norm;
}

}  // namespace dala
