#include <algorithm>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/elementwise/pointwise.hpp"
#include "kernels/index/index.hpp"
#include "kernels/index/index_args.h"
#include "kernels/reduce/axis.hpp"

namespace dala {
namespace {

std::shared_ptr<Program> program_for(Planner& planner, const Call& call) {
  const std::string element = unsigned_name(size_of(call.output.dtype));
  const std::string index = cl_name(call.inputs[1].dtype);
  return planner.program(text("gather ", element, " by ", index), [&] {
    return ProgramSource{{{"T", element}, {"I", index}},
                         {{planner.cpu_class() ? "index/gather_cpu.cl" : "index/gather_gpu.cl"}}};
  });
}

Launch plan_gather(const std::string& entry, const Call& call, Planner& planner, GatherView view) {
  Launch launch;
  if (call.output.count() == 0) return launch;
  launch.work = 2.0 * static_cast<double>(call.output.bytes() + call.inputs[1].bytes());
  if (call.inputs[0].count() == 0) {
    launch.steps.push_back(FillStep{output(), value(uint8_t{0}), call.output.bytes()});
    return launch;
  }
  const Spread spread = spread_out(planner, call.output.count());
  view.count = call.output.count();
  view.chunk = spread.chunk;
  Range range = spread.range;
  constexpr int64_t kShortRow = 1024;
  if (planner.cpu_class() && view.inner <= kShortRow) {
    // Groups get whole rows.
    view.chunk = ceil_div(view.chunk, view.inner) * view.inner;
    range.global[0] = static_cast<size_t>(ceil_div(view.count, view.chunk));
  }
  launch.steps.push_back(KernelStep{
      program_for(planner, call), entry, {input(0), input(1), output(), value(view)}, range});
  return launch;
}

void need_indices(const std::string& kernel, const Call& call) {
  need_input_dtype(kernel, call, 1, kAllIntegerDTypes);
  need_output_dtype(kernel, call, {call.inputs[0].dtype});
}

// The common part of these descriptors.
Descriptor reader(const std::string& name, const std::string& summary) {
  Descriptor descriptor;
  descriptor.name = name;
  descriptor.summary = summary + " Negative indices count from the end; one outside gives 0.";
  descriptor.inputs = 2;
  descriptor.dtypes = kMovedDTypes;
  descriptor.sample = [](DType dtype) {
    return Call{{{dtype, {1}}, {DType::s32, {1}}}, {dtype, {1}}, {}};
  };
  return descriptor;
}

Shape taken_shape(const Call& call) {
  const Shape& in = call.inputs[0].shape;
  const Shape& indices = call.inputs[1].shape;
  if (in.empty()) throw Error(Reason::shape_mismatch, "input 0 of take is a scalar, expected axes");
  const auto axis = static_cast<std::ptrdiff_t>(call.integer("axis"));
  Shape shape(in.begin(), in.begin() + axis);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), in.begin() + axis + 1, in.end());
  return shape;
}

Descriptor take_kernel() {
  Descriptor take =
      reader("take", "The slices of input 0 along an axis that the integers of input 1 name.");
  take.output_rule = "input 0's element type, its shape with that of input 1 in place of the axis";
  take.params = {axis_param("the axis that the indices are for", 0)};
  take.check = [](const Call& call) {
    need_indices("take", call);
    need_output_shape("take", call, {taken_shape(call)});
  };
  take.plan = [](const Call& call, Planner& planner) {
    const AxisView along = view_of(call);
    GatherView view;
    view.picks = call.inputs[1].count();
    view.inner = along.inner;
    view.source = along.axis * along.inner;
    view.dims[0] = along.axis;
    view.strides[0] = along.inner;
    return plan_gather("gather", call, planner, view);
  };
  return take;
}

