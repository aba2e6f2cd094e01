#include "kernels/nn/resize/resize.hpp"

#include <algorithm>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/image/resample/resample.hpp"
#include "kernels/nn/nn.hpp"
#include "kernels/nn/resize/resize_args.h"
#include "kernels/nn/window.hpp"

namespace dala {
namespace {

// The index of the dimension height; width is the next one.
size_t height_axis(const Call& call) {
  if (call.inputs[0].shape.size() < 4) return 0;
  return is_nhwc(call) ? 1 : 2;
}

void check_resize(const Call& call) {
  need_output_dtype("resize", call, {call.inputs[0].dtype});
  const Shape& from = call.inputs[0].shape;
  const Shape& to = call.output.shape;
  if (from.size() < 2 || from.size() > 4) {
    throw Error(Reason::shape_mismatch,
                text("input 0 of resize has shape ", to_string(from), ", expected ",
                     is_nhwc(call) ? "{n, h, w, c}" : "{n, c, h, w}", ", {h, w, c} or {h, w}"));
  }
  const size_t axis = height_axis(call);
  std::vector<std::string> expected;
  bool same = to.size() == from.size();
  for (size_t d = 0; d < from.size(); ++d) {
    const bool resized = d == axis || d == axis + 1;
    expected.push_back(resized ? (d == axis ? "h" : "w") : std::to_string(from[d]));
    same = same && (resized || to[d] == from[d]);
  }
  if (!same) {
    throw Error(Reason::shape_mismatch,
                text("the output of resize has shape ", to_string(to), ", expected {",
                     join(expected, ", "), "} of any height and width"));
  }
  if (call.choice("mode") == "area" && call.flag("align_corners")) {
    throw Error(Reason::invalid_param, "align_corners of resize must be false with mode area");
  }
  constexpr int64_t kLongest = int64_t{1} << 30;
  const int64_t channels = view_of_planes(call).channels;
  for (size_t d : {axis, axis + 1}) {
    const bool reads = call.output.count() > 0;
    if ((from[d] > 0 || !reads) &&
        std::max(from[d], to[d]) <= kLongest / std::max<int64_t>(1, channels)) {
      continue;
    }
    throw Error(Reason::shape_mismatch,
                text("input 0 of resize has shape ", to_string(from), " and the output ",
                     to_string(to), ", expected rows and columns of 1 to ", kLongest, " elements"));
  }
}

Resize view_of(const Call& call) {
  const ResizedPlanes planes = view_of_planes(call);
  const std::string mode = call.choice("mode");
  Resize view;
  view.planes = planes.planes;
  view.height = planes.height;
  view.width = planes.width;
  view.out_height = planes.out_height;
  view.out_width = planes.out_width;
  view.channels = planes.channels;
  view.taps = mode == "nearest" ? 1 : mode == "bilinear" ? 2 : 4;
  view.align_corners = call.flag("align_corners") ? 1 : 0;
  return view;
}

KernelStep cpu_step(Planner& planner, const Call& call, Resize view) {
  const DType dtype = call.output.dtype;
  const auto acc_bytes = static_cast<int64_t>(dtype == DType::f64 ? sizeof(double) : sizeof(float));
  const int64_t column_bytes = view.taps * (static_cast<int64_t>(sizeof(int32_t)) + 2 * acc_bytes);
  // Wide strips, as long as tables and lines stay in the private cache of a core.
  const auto room = std::min<int64_t>(
      32 * 1024, static_cast<int64_t>(planner.device().info().local_memory) - 1024);
  const int64_t elements = view.out_width * view.channels;
  view.strip_columns = std::clamp<int64_t>(room / column_bytes, 1, elements);
  const int64_t across = ceil_div(elements, view.strip_columns);
  // Strips high enough to outweigh the tables and the input rows that two strips share.
  const int64_t wanted = ceil_div(2 * planner.busy_groups(), across * view.planes);
  view.strip_rows = std::clamp<int64_t>(ceil_div(view.out_height, wanted),
                                        std::min<int64_t>(8, view.out_height), 64);
  Range range;
  range.dimensions = 3;
  range.global = {static_cast<size_t>(across),
                  static_cast<size_t>(ceil_div(view.out_height, view.strip_rows)),
                  static_cast<size_t>(view.planes)};
  const auto slots = static_cast<size_t>(view.taps * view.strip_columns);
  return {nn_program(planner, dtype),
          "resize",
          {input(0), output(), value(view), LocalMemory{slots * sizeof(int32_t)},
           LocalMemory{slots * static_cast<size_t>(acc_bytes)},
           LocalMemory{slots * static_cast<size_t>(acc_bytes)}},
          range};
}

KernelStep resize_step(Planner& planner, const Call& call, const Resize& view) {
  const size_t items = planner.group_items(256);
  const auto groups = ceil_div(call.output.count(), static_cast<int64_t>(items));
  Range range;
  range.local[0] = items;
  range.global[0] = static_cast<size_t>(groups) * items;
  return {
      nn_program(planner, call.output.dtype), "resize", {input(0), output(), value(view)}, range};
}

Launch plan_resize(const Call& call, Planner& planner) {
  planner.need_arithmetic("resize", call);
  Launch launch;
  if (call.output.count() == 0) return launch;
  if (auto faster = plan_resample(call, planner)) return *std::move(faster);
  const Resize view = view_of(call);
  launch.steps.push_back(planner.cpu_class() ? cpu_step(planner, call, view)
                                             : resize_step(planner, call, view));
  const double operations =
      2.0 * static_cast<double>(call.output.count()) * static_cast<double>(view.taps);
  launch.work = static_cast<double>(call.inputs[0].bytes() + call.output.bytes()) + operations / 8;
  return launch;
}

}  // namespace

ResizedPlanes view_of_planes(const Call& call) {
  const Shape& from = call.inputs[0].shape;
  const Shape& to = call.output.shape;
  const size_t axis = height_axis(call);
  ResizedPlanes view;
  for (size_t d = 0; d < axis; ++d) view.planes *= from[d];
  view.height = from[axis];
  view.width = from[axis + 1];
  view.out_height = to[axis];
  view.out_width = to[axis + 1];
  if (axis + 2 < from.size()) view.channels = from.back();
  return view;
}

Descriptor resize_kernel() {
  ParamSpec mode;
  mode.name = "mode";
  mode.kind = ParamSpec::Kind::choice;
  mode.fallback = std::string("bilinear");
  mode.choices = {"nearest", "bilinear", "bicubic", "area"};
  mode.summary =
      "the nearest element, the weighted mean of 2 x 2 or 4 x 4 elements, or the mean of the area "
      "that the result covers";
  ParamSpec align;
  align.name = "align_corners";
  align.kind = ParamSpec::Kind::flag;
  align.fallback = false;
  align.summary = "whether the centres of the corner elements coincide, not their outer edges";

  Descriptor resize;
  resize.name = "resize";
  resize.summary =
      "Resizes planes {n, c, h, w} or an image {h, w, c} or {h, w} to the output's height and "
      "width; u8 is rounded to nearest.";
  resize.dtypes = {DType::f32, DType::f64, DType::u8};
  resize.output_rule = "the input's element type, its shape with another height and width";
  resize.params = {mode, align, layout_param()};
  resize.check = check_resize;
  resize.plan = plan_resize;
  return resize;
}

}  // namespace dala
