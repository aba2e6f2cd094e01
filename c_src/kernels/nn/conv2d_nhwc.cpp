// conv2d on pixels whose channels are next to each other, {n, h, w, c}, for devices that are CPUs:
// weights as panels, and how the work is cut.
#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/element.hpp"
#include "kernels/nn/activation.hpp"
#include "kernels/nn/convolution.hpp"
#include "kernels/nn/nn.hpp"

namespace dala {
namespace {

// The same layout as the struct of that name in panels_cpu.cl.
struct Panels {
  int64_t vectors = 0;
  int64_t per_group = 0;
  int64_t first = 0;
  int64_t end = 0;
  int64_t strip_panels = 0;
  int64_t strip_pixels = 0;
  int64_t block = 0;

  int64_t count() const { return end - first; }
};

// The same layout as the struct of that name in depthwise_nhwc_cpu.cl.
struct Rows {
  int64_t strip_rows = 0;
  int64_t strip_blocks = 0;
  int64_t block_rows = 0;
  int64_t seven = 0;
};

// The same layout as the struct of that name in conv2d_patch_cpu.cl.
struct Patch {
  Panels panels;
  int64_t strips = 0;
  int64_t strip_rows = 0;
  int64_t lined = 0;
  int64_t parts_y = 1;
  int64_t parts_x = 1;

