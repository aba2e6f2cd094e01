// conv2d in the NHWC layout, {n, h, w, c}, CPU family: the panels of weights, and how the work is
// divided.
#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/element.hpp"
#include "kernels/nn/activation/activation.hpp"
#include "kernels/nn/conv/convolution.hpp"
#include "kernels/nn/conv_nhwc/conv2d_nhwc_args.h"
#include "kernels/nn/nn.hpp"

namespace dala {
namespace {

int64_t count_of(const Panels& panels) { return panels.end - panels.first; }

// The input pixels of one row of windows.
int64_t line_pixels(const Window& window) {
  return (window.out_width - 1) * window.stride_x + window.size_x;
}

// The input of these rows stays in the private cache of a core, and is used up to three times.
constexpr int64_t kBlockRows = 4;

// Bytes of weights that stay in the private cache of a core beside the pixels.
constexpr int64_t kKeptWeights = 512 * 1024;

// Input channels from which on each element of a window is a separate pass.
constexpr int64_t kMinTapChannels = 64;

// Bytes of scratch memory for weights that are packed by the launch, part by part.
constexpr int64_t kMaxScratch = 8 * 1024 * 1024;

// Whether a vector holds several groups with equal channels in and out: see conv2d_groups_cpu.cl.
bool several_groups(const PanelShape& shape, const Convolution& conv) {
  const int64_t width = conv.out_channels;
  return conv.in_channels == width && (width == 2 || width == 4 || width == 8) &&
         width < shape.lanes && conv.groups * width >= shape.lanes;
}

// The offset of a panel in the memory of all panels, in elements.
int64_t panel_start(const PanelShape& shape, const Panels& panels, const Convolution& conv,
                    int64_t index) {
  const int64_t columns = index / panels.per_group * conv.group_columns +
                          index % panels.per_group * panels.vectors * shape.lanes;
  return columns * products_of(conv);
}

KernelStep pack_step(Planner& planner, const Call& call, const Convolution& conv,
                     const Panels& panels, Operand from, Operand to) {
  const auto program = nn_program(planner, call.output.dtype);
  Range range;
  if (is_depthwise(conv)) {
    range.global[0] = static_cast<size_t>(products_of(conv));
    return {program, "conv2d_pack_depthwise", {from, to, value(conv)}, range};
  }
  const PanelShape shape = panel_shape(planner, call.output.dtype);
  if (several_groups(shape, conv)) {
    range.global[0] = static_cast<size_t>(ceil_div(conv.groups * conv.out_channels, shape.lanes));
    return {program, "conv2d_pack_groups", {from, to, value(conv)}, range};
  }
  range.global[0] = static_cast<size_t>(count_of(panels));
  return {program, "conv2d_pack", {from, to, value(conv), value(panels)}, range};
}

// Divides pixels and panels such that the work-groups read as little as possible in total.
void set_strips(const Planner& planner, const PanelShape& shape, Panels& panels, int64_t pixels) {
  const int64_t rows = shape.rows[static_cast<size_t>(panels.vectors)];
  // Many groups, since the threads of a CPU driver wake up one after the other.
  const auto groups = static_cast<double>(4 * planner.busy_groups());
  const auto channels = static_cast<double>(count_of(panels) * panels.vectors * shape.lanes);
  const auto down =
      static_cast<int64_t>(std::lround(std::sqrt(groups * channels / static_cast<double>(pixels))));
  const int64_t panel_strips = std::clamp<int64_t>(down, 1, count_of(panels));
  panels.strip_panels = ceil_div(count_of(panels), panel_strips);
  const int64_t pixel_strips =
      ceil_div(4 * planner.busy_groups(), ceil_div(count_of(panels), panels.strip_panels));
  panels.strip_pixels = ceil_div(ceil_div(pixels, pixel_strips), rows) * rows;
}

// Whether windows overlap, so that copying lines copies each element once instead of several times.
bool overlaps(const Window& window) {
  return (window.size_y > window.stride_y || window.size_x > window.stride_x) &&
         span_y(window) == window.size_y && span_x(window) == window.size_x;
}

// The patch of the channels of a strip of panels; empty if local memory cannot hold the lines of
// one output row.
std::optional<Patch> patch_of(const Convolution& conv, const Panels& panels, int64_t lanes,
                              int64_t room, size_t bytes) {
  const Window& window = conv.window;
  if (!overlaps(window)) return std::nullopt;
  // An upper bound for any position of the strip.
  const int64_t groups_read =
      std::min(conv.groups, (panels.strip_panels + panels.per_group - 2) / panels.per_group + 1);
  Patch patch;
  patch.panels = panels;
  patch.line_channels = groups_read * conv.in_channels;
  const int64_t lines = room / (line_pixels(window) * patch.line_channels);
  if (lines < window.size_y) return std::nullopt;
  const int64_t most_rows = (lines - window.size_y) / window.stride_y + 1;
  const int64_t wanted = std::max<int64_t>(1, panels.strip_pixels / window.out_width);
  patch.strips = ceil_div(window.out_height, std::min({wanted, most_rows, window.out_height}));
  patch.strip_rows = ceil_div(window.out_height, patch.strips);
  // All pixels of the strip use the weights of a part before those of the next part, so a part
  // should fit into the private cache of a core.
  const int64_t panel_bytes =
      products_of(conv) * panels.vectors * lanes * static_cast<int64_t>(bytes);
  if (panel_bytes > kKeptWeights) patch.parts_y = window.size_y;
  if (panel_bytes / window.size_y > kKeptWeights && conv.groups == 1) patch.parts_x = window.size_x;
  return patch;
}

KernelStep patch_step(Planner& planner, const Call& call, const Convolution& conv, Operand weights,
                      const Patch& patch) {
  const DType dtype = call.output.dtype;
  const Window& window = conv.window;
  const Panels& panels = patch.panels;
  const int64_t lines = (patch.strip_rows - 1) * window.stride_y + window.size_y;
  const int64_t elements = lines * line_pixels(window) * patch.line_channels;
  LocalMemory memory;
  memory.bytes = static_cast<size_t>(elements + panel_shape(planner, dtype).lanes) * size_of(dtype);
  Range range;
  range.dimensions = 2;
  range.global = {static_cast<size_t>(conv.slices / conv.groups * patch.strips),
                  static_cast<size_t>(ceil_div(count_of(panels), panels.strip_panels)), 1};
  KernelStep step{nn_program(planner, dtype), "conv2d_patch",
                  arguments_of(call, conv, weights, value(patch)), range};
  step.arguments.emplace_back(memory);
  return step;
}

// Whether many windows extend past the sides of the plane.
bool mostly_padding(const Window& window) {
  return 2 * span_y(window) > window.height || 2 * span_x(window) > window.width;
}

KernelStep panel_step(Planner& planner, const Call& call, const Convolution& conv, Panels panels,
                      Operand weights) {
  const DType dtype = call.output.dtype;
  const PanelShape shape = panel_shape(planner, dtype);
  const int64_t pixels = conv.slices / conv.groups * pixels_of(conv);
  set_strips(planner, shape, panels, pixels);
  const int64_t rows = shape.rows[static_cast<size_t>(panels.vectors)];
  LocalMemory windows;
  if (conv.pointwise == 0) {
    const int64_t room = local_elements(planner, kLargePacked, size_of(dtype)) - shape.lanes;
    const auto patch = patch_of(conv, panels, shape.lanes, room, size_of(dtype));
    if (patch) return patch_step(planner, call, conv, weights, *patch);
    const int64_t most = std::clamp<int64_t>(room / rows, 1, 576);
    panels.block = ceil_div(products_of(conv), ceil_div(products_of(conv), most));
    if (conv.in_channels >= kMinTapChannels && mostly_padding(conv.window)) {
      // Products of one element of the window at a time, and strips of pixels that are close to
      // each other, so that products with padding are skipped for a whole strip.
      panels.block = ceil_div(conv.in_channels, ceil_div(conv.in_channels, most));
      const int64_t near = ceil_div(ceil_div(conv.window.out_width, 3), rows) * rows;
      panels.strip_pixels = std::min(panels.strip_pixels, near);
    }
    const int64_t fitting = std::max<int64_t>(1, room / panels.block / rows * rows);
    panels.strip_pixels = std::min(panels.strip_pixels, fitting);
    windows.bytes =
        static_cast<size_t>(panels.strip_pixels * panels.block + shape.lanes) * size_of(dtype);
  }
  Range range;
  range.dimensions = 2;
  range.global = {static_cast<size_t>(ceil_div(pixels, panels.strip_pixels)),
                  static_cast<size_t>(ceil_div(count_of(panels), panels.strip_panels)), 1};
  KernelStep step{nn_program(planner, dtype),
                  conv.pointwise != 0 ? "conv2d_pointwise" : "conv2d_windows",
                  arguments_of(call, conv, weights, value(panels)), range};
  if (conv.pointwise == 0) step.arguments.emplace_back(windows);
  return step;
}

// Divides the rows of planes, at least `least_rows` at a time, and the blocks of their channels
// into `wanted` work-groups over all planes.
KernelStep rows_step(Planner& planner, const Call& call, const Convolution& conv, Operand weights,
                     const std::string& entry, int64_t blocks, int64_t wanted, int64_t least_rows,
                     bool seven) {
  const int64_t there = conv.window.out_height;
  const int64_t batch = conv.slices / conv.groups;
  wanted = ceil_div(wanted, batch);
  Rows rows;
  rows.seven = seven ? 1 : 0;
  rows.block_rows = kBlockRows;
  rows.strip_rows = std::max(std::min(least_rows, there), ceil_div(there, wanted));
  const int64_t down = ceil_div(there, rows.strip_rows);
  rows.strip_blocks = ceil_div(blocks, std::min(blocks, ceil_div(wanted, down)));
  Range range;
  range.dimensions = 3;
  range.global = {static_cast<size_t>(down),
                  static_cast<size_t>(ceil_div(blocks, rows.strip_blocks)),
                  static_cast<size_t>(batch)};
  return {nn_program(planner, call.output.dtype), entry,
          arguments_of(call, conv, weights, value(rows)), range};
}

KernelStep depthwise_step(Planner& planner, const Call& call, const Convolution& conv,
                          Operand weights) {
  const Window& window = conv.window;
  // The number of columns by which windows may extend past the sides of the plane.
  const int64_t over = window.size_x / 2;
  const int64_t last = (window.out_width - 1) * window.stride_x + window.size_x - 1 - window.pad_x;
  const bool seven = (window.size_x == 3 || window.size_x == 5) && window.dilation_x == 1 &&
                     window.stride_x <= 2 && window.pad_x <= over && window.out_width >= 7 &&
                     last < window.width + over;
  const int64_t lanes = panel_shape(planner, call.output.dtype).lanes;
  // Smaller inputs and outputs are faster to process on one core than to move to another one.
  constexpr int64_t kShare = 256 * 1024;
  const auto moved = static_cast<int64_t>(call.inputs[0].bytes() + call.output.bytes());
  const int64_t fair = std::clamp<int64_t>(moved / kShare, 1, 2 * planner.busy_groups());
  return rows_step(planner, call, conv, weights, "conv2d_depthwise_nhwc",
                   std::max<int64_t>(1, conv.groups / lanes), fair, 7, seven);
}

KernelStep groups_step(Planner& planner, const Call& call, const Convolution& conv,
                       Operand weights) {
  const int64_t lanes = panel_shape(planner, call.output.dtype).lanes;
  return rows_step(planner, call, conv, weights, "conv2d_groups",
                   conv.groups * conv.out_channels / lanes, 4 * planner.busy_groups(), kBlockRows,
                   false);
}

// Depthwise, with windows of one pixel.
KernelStep scale_step(Planner& planner, const Call& call, const Convolution& conv,
                      Operand weights) {
  const int64_t pixels = conv.slices / conv.groups * pixels_of(conv);
  const int64_t strip = std::max<int64_t>(1, pixels / (2 * planner.busy_groups()));
  Range range;
  range.global[0] = static_cast<size_t>(ceil_div(pixels, strip));
  return {nn_program(planner, call.output.dtype), "conv2d_scale",
          arguments_of(call, conv, weights, value(strip)), range};
}

}  // namespace

// Panels of equal width as far as possible, since narrow panels are less efficient.
Panels panels_of(const PanelShape& shape, const Convolution& conv) {
  const int64_t vectors = ceil_div(conv.out_channels, shape.lanes);
  Panels panels;
  panels.vectors = ceil_div(vectors, ceil_div(vectors, shape.max_vectors));
  panels.per_group = ceil_div(vectors, panels.vectors);
  panels.end = panels.per_group * conv.groups;
  return panels;
}

std::vector<Argument> arguments_of(const Call& call, const Convolution& conv, Operand weights,
                                   Value strips) {
  const Activation activation = activation_of(call);
  return {input(0),
          weights,
          input(conv.has_bias != 0 ? 2 : 0),
          input(conv.has_residual != 0 ? 3 : 0),
          output(),
          value(conv),
          std::move(strips),
          number_of(call, activation.low),
          number_of(call, activation.high),
          number_of(call, activation.slope)};
}

void plan_pack(Launch& launch, Planner& planner, const Call& call, const Convolution& conv) {
  const Panels panels = panels_of(panel_shape(planner, call.output.dtype), conv);
  launch.steps.push_back(pack_step(planner, call, conv, panels, input(0), output()));
}

void plan_nhwc(Launch& launch, Planner& planner, const Call& call, const Convolution& conv) {
  const DType dtype = call.output.dtype;
  const PanelShape shape = panel_shape(planner, dtype);
  const Panels all = panels_of(shape, conv);
  const Operand weights = conv.packed != 0 ? input(1) : scratch(0);
  const bool groups = several_groups(shape, conv);
  if (is_depthwise(conv) || groups) {
    if (conv.packed == 0) {
      launch.scratch.push_back(static_cast<size_t>(products_of(conv) * conv.columns) *
                               size_of(dtype));
      launch.steps.push_back(pack_step(planner, call, conv, all, input(1), weights));
    }
    const auto step = groups ? groups_step : conv.pointwise != 0 ? scale_step : depthwise_step;
    launch.steps.push_back(step(planner, call, conv, weights));
    return;
  }
  if (conv.packed != 0) {
    launch.steps.push_back(panel_step(planner, call, conv, all, weights));
    return;
  }
  // Panels are packed and used part by part.
  const auto bytes = static_cast<int64_t>(size_of(dtype));
  const int64_t panel_bytes = all.vectors * shape.lanes * products_of(conv) * bytes;
  const int64_t together = std::clamp<int64_t>(kMaxScratch / panel_bytes, 1, count_of(all));
  int64_t most = 0;
  for (Panels part = all; part.first < all.end; part.first = part.end) {
    part.end = std::min(part.first + together, all.end);
    most = std::max(
        most, panel_start(shape, all, conv, part.end) - panel_start(shape, all, conv, part.first));
    launch.steps.push_back(pack_step(planner, call, conv, part, input(1), weights));
    launch.steps.push_back(panel_step(planner, call, conv, part, weights));
  }
  launch.scratch.push_back(static_cast<size_t>(most * bytes));
}

}  // namespace dala
