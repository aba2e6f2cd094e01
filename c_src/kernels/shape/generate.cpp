#include "kernels/shape/generate.hpp"

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/elementwise/pointwise.hpp"
#include "kernels/shape/generate_args.h"

namespace dala {
namespace {

Launch plan_generator(const std::string& kernel, const Call& call, Planner& planner,
                      GenerateView view) {
  planner.need_arithmetic(kernel, call);
  Launch launch;
  launch.in_place = true;
  if (call.output.count() == 0) return launch;
  const Spread spread = spread_out(planner, call.output.count());
  view.count = call.output.count();
  view.chunk = spread.chunk;
  const DType dtype = call.output.dtype;
  launch.steps.push_back(KernelStep{
      planner.program(text("generate ", to_string(dtype)),
                      [&] {
                        return ProgramSource{element_defines(dtype), {{"shape/generate.cl"}}};
                      }),
      kernel,
      {output(), value(view)},
      spread.range});
  launch.work = static_cast<double>(call.output.bytes());
  return launch;
}

// The axis of iota, counted from the end where it is negative.
size_t iota_axis(const Call& call) {
  const auto rank = static_cast<int64_t>(call.output.shape.size());
  const int64_t axis = call.integer("axis");
  if (axis < -rank || axis >= rank) {
    throw Error(Reason::invalid_param,
                text("axis of iota must be between ", -rank, " and ", rank - 1,
                     " for an output of shape ", to_string(call.output.shape), ", got ", axis));
  }
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

Descriptor iota_kernel() {
  ParamSpec axis;
  axis.name = "axis";
  axis.kind = ParamSpec::Kind::integer;
  axis.summary = "the axis along which it counts; through all elements when absent";
  Descriptor iota;
  iota.name = "iota";
  iota.summary = "Counts from 0: each element is its place along an axis; integers wrap.";
  iota.inputs = 0;
  iota.dtypes = kMovedDTypes;
  iota.output_rule = "any element type and shape";
  iota.params = {axis};
  iota.check = [](const Call& call) {
    if (call.has("axis")) iota_axis(call);
  };
  iota.plan = [](const Call& call, Planner& planner) {
    GenerateView view;
    view.extent = std::max<int64_t>(1, call.output.count());
    if (call.has("axis") && call.output.count() > 0) {
      const size_t along = iota_axis(call);
      view.extent = call.output.shape[along];
      view.inner = strides_of(call.output.shape)[along];
    }
    return plan_generator("iota", call, planner, view);
  };
  return iota;
}

Descriptor eye_kernel() {
  Descriptor eye;
  eye.name = "eye";
  eye.summary = "Matrices with ones on the diagonal and zeros elsewhere.";
  eye.inputs = 0;
  eye.dtypes = kMovedDTypes;
  eye.output_rule =
      "any element type, a shape of at least two dimensions, the last two being rows and columns";
  eye.check = [](const Call& call) {
    if (call.output.shape.size() >= 2) return;
    throw Error(Reason::shape_mismatch,
                text("the output of eye has shape ", to_string(call.output.shape),
                     ", expected at least two dimensions"));
  };
  eye.plan = [](const Call& call, Planner& planner) {
    GenerateView view;
    view.inner = call.output.shape.back();
    view.extent = call.output.shape[call.output.shape.size() - 2];
    return plan_generator("eye", call, planner, view);
  };
  return eye;
}

}  // namespace

Descriptors generate_kernels() { return {iota_kernel(), eye_kernel()}; }

}  // namespace dala
