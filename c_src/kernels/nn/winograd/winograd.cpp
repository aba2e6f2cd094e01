#include "kernels/nn/winograd/winograd.hpp"

#include <algorithm>

#include "kernels/element.hpp"
#include "kernels/nn/winograd/winograd_args.h"

namespace dala {
namespace {

constexpr int64_t kTile = 4;  // outputs of a tile, in each direction
constexpr int64_t kPositions = kWinogradSide * kWinogradSide;

// Bytes of transformed inputs and products that stay in the private cache of a core.
constexpr int64_t kBlockBytes = 640 * 1024;

void need_cpu(const Planner& planner, const char* kernel) {
  if (planner.cpu_class()) return;
  throw Error(Reason::unsupported, text("winograd of ", kernel, " needs a device of class cpu; ",
                                        planner.device().info().name, " is used as a GPU"));
}

// Divides tiles and panels into work-groups: as many as keep the threads busy, and each with all
// panels where there are enough tiles, because every strip of panels transforms the inputs again.
void divide(const Planner& planner, const PanelShape& shape, const Convolution& conv,
            size_t element_bytes, Winograd& winograd) {
  Panels& panels = winograd.panels;
  const int64_t tiles = conv.slices * winograd.tiles_y * winograd.tiles_x;
  const int64_t rows = shape.rows[static_cast<size_t>(panels.vectors)];
  const int64_t per_tile = kPositions * (conv.in_channels + panels.vectors * shape.lanes) *
                           static_cast<int64_t>(element_bytes);
  const int64_t most = std::max<int64_t>(1, kBlockBytes / per_tile / rows) * rows;
  const int64_t wanted = 2 * planner.busy_groups();
  const int64_t across = std::min(wanted, ceil_div(tiles, most));
  winograd.strip_tiles = ceil_div(ceil_div(tiles, across), rows) * rows;
  winograd.block = std::min(most, winograd.strip_tiles);
  const int64_t down =
      std::min(panels.end, ceil_div(wanted, ceil_div(tiles, winograd.strip_tiles)));
  panels.strip_panels = ceil_div(panels.end, down);
}

Winograd division_of(const Planner& planner, const Call& call, const Convolution& conv) {
  const PanelShape shape = panel_shape(planner, call.output.dtype);
  Winograd winograd;
  winograd.panels = panels_of(shape, conv);
  winograd.tiles_y = ceil_div(conv.window.out_height, kTile);
  winograd.tiles_x = ceil_div(conv.window.out_width, kTile);
  divide(planner, shape, conv, size_of(call.output.dtype), winograd);
  return winograd;
}

}  // namespace

ParamSpec winograd_param() {
  ParamSpec param;
  param.name = "winograd";
  param.kind = ParamSpec::Kind::flag;
  param.fallback = false;
  param.summary =
      "whether the weights are packed for Winograd's algorithm: windows of 3 x 3, stride 1, one "
      "group; a quarter of the products, rounding errors about eight times as large; CPUs only";
  return param;
}

bool suits_winograd(const Planner& planner, DType dtype, const Shape& weights, int64_t out_height,
                    int64_t out_width) {
  constexpr int64_t kLeastChannels = 32;
  constexpr int64_t kLeastTiles = 16;
  // Transformed weights are read once for every few tiles, so they should stay in a cache.
  constexpr int64_t kMostProducts = 256 * 256;
  const int64_t tiles = ceil_div(out_height, kTile) * ceil_div(out_width, kTile);
  return planner.cpu_class() && dtype == DType::f32 && weights.size() == 4 &&
         weights[2] == kWinogradWindow && weights[3] == kWinogradWindow &&
         std::min(weights[0], weights[1]) >= kLeastChannels &&
         weights[0] * weights[1] <= kMostProducts && tiles >= kLeastTiles;
}

void plan_winograd_pack(Launch& launch, Planner& planner, const Call& call, Convolution conv) {
  need_cpu(planner, "conv2d_pack");
  conv.window.size_y = kWinogradSide;
  conv.window.size_x = kWinogradSide;
  const Panels panels = panels_of(panel_shape(planner, call.output.dtype), conv);
  Range range;
  range.global[0] = static_cast<size_t>(panels.end);
  launch.steps.push_back(KernelStep{nn_program(planner, call.output.dtype),
                                    "winograd_pack",
                                    {input(0), output(), value(conv), value(panels)},
                                    range});
}

void plan_winograd(Launch& launch, Planner& planner, const Call& call, const Convolution& conv) {
  need_cpu(planner, "conv2d");
  const DType dtype = call.output.dtype;
  const Winograd winograd = division_of(planner, call, conv);
  const Panels& panels = winograd.panels;
  const int64_t tiles = conv.slices * winograd.tiles_y * winograd.tiles_x;
  const int64_t lanes = panels.vectors * panel_shape(planner, dtype).lanes;
  Range range;
  range.dimensions = 2;
  range.global = {static_cast<size_t>(ceil_div(tiles, winograd.strip_tiles)),
                  static_cast<size_t>(ceil_div(panels.end, panels.strip_panels)), 1};
  launch.scratch.push_back(
      range.global[0] * range.global[1] *
      static_cast<size_t>(winograd.block * kPositions * (conv.in_channels + lanes)) *
      size_of(dtype));
  KernelStep step{nn_program(planner, dtype), "conv2d_winograd",
                  arguments_of(call, conv, input(1), value(winograd)), range};
  step.arguments.emplace_back(scratch(0));
  launch.steps.push_back(std::move(step));
}

}  // namespace dala
