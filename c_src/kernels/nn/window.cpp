#include "kernels/nn/window.hpp"

#include "runtime/error.hpp"

namespace dala {
namespace {

// Keep every offset within a padded plane below 2^31.
constexpr double kMaxParam = 65536;
constexpr int64_t kMaxExtent = int64_t{1} << 30;

}  // namespace

ParamSpec pair_param(const std::string& name, const std::string& summary) {
  ParamSpec pair;
  pair.name = name;
  pair.kind = ParamSpec::Kind::integers;
  pair.min = 1;
  pair.max = kMaxParam;
  pair.counts = {2};
  pair.summary = summary;
  return pair;
}

ParamSpec groups_param() {
  ParamSpec groups;
  groups.name = "groups";
  groups.kind = ParamSpec::Kind::integer;
  groups.fallback = int64_t{1};
  groups.min = 1;
  groups.summary = "number of groups; channels of different groups are convolved separately";
  return groups;
}

ParamSpec pad_param() {
  ParamSpec pad = pair_param("pad",
                             "rows and columns added around the input: one number, {y, x} "
                             "or {top, left, bottom, right}");
  pad.min = 0;
  pad.counts = {2, 4};
  pad.fallback = int64_t{0};
  return pad;
}

std::array<int64_t, 2> pair_of(const Call& call, const std::string& name) {
  const std::vector<int64_t> given = call.integers(name);
  return {given.front(), given.back()};
}

std::array<int64_t, 4> pads_of(const Call& call) {
  const std::vector<int64_t> given = call.integers("pad");
  if (given.size() == 4) return {given[0], given[1], given[2], given[3]};
  return {given.front(), given.back(), given.front(), given.back()};
}

ParamSpec layout_param() {
  ParamSpec layout;
  layout.name = "layout";
  layout.kind = ParamSpec::Kind::choice;
  layout.fallback = std::string("nchw");
  layout.choices = {"nchw", "nhwc"};
  layout.summary = "{n, c, h, w}, or {n, h, w, c}, which is faster on CPUs";
  return layout;
}

bool is_nhwc(const Call& call) { return call.choice("layout") == "nhwc"; }

Planes planes_of(const Shape& shape, bool nhwc) {
  if (nhwc) return {shape[0], shape[3], shape[1], shape[2]};
  return {shape[0], shape[1], shape[2], shape[3]};
}

Shape shape_of(const Planes& planes, bool nhwc) {
  if (nhwc) return {planes.batch, planes.height, planes.width, planes.channels};
  return {planes.batch, planes.channels, planes.height, planes.width};
}

void need_planes(const std::string& kernel, const Call& call) {
  const Shape& shape = call.inputs[0].shape;
  if (shape.size() != 4) {
    throw Error(Reason::shape_mismatch,
                text("input 0 of ", kernel, " has shape ", to_string(shape), ", expected ",
                     is_nhwc(call) ? "{n, h, w, c}" : "{n, c, h, w}"));
  }
  for (size_t d = 1; d < shape.size(); ++d) {
    if (shape[d] > 0 && shape[d] <= kMaxExtent) continue;
    throw Error(Reason::shape_mismatch,
                text("input 0 of ", kernel, " has shape ", to_string(shape),
                     ", expected extents between 1 and ", kMaxExtent, " after the first"));
  }
}

Window window_over(const Call& call, const std::array<int64_t, 2>& size) {
  const Planes planes = planes_of(call.inputs[0].shape, is_nhwc(call));
  const std::array<int64_t, 4> pads = pads_of(call);
  const auto stride = call.has("stride") ? pair_of(call, "stride") : size;
  Window window;
  window.height = planes.height;
  window.width = planes.width;
  window.size_y = size[0];
  window.size_x = size[1];
  window.stride_y = stride[0];
  window.stride_x = stride[1];
  window.pad_y = pads[0];
  window.pad_x = pads[1];
  if (call.has("dilation")) {
    const auto dilation = pair_of(call, "dilation");
    window.dilation_y = dilation[0];
    window.dilation_x = dilation[1];
  }
  return window;
}

Window window_of(const std::string& kernel, const Call& call, const std::array<int64_t, 2>& size) {
  Window window = window_over(call, size);
  const std::array<int64_t, 4> pads = pads_of(call);
  const int64_t height = window.height + pads[0] + pads[2];
  const int64_t width = window.width + pads[1] + pads[3];
  if (span_y(window) > height || span_x(window) > width) {
    throw Error(Reason::shape_mismatch,
                text("a window of ", kernel, " spans ", span_y(window), " by ", span_x(window),
                     " elements, more than the padded input's ", height, " by ", width));
  }
  window.out_height = (height - span_y(window)) / window.stride_y + 1;
  window.out_width = (width - span_x(window)) / window.stride_x + 1;
  return window;
}

}  // namespace dala
