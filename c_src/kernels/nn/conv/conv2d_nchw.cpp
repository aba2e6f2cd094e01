// conv2d in the NCHW layout, CPU family.
#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/element.hpp"
#include "kernels/nn/activation/activation.hpp"
#include "kernels/nn/conv/convolution.hpp"
#include "kernels/nn/nn.hpp"

namespace dala {
namespace {

constexpr int64_t kSmallPacked = 24 * 1024;

// Whether the epilogue is more than bias and bounds, and needs a separate step.
bool needs_finish_step(const Convolution& conv) {
  return conv.has_residual != 0 || conv.curve != 0;
}

// The leading arguments of both kernels.
std::vector<Argument> arguments_of(const Call& call, const Convolution& conv) {
  Activation activation = activation_of(call);
  if (needs_finish_step(conv)) activation = {-HUGE_VAL, HUGE_VAL};
  return {input(0),
          input(1),
          input(conv.has_bias != 0 ? 2 : 1),
          output(),
          value(conv),
          number_of(call, activation.low),
          number_of(call, activation.high)};
}

// CPU class: a matrix product per group of channels.
KernelStep tiled_step(Planner& planner, const Call& call, Convolution conv) {
  const DType dtype = call.output.dtype;
  const TileShape tile = tile_shape(planner, dtype);
  const int64_t products = products_of(conv);
  const int64_t pixels = pixels_of(conv);
  // Packing pays off when several rows of tiles use a panel; narrow planes are as fast unpacked.
  constexpr int64_t kNarrow = 256;
  conv.in_place =
      conv.pointwise != 0 && (conv.out_channels <= 2 * tile.rows || pixels <= kNarrow) ? 1 : 0;

  const int64_t room = local_elements(planner, kLargePacked, size_of(dtype)) - tile.lanes;
  const int64_t most = std::clamp<int64_t>(room / (tile.pixels() + 1), 1, 512);
  conv.block = ceil_div(products, ceil_div(products, most));

  // Strips of whole tiles; a few extra pixels go to the last one, as dot products.
  const int64_t rest = pixels % tile.pixels();
  const int64_t tiles =
      std::max<int64_t>(1, pixels / tile.pixels() + (rest > tile.lanes / 4 ? 1 : 0));
  const int64_t fitting = conv.in_place != 0 ? tiles : (room / conv.block - 1) / tile.pixels();
  const int64_t fair = ceil_div(tiles, ceil_div(2 * planner.busy_groups(), conv.slices));
  const int64_t wide = std::clamp<int64_t>(std::min(fitting, fair), 1, 16);
  conv.strip_pixels = wide * tile.pixels();
  conv.strips = ceil_div(tiles, wide);

  const int64_t wanted = ceil_div(planner.busy_groups(), conv.strips * conv.slices);
  const int64_t useful = std::max<int64_t>(1, conv.out_channels / (4 * tile.rows));
  const int64_t down = std::clamp<int64_t>(wanted, 1, useful);
  conv.strip_channels = ceil_div(ceil_div(conv.out_channels, down), tile.rows) * tile.rows;

  Range range;
  range.dimensions = 3;
  range.global = {static_cast<size_t>(conv.strips),
                  static_cast<size_t>(ceil_div(conv.out_channels, conv.strip_channels)),
                  static_cast<size_t>(conv.slices)};
  const int64_t packed = (conv.in_place != 0 ? tile.pixels() : conv.strip_pixels) + 1;
  std::vector<Argument> arguments = arguments_of(call, conv);
  const int64_t elements = packed * conv.block + tile.lanes;
  arguments.emplace_back(LocalMemory{static_cast<size_t>(elements) * size_of(dtype)});
  return {nn_program(planner, dtype), "conv2d", std::move(arguments), range};
}

// CPU class, one input channel per group: plane by plane. Empty when the rows of one window do not
// fit into local memory.
std::optional<KernelStep> depthwise_planes_step(Planner& planner, const Call& call,
                                                Convolution conv) {
  const DType dtype = call.output.dtype;
  const Window& window = conv.window;
  const int64_t lanes = tile_shape(planner, dtype).lanes;
  const bool dense = window.stride_y == 1 && window.stride_x == 1;
  conv.flat = dense && window.out_width < lanes ? 1 : 0;
  const int64_t reach = (span_x(window) - 1) / window.stride_x;
  conv.pitch = (conv.flat != 0 ? window.out_width : std::max(window.out_width, lanes)) + reach;

  const int64_t row = conv.pitch * window.stride_x;
  const auto elements = [&](int64_t rows) {
    const int64_t area = ((rows - 1) * window.stride_y + span_y(window)) * row + 2 * lanes;
    return conv.flat != 0 ? 2 * area : area;
  };
  const int64_t most = local_elements(planner, kLargePacked, size_of(dtype));
  if (elements(1) > most) return std::nullopt;
  const int64_t room = local_elements(planner, kSmallPacked, size_of(dtype));
  const int64_t planes = conv.slices * conv.out_channels;
  const int64_t wanted = ceil_div(planner.busy_groups(), planes);
  int64_t rows = ceil_div(window.out_height, wanted);
  while (rows > 8 && elements(rows) > room) rows = ceil_div(rows, 2);
  while (rows > 1 && elements(rows) > most) rows = ceil_div(rows, 2);
  conv.strip_rows = rows;
  conv.strips = ceil_div(window.out_height, rows);
  const int64_t pieces = planes * conv.strips;
  conv.units = std::max<int64_t>(1, pieces / (4 * planner.busy_groups()));

  Range range;
  range.global[0] = static_cast<size_t>(ceil_div(pieces, conv.units));
  std::vector<Argument> arguments = arguments_of(call, conv);
  arguments.emplace_back(LocalMemory{static_cast<size_t>(elements(rows)) * size_of(dtype)});
  return KernelStep{nn_program(planner, dtype), "conv2d_depthwise", std::move(arguments), range};
}

KernelStep finish_step(Planner& planner, const Call& call, const Convolution& conv) {
  constexpr int64_t kChunk = 16 * 1024;
  const Activation activation = activation_of(call);
  const int64_t count = call.output.count();
  Range range;
  range.global[0] = static_cast<size_t>(ceil_div(count, kChunk));
  return {nn_program(planner, call.output.dtype),
          "conv2d_finish",
          {input(conv.has_residual != 0 ? 3 : 0), output(), value(conv.has_residual),
           value(conv.curve), value(count), value(kChunk), number_of(call, activation.low),
           number_of(call, activation.high), number_of(call, activation.slope)},
          range};
}

}  // namespace

void plan_nchw(Launch& launch, Planner& planner, const Call& call, const Convolution& conv) {
  std::optional<KernelStep> step;
  if (conv.in_channels == 1) step = depthwise_planes_step(planner, call, conv);
  launch.steps.push_back(step ? std::move(*step) : tiled_step(planner, call, conv));
  if (needs_finish_step(conv)) launch.steps.push_back(finish_step(planner, call, conv));
}

}  // namespace dala
