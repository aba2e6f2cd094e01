#include <algorithm>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/narrow.hpp"
#include "kernels/nn/nn.hpp"
#include "kernels/nn/window.hpp"

namespace dala {
namespace {

constexpr int64_t kPoolChannels = 64;  // POOL_CHANNELS in pool_nhwc_cpu.cl

Window pool_window(const std::string& name, const Call& call) {
  return window_of(name, call, pair_of(call, "size"));
}

void check_pool(const std::string& name, const Call& call) {
  need_output_dtype(name, call, {call.inputs[0].dtype});
  need_planes(name, call);
  // Larger padding would lead to windows without elements.
  const auto size = pair_of(call, "size");
  const auto pads = pads_of(call);
  for (size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] < size[i % 2]) continue;
    throw Error(Reason::invalid_param, text("pad of ", name, " must be smaller than size ",
                                            to_string(Shape{size[0], size[1]}), ", got ",
                                            to_string(call.params.at("pad"))));
  }
  const Window window = pool_window(name, call);
  const bool nhwc = is_nhwc(call);
  Planes planes = planes_of(call.inputs[0].shape, nhwc);
  planes.height = window.out_height;
  planes.width = window.out_width;
  need_output_shape(name, call, {shape_of(planes, nhwc)});
}

Launch plan_pool(const std::string& name, const Call& call, Planner& planner) {
  planner.need_arithmetic(name, call);
  Launch launch;
  if (call.output.count() == 0) return launch;
  const Window window = pool_window(name, call);
  const int32_t count_padding =
      call.has("count_include_pad") && call.flag("count_include_pad") ? 1 : 0;
  const bool nhwc = is_nhwc(call);
  const Planes planes = planes_of(call.output.shape, nhwc);
  // In the NCHW layout each channel is a plane.
  const int64_t channels = nhwc ? planes.channels : 1;
  KernelStep step{nn_program(planner, call.output.dtype), name, {}, {}};
  step.arguments = {input(0), output(), value(window)};
  if (planner.cpu_class() && nhwc) {
    const int64_t pixels = planes.batch * planes.height * planes.width;
    const int64_t pieces = pixels * ceil_div(channels, kPoolChannels);
    const int64_t units = std::max<int64_t>(1, pieces / (4 * planner.busy_groups()));
    step.entry = name + "_nhwc";
    step.range.global[0] = static_cast<size_t>(ceil_div(pieces, units));
    step.arguments.insert(step.arguments.end(),
                          {value(channels), value(pixels), value(units), value(count_padding)});
  } else if (planner.cpu_class()) {
    const int64_t rows = planes.batch * planes.channels * window.out_height;
    const int64_t units = std::max<int64_t>(1, rows / (4 * planner.busy_groups()));
    step.range.global[0] = static_cast<size_t>(ceil_div(rows, units));
    step.arguments.insert(step.arguments.end(), {value(rows), value(units), value(count_padding)});
  } else {
    const size_t items = planner.group_items(256);
    const int64_t count = call.output.count();
    step.range.local[0] = items;
    step.range.global[0] =
        static_cast<size_t>(ceil_div(count, static_cast<int64_t>(items))) * items;
    step.arguments.insert(step.arguments.end(),
                          {value(channels), value(count), value(count_padding)});
  }
  launch.steps.push_back(std::move(step));
  const double operations =
      static_cast<double>(call.output.count()) * static_cast<double>(window.size_y * window.size_x);
  launch.work = static_cast<double>(call.inputs[0].bytes() + call.output.bytes()) + operations / 8;
  return launch;
}

Descriptor pool_kernel(const std::string& name, const std::string& summary) {
  ParamSpec size = pair_param("size", "rows and columns of a window: one number, or {y, x}");
  size.required = true;

  Descriptor pool;
  pool.name = name;
  pool.summary = summary;
  pool.output_rule =
      "the input's element type and layout, {n, c, oh, ow} with oh = (h + padding - size) / stride "
      "+ 1, and ow likewise";
  pool.params = {size,
                 pair_param("stride",
                            "the distance between windows: one number, or {y, x}; the window size "
                            "when absent"),
                 pad_param(), layout_param()};
  pool.check = [name](const Call& call) { check_pool(name, call); };
  pool.plan = [name](const Call& call, Planner& planner) { return plan_pool(name, call, planner); };
  return pool;
}

}  // namespace

Descriptor max_pool2d_kernel() {
  Descriptor pool = pool_kernel(
      "max_pool2d", "The largest element of each window of x {n, c, h, w}; NaN if any is NaN.");
  pool.dtypes = kPlainDTypes;
  return with_narrow_floats(pool);
}

Descriptor avg_pool2d_kernel() {
  ParamSpec count;
  count.name = "count_include_pad";
  count.kind = ParamSpec::Kind::flag;
  count.fallback = false;
  count.summary = "whether padding is counted as zeros";

  Descriptor pool = pool_kernel("avg_pool2d", "The mean of each window of x {n, c, h, w}.");
  pool.dtypes = kFloatDTypes;
  pool.params.push_back(count);
  return with_narrow_floats(pool);
}

}  // namespace dala