  // What one row of windows sees.
  static int64_t line_pixels(const Window& window) {
    return (window.out_width - 1) * window.stride_x + window.size_x;
  }
};

// What these rows see stays in the cache next to the core, and is used up to three times.
constexpr int64_t kBlockRows = 4;

// What a core keeps of weights beside the pixels that it works on.
constexpr int64_t kKeptWeights = 512 * 1024;

// Channels whose products are worth a pass of their own.
constexpr int64_t kWorthATap = 64;

// Weights that are not packed are packed so much at a time.
constexpr int64_t kMostScratch = 8 * 1024 * 1024;

// Panels of equal width as far as possible: a narrow one is less efficient.
Panels panels_of(const PanelShape& shape, const Convolution& conv) {
  const int64_t vectors = ceil_div(conv.out_channels, shape.lanes);
  Panels panels;
  panels.vectors = ceil_div(vectors, ceil_div(vectors, shape.most_vectors));
  panels.per_group = ceil_div(vectors, panels.vectors);
  panels.end = panels.per_group * conv.groups;
  return panels;
}

// Whether a vector holds several groups, with as many channels in as out: see conv2d_groups_cpu.cl.
bool several_groups(const PanelShape& shape, const Convolution& conv) {
  const int64_t width = conv.out_channels;
  return conv.in_channels == width && (width == 2 || width == 4 || width == 8) &&
         width < shape.lanes && conv.groups * width >= shape.lanes;
}

// Elements before a panel, in the memory of all panels.
int64_t panel_start(const PanelShape& shape, const Panels& panels, const Convolution& conv,
                    int64_t index) {
  const int64_t columns = index / panels.per_group * conv.group_columns +
                          index % panels.per_group * panels.vectors * shape.lanes;
  return columns * conv.products();
}

KernelStep pack_step(Planner& planner, const Call& call, const Convolution& conv,
                     const Panels& panels, Operand from, Operand to) {
  const auto program = nn_program(planner, call.output.dtype);
  Range range;
  if (conv.depthwise()) {
    range.global[0] = static_cast<size_t>(conv.products());
    return {program, "conv2d_pack_depthwise", {from, to, value(conv)}, range};
  }
  const PanelShape shape = panel_shape(planner, call.output.dtype);
  if (several_groups(shape, conv)) {
    range.global[0] = static_cast<size_t>(ceil_div(conv.groups * conv.out_channels, shape.lanes));
    return {program, "conv2d_pack_groups", {from, to, value(conv)}, range};
  }
  range.global[0] = static_cast<size_t>(panels.count());
  return {program, "conv2d_pack", {from, to, value(conv), value(panels)}, range};
}

std::vector<Argument> arguments_of(const Call& call, const Convolution& conv, Operand weights,
                                   Value cut) {
  const Activation activation = activation_of(call);
  return {input(0),
          weights,
          input(conv.has_bias != 0 ? 2 : 0),
          input(conv.has_residual != 0 ? 3 : 0),
          output(),
          value(conv),
          std::move(cut),
          number_of(call, activation.low),
          number_of(call, activation.high),
          number_of(call, activation.slope)};
}

// Cuts pixels and panels so that what the work-groups read is the least in total.
void cut_evenly(const Planner& planner, const PanelShape& shape, Panels& panels, int64_t pixels) {
  const int64_t rows = shape.rows[static_cast<size_t>(panels.vectors)];
  // Many, since a CPU driver's threads wake up one after the other.
  const auto groups = static_cast<double>(4 * planner.busy_groups());
  const auto channels = static_cast<double>(panels.count() * panels.vectors * shape.lanes);
  const auto down =
      static_cast<int64_t>(std::lround(std::sqrt(groups * channels / static_cast<double>(pixels))));
  const int64_t panel_strips = std::clamp<int64_t>(down, 1, panels.count());
  panels.strip_panels = ceil_div(panels.count(), panel_strips);
  const int64_t pixel_strips =
      ceil_div(4 * planner.busy_groups(), ceil_div(panels.count(), panels.strip_panels));
  panels.strip_pixels = ceil_div(ceil_div(pixels, pixel_strips), rows) * rows;
}

// Whether what windows see is copied once instead of several times when it is copied as lines.
bool overlaps(const Window& window) {
  return (window.size_y > window.stride_y || window.size_x > window.stride_x) &&
         window.span_y() == window.size_y && window.span_x() == window.size_x;
}

// Of the channels of a strip of panels; nothing where not even one row of outputs has room.
std::optional<Patch> patch_of(const Convolution& conv, const Panels& panels, int64_t lanes,
                              int64_t room, size_t bytes) {
  const Window& window = conv.window;
  if (!overlaps(window)) return std::nullopt;
  // Wherever a strip begins.
  const int64_t groups_seen =
      std::min(conv.groups, (panels.strip_panels + panels.per_group - 2) / panels.per_group + 1);
  Patch patch;
  patch.panels = panels;
  patch.lined = groups_seen * conv.in_channels;
  const int64_t lines = room / (Patch::line_pixels(window) * patch.lined);
  if (lines < window.size_y) return std::nullopt;
  const int64_t most_rows = (lines - window.size_y) / window.stride_y + 1;
  const int64_t wanted = std::max<int64_t>(1, panels.strip_pixels / window.out_width);
  patch.strips = ceil_div(window.out_height, std::min({wanted, most_rows, window.out_height}));
  patch.strip_rows = ceil_div(window.out_height, patch.strips);
  // A part's weights are used for all pixels of the strip before the next, so they had better stay
  // in the cache next to the core.
  const int64_t panel_bytes =
      conv.products() * panels.vectors * lanes * static_cast<int64_t>(bytes);
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
  const int64_t elements = lines * Patch::line_pixels(window) * patch.lined;
  LocalMemory memory;
  memory.bytes = static_cast<size_t>(elements + panel_shape(planner, dtype).lanes) * size_of(dtype);
  Range range;
  range.dimensions = 2;
  range.global = {static_cast<size_t>(conv.slices / conv.groups * patch.strips),
                  static_cast<size_t>(ceil_div(panels.count(), panels.strip_panels)), 1};
  const std::string entry = "conv2d_patch";
  KernelStep step{nn_program(planner, dtype), entry,
                  arguments_of(call, conv, weights, value(patch)), range,
                  sequence_member(planner, entry)};
  step.arguments.emplace_back(memory);
  return step;
}

// Whether many windows reach over the sides of the plane.
bool mostly_padding(const Window& window) {
  return 2 * window.span_y() > window.height || 2 * window.span_x() > window.width;
}

KernelStep panel_step(Planner& planner, const Call& call, const Convolution& conv, Panels panels,
                      Operand weights) {
  const DType dtype = call.output.dtype;
  const PanelShape shape = panel_shape(planner, dtype);
  const int64_t pixels = conv.slices / conv.groups * conv.pixels();
  cut_evenly(planner, shape, panels, pixels);
  const int64_t rows = shape.rows[static_cast<size_t>(panels.vectors)];
  LocalMemory windows;
  if (conv.pointwise == 0) {
    const int64_t room = local_elements(planner, kLargePacked, size_of(dtype)) - shape.lanes;
    const auto patch = patch_of(conv, panels, shape.lanes, room, size_of(dtype));
    if (patch) return patch_step(planner, call, conv, weights, *patch);
    const int64_t most = std::clamp<int64_t>(room / rows, 1, 576);
    panels.block = ceil_div(conv.products(), ceil_div(conv.products(), most));
    if (conv.in_channels >= kWorthATap && mostly_padding(conv.window)) {
      // Products of one place of the window at a time, and pixels that are near each other, so that
      // what is padding for all of them is left out.
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
                  static_cast<size_t>(ceil_div(panels.count(), panels.strip_panels)), 1};
  KernelStep step{nn_program(planner, dtype),
                  conv.pointwise != 0 ? "conv2d_pointwise" : "conv2d_windows",
                  arguments_of(call, conv, weights, value(panels)), range};
  if (conv.pointwise == 0) step.arguments.emplace_back(windows);
  step.member = sequence_member(planner, step.entry);
  return step;
}

// Cuts the rows of planes, no fewer than so many at a time, and blocks of their channels into as
// many work-groups as are wanted of all planes.
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
          arguments_of(call, conv, weights, value(rows)), range, sequence_member(planner, entry)};
}

KernelStep depthwise_step(Planner& planner, const Call& call, const Convolution& conv,
                          Operand weights) {
  const Window& window = conv.window;
  // As many columns as windows may reach over the sides of the plane.
  const int64_t over = window.size_x / 2;
  const int64_t last = (window.out_width - 1) * window.stride_x + window.size_x - 1 - window.pad_x;
  const bool seven = (window.size_x == 3 || window.size_x == 5) && window.dilation_x == 1 &&
                     window.stride_x <= 2 && window.pad_x <= over && window.out_width >= 7 &&
                     last < window.width + over;
  const int64_t lanes = panel_shape(planner, call.output.dtype).lanes;
  // Less than so much is faster to move through one core's cache than to another core.
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
  const int64_t pixels = conv.slices / conv.groups * conv.pixels();
  const int64_t strip = std::max<int64_t>(1, pixels / (2 * planner.busy_groups()));
  Range range;
  range.global[0] = static_cast<size_t>(ceil_div(pixels, strip));
  const std::string entry = "conv2d_scale";
  return {nn_program(planner, call.output.dtype), entry,
          arguments_of(call, conv, weights, value(strip)), range, sequence_member(planner, entry)};
}

}  // namespace

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
  if (conv.depthwise() || groups) {
    if (conv.packed == 0) {
      launch.scratch.push_back(static_cast<size_t>(conv.products() * conv.columns) *
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
  // Some panels are packed, and used, then the next.
  const auto bytes = static_cast<int64_t>(size_of(dtype));
  const int64_t panel_bytes = all.vectors * shape.lanes * conv.products() * bytes;
  const int64_t together = std::clamp<int64_t>(kMostScratch / panel_bytes, 1, all.count());
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
