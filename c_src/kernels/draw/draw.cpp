#include "kernels/draw/draw.hpp"

#include <algorithm>
#include <cstdlib>

#include "kernels/checks.hpp"
#include "kernels/draw/draw_args.h"
#include "kernels/element.hpp"

namespace dala {
namespace {

// Twice the product of two differences of such coordinates fits into an int64.
constexpr double kFarthest = 1e9;

std::shared_ptr<Program> draw_program(Planner& planner) {
  return planner.program("draw", [] { return ProgramSource{{}, {{"draw/draw.cl"}}}; });
}

void need_image(const std::string& kernel, const std::string& which, const TensorType& type,
                int64_t channels) {
  if (type.dtype != DType::u8) {
    throw Error(Reason::dtype_mismatch,
                text(which, " of ", kernel, " is ", to_string(type.dtype), ", expected u8"));
  }
  if (type.shape.size() == 3 && type.shape[2] == channels) return;
  throw Error(Reason::shape_mismatch,
              text(which, " of ", kernel, " has shape ", to_string(type.shape),
                   ", expected {height, width, ", channels, "}"));
}

ParamSpec integer_param(const char* name, double min, const char* summary) {
  ParamSpec spec;
  spec.name = name;
  spec.kind = ParamSpec::Kind::integer;
  spec.required = true;
  spec.min = min;
  spec.max = kFarthest;
  spec.summary = summary;
  return spec;
}

ParamSpec color_param(const char* name, const char* summary) {
  ParamSpec spec;
  spec.name = name;
  spec.kind = ParamSpec::Kind::integers;
  spec.min = 0;
  spec.max = 255;
  spec.counts = {3, 4};
  spec.summary = summary;
  return spec;
}

constexpr const char* kColorSummary = "{r, g, b} or {r, g, b, a}; one number is a grey";

using Color = std::array<cl_uchar, 4>;  // r, g, b, a

Color color_of(const Call& call, const std::string& name) {
  std::vector<int64_t> given = call.integers(name);
  if (given.size() == 1) given.assign(3, given[0]);
  if (given.size() == 3) given.push_back(255);
  Color color{};
  std::transform(given.begin(), given.end(), color.begin(),
                 [](int64_t channel) { return static_cast<cl_uchar>(channel); });
  return color;
}

// The number of pieces per work-item, and the range of work-items that covers all pieces.
struct Split {
  int64_t span = 1;
  size_t items = 1;
  size_t group = 1;
};

Split split(const Planner& planner, int64_t pieces) {
  if (planner.cpu_class()) {
    const int64_t span = std::max<int64_t>(64, ceil_div(pieces, planner.busy_groups()));
    return {span, static_cast<size_t>(ceil_div(pieces, span)), 1};
  }
  const size_t group = planner.group_items(64);
  return {1, (static_cast<size_t>(pieces) + group - 1) / group * group, group};
}

// The part of [start, start + length) within [0, extent).
struct Interval {
  int64_t start = 0;
  int64_t length = 0;
};

Interval clipped(int64_t start, int64_t length, int64_t extent) {
  const int64_t from = std::max<int64_t>(start, 0);
  return {from, std::min(start + length, extent) - from};
}

Launch plan_fill_rect(const Call& call, Planner& planner) {
  const int64_t height = call.output.shape[0];
  const int64_t width = call.output.shape[1];
  const Interval columns = clipped(call.integer("x"), call.integer("width"), width);
  const Interval rows = clipped(call.integer("y"), call.integer("height"), height);
  Launch launch;
  launch.overwrites_output = false;
  if (columns.length <= 0 || rows.length <= 0) return launch;
  const Color color = color_of(call, "color");
  const bool blend = call.flag("blend") && color[3] != 255;
  launch.overwrites_output = !blend && columns.length == width && rows.length == height;

  Rect rect{width,
            columns.start,
            rows.start,
            columns.length,
            rows.length,
            columns.length,
            ceil_div(rows.length, planner.busy_groups()),
            blend ? 1 : 0,
            color};
  Range range;
  range.dimensions = 2;
  if (!planner.cpu_class()) {
    const Split items = split(planner, columns.length);
    rect.span = rect.lines = 1;
    range.global[0] = items.items;
    range.local[0] = items.group;
  }
  range.global[1] = static_cast<size_t>(ceil_div(rows.length, rect.lines));
  launch.steps.push_back(
      KernelStep{draw_program(planner), "fill_rect", {output(), value(rect)}, range});
  launch.work = static_cast<double>(columns.length * rows.length) * (blend ? 8 : 4);
  return launch;
}

Launch plan_draw_line(const Call& call, Planner& planner) {
  const int64_t height = call.output.shape[0];
  const int64_t width = call.output.shape[1];
  const int64_t x = call.integer("x0");
  const int64_t y = call.integer("y0");
  const int64_t dx = call.integer("x1") - x;
  const int64_t dy = call.integer("y1") - y;
  const int64_t n = std::max<int64_t>({std::abs(dx), std::abs(dy), 1});

  // Steps before the line enters the image along its longer axis, and after it leaves, are skipped.
  const bool wide = std::abs(dx) >= std::abs(dy);
  const int64_t start = wide ? x : y;
  const int64_t distance = wide ? dx : dy;
  const int64_t extent = wide ? width : height;
  const int64_t reach = std::abs(distance);
  const int64_t ahead = distance < 0 ? extent - 1 - start : start;  // mirrored if it runs backwards
  const Interval steps = clipped(ahead, reach + 1, extent);
  Launch launch;
  launch.overwrites_output = false;
  if (steps.length <= 0 || width == 0 || height == 0) return launch;

  const Split items = split(planner, steps.length);
  Range range;
  range.global[0] = items.items;
  range.local[0] = items.group;
  Line line{width, height, x, y, dx, dy, n, steps.start - ahead, steps.length, items.span};
  line.color = color_of(call, "color");
  launch.steps.push_back(
      KernelStep{draw_program(planner), "draw_line", {output(), value(line)}, range});
  launch.work = static_cast<double>(steps.length) * 8;
  return launch;
}

// The square of the distances that round to at most `radius`: d < radius + 1/2.
int64_t reach_of(int64_t radius) { return radius < 0 ? -1 : radius * radius + radius; }

Launch plan_draw_circle(const Call& call, Planner& planner) {
  const int64_t height = call.output.shape[0];
  const int64_t width = call.output.shape[1];
  const int64_t radius = call.integer("radius");
  Circle circle;
  circle.width = width;
  circle.x = call.integer("x");
  circle.y = call.integer("y");
  circle.outer = reach_of(radius);
  if (call.has("thickness")) circle.inner = reach_of(radius - call.integer("thickness"));
  circle.color = color_of(call, "color");
  const Interval columns = clipped(circle.x - radius, 2 * radius + 1, width);
  const Interval rows = clipped(circle.y - radius, 2 * radius + 1, height);
  Launch launch;
  launch.overwrites_output = false;
  if (columns.length <= 0 || rows.length <= 0) return launch;
  circle.left = columns.start;
  circle.top = rows.start;
  circle.columns = circle.span = columns.length;
  circle.rows = rows.length;
  circle.lines = ceil_div(rows.length, planner.busy_groups());
  Range range;
  range.dimensions = 2;
  if (!planner.cpu_class()) {
    const Split items = split(planner, columns.length);
    circle.span = circle.lines = 1;
    range.global[0] = items.items;
    range.local[0] = items.group;
  }
  range.global[1] = static_cast<size_t>(ceil_div(rows.length, circle.lines));
  launch.steps.push_back(
      KernelStep{draw_program(planner), "draw_circle", {output(), value(circle)}, range});
  launch.work = static_cast<double>(columns.length * rows.length) * 8;
  return launch;
}

Launch plan_flatten(const Call& call, Planner& planner) {
  const int64_t count = call.output.shape[0] * call.output.shape[1];
  Launch launch;
  if (count == 0) return launch;
  const Split items = split(planner, count);
  Range range;
  range.global[0] = items.items;
  range.local[0] = items.group;
  const Flatten view{count, items.span, color_of(call, "background")};
  launch.steps.push_back(
      KernelStep{draw_program(planner), "flatten", {input(0), output(), value(view)}, range});
  launch.work = static_cast<double>(count) * 7;
  return launch;
}

Descriptor drawing(const char* name, const char* summary) {
  Descriptor descriptor;
  descriptor.name = name;
  descriptor.summary = summary;
  descriptor.inputs = 0;
  descriptor.dtypes = {DType::u8};
  descriptor.output_rule = "u8 of shape {height, width, 4}; pixels not drawn on keep their value";
  descriptor.check = [name](const Call& call) { need_image(name, "the output", call.output, 4); };
  return descriptor;
}

Descriptor fill_rect_kernel() {
  Descriptor fill =
      drawing("fill_rect", "Fills a rectangle of an RGBA image, clipped to the image.");
  fill.params = {integer_param("x", -kFarthest, "the leftmost column"),
                 integer_param("y", -kFarthest, "the topmost row"),
                 integer_param("width", 0, "number of columns"),
                 integer_param("height", 0, "number of rows"), color_param("color", kColorSummary)};
  fill.params.back().required = true;
  ParamSpec blend;
  blend.name = "blend";
  blend.kind = ParamSpec::Kind::flag;
  blend.fallback = true;
  blend.summary = "whether a translucent colour is blended over the image, or replaces its pixels";
  fill.params.push_back(blend);
  fill.plan = plan_fill_rect;
  return fill;
}

Descriptor draw_line_kernel() {
  Descriptor line = drawing(
      "draw_line", "Draws a line one pixel wide, both ends included, clipped to the image.");
  line.params = {integer_param("x0", -kFarthest, "the column of one end"),
                 integer_param("y0", -kFarthest, "the row of that end"),
                 integer_param("x1", -kFarthest, "the column of the other end"),
                 integer_param("y1", -kFarthest, "the row of that end"),
                 color_param("color", kColorSummary)};
  line.params.back().required = true;
  line.plan = plan_draw_line;
  return line;
}

Descriptor draw_circle_kernel() {
  Descriptor circle =
      drawing("draw_circle",
              "Draws the part of a disc, or of a ring of a thickness, that is in the "
              "image: the pixels nearer to the centre than radius + 1/2.");
  ParamSpec thickness = integer_param("thickness", 1, "of a ring, inwards; a disc when absent");
  thickness.required = false;
  circle.params = {integer_param("x", -kFarthest, "the column of the centre"),
                   integer_param("y", -kFarthest, "the row of the centre"),
                   integer_param("radius", 0, "in pixels; 0 is a single pixel"), thickness,
                   color_param("color", kColorSummary)};
  circle.params.back().required = true;
  circle.plan = plan_draw_circle;
  return circle;
}

Descriptor flatten_kernel() {
  Descriptor flatten;
  flatten.name = "flatten";
  flatten.summary =
      "Composites an RGBA image {height, width, 4} over an opaque background and drops its alpha.";
  flatten.dtypes = {DType::u8};
  flatten.output_rule = "u8 of shape {height, width, 3}";
  flatten.params = {color_param("background", "{r, g, b}; one number is a grey")};
  flatten.params[0].counts = {3};
  flatten.params[0].fallback = int64_t{0};
  flatten.check = [](const Call& call) {
    need_image("flatten", "input 0", call.inputs[0], 4);
    need_output_dtype("flatten", call, {DType::u8});
    need_output_shape("flatten", call, {{call.inputs[0].shape[0], call.inputs[0].shape[1], 3}});
  };
  flatten.plan = plan_flatten;
  flatten.sample = [](DType dtype) { return Call{{{dtype, {1, 1, 4}}}, {dtype, {1, 1, 3}}, {}}; };
  return flatten;
}

}  // namespace

Descriptors draw_kernels() {
  return {fill_rect_kernel(), draw_line_kernel(), draw_circle_kernel(), flatten_kernel()};
}

}  // namespace dala