void check_take_along_axis(const Call& call) {
  need_indices("take_along_axis", call);
  need_output_shape("take_along_axis", call, {call.inputs[1].shape});
  const Shape& in = call.inputs[0].shape;
  const Shape& indices = call.inputs[1].shape;
  const auto axis = static_cast<size_t>(call.integer("axis"));
  bool fits = in.size() == indices.size() && !in.empty();
  for (size_t d = 0; fits && d < in.size(); ++d) fits = d == axis || in[d] == indices[d];
  if (fits) return;
  throw Error(Reason::shape_mismatch,
              text("input 1 of take_along_axis has shape ", to_string(indices), ", expected ",
                   to_string(in), " like input 0, but for axis ", axis));
}

Descriptor take_along_axis_kernel() {
  Descriptor take = reader("take_along_axis",
                           "Elements of input 0, each at the place along an axis that input 1 has "
                           "in its stead.");
  take.output_rule =
      "input 0's element type, the shape of input 1, which differs only along the axis";
  take.params = {axis_param("the axis that the indices are for; the last when absent", -1)};
  take.check = check_take_along_axis;
  take.plan = [](const Call& call, Planner& planner) {
    const AxisView along = view_of(call);
    GatherView view;
    view.picks = call.inputs[1].shape[static_cast<size_t>(call.integer("axis"))];
    view.inner = along.inner;
    view.source = along.axis * along.inner;
    view.dims[0] = along.axis;
    return plan_gather("take_along_axis", call, planner, view);
  };
  return take;
}

Descriptor gather_kernel() {
  Descriptor gather = reader("gather",
                             "The slices of input 0 at the tuples of integers that input 1 has "
                             "along its last axis, one for each of the first dimensions.");
  gather.output_rule =
      "input 0's element type; the shape of input 1 without its last axis, then the dimensions of "
      "input 0 that have no index";
  gather.check = [](const Call& call) {
    need_tuples("gather", call);
    need_output_dtype("gather", call, {call.inputs[0].dtype});
    const Shape& indices = call.inputs[1].shape;
    Shape shape(indices.begin(), indices.end() - 1);
    shape.insert(shape.end(), call.inputs[0].shape.begin() + indices.back(),
                 call.inputs[0].shape.end());
    need_output_shape("gather", call, {shape});
  };
  gather.sample = [](DType dtype) {
    return Call{{{dtype, {1}}, {DType::s32, {1, 1}}}, {dtype, {1}}, {}};
  };
  gather.plan = [](const Call& call, Planner& planner) {
    const Shape& in = call.inputs[0].shape;
    const Shape strides = strides_of(in);
    GatherView view;
    view.depth = call.inputs[1].shape.back();
    view.picks = call.inputs[1].count() / view.depth;
    view.inner = strides[static_cast<size_t>(view.depth) - 1];
    std::copy_n(in.begin(), view.depth, view.dims.begin());
    std::copy_n(strides.begin(), view.depth, view.strides.begin());
    return plan_gather("gather", call, planner, view);
  };
  return gather;
}

}  // namespace

void need_tuples(const std::string& kernel, const Call& call) {
  need_input_dtype(kernel, call, 1, kAllIntegerDTypes);
  const Shape& in = call.inputs[0].shape;
  const Shape& indices = call.inputs[1].shape;
  const auto most = std::min<int64_t>(static_cast<int64_t>(in.size()), INDEX_DEPTH);
  if (!indices.empty() && indices.back() >= 1 && indices.back() <= most) return;
  throw Error(Reason::shape_mismatch,
              text("input 1 of ", kernel, " has shape ", to_string(indices), ", expected 1 to ",
                   most, " along its last axis, for input 0 of shape ", to_string(in)));
}

Descriptors gather_kernels() { return {take_kernel(), take_along_axis_kernel(), gather_kernel()}; }

Descriptors index_kernels() {
  Descriptors all = gather_kernels();
  for (Descriptor& descriptor : scatter_kernels()) all.push_back(std::move(descriptor));
  return all;
}

}  // namespace dala
