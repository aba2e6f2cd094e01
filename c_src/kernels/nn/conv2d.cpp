#include <algorithm>
#include <limits>
#include <optional>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/nn/nn.hpp"
#include "kernels/nn/window.hpp"

namespace dala {
namespace {

// The same layout as the struct of that name in convolution.cl.
struct Convolution {
  Window window;
  int64_t slices = 0;
  int64_t groups = 1;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t has_bias = 0;
  int64_t pointwise = 0;
  int64_t strip_channels = 0;
  int64_t strip_pixels = 0;
  int64_t strips = 0;
  int64_t block = 0;
  int64_t in_place = 0;
  int64_t strip_rows = 0;
  int64_t pitch = 0;
  int64_t flat = 0;
  int64_t units = 0;

  int64_t products() const { return in_channels * window.size_y * window.size_x; }
  int64_t pixels() const { return window.out_height * window.out_width; }
};

// What a work-group may fill of local memory, so that it stays in the cache next to the core.
constexpr int64_t kLargePacked = 256 * 1024;
constexpr int64_t kSmallPacked = 24 * 1024;

[[noreturn]] void reject_shape(size_t index, const Call& call, const std::string& expected) {
  throw Error(Reason::shape_mismatch,
              text("input ", index, " of conv2d has shape ", to_string(call.inputs[index].shape),
                   ", expected ", expected));
}

std::array<int64_t, 2> kernel_size(const Call& call) {
  const Shape& weights = call.inputs[1].shape;
  return {weights[2], weights[3]};
}

void check_conv2d(const Call& call) {
  need_same_inputs("conv2d", call);
  need_output_dtype("conv2d", call, {call.inputs[0].dtype});
  need_planes("conv2d", call);
  const int64_t batch = call.inputs[0].shape[0];
  const int64_t channels = call.inputs[0].shape[1];
  const int64_t groups = call.integer("groups");
  if (channels % groups != 0) {
    throw Error(Reason::invalid_param, text("groups of conv2d must divide the ", channels,
                                            " channels of input 0, got ", groups));
  }
  const Shape& weights = call.inputs[1].shape;
  const int64_t per_group = channels / groups;
  if (weights.size() != 4 || weights[1] != per_group || weights[2] < 1 || weights[3] < 1) {
    reject_shape(1, call, text("{co, ", per_group, ", kh, kw}"));
  }
  if (weights[0] % groups != 0) {
    throw Error(Reason::invalid_param, text("groups of conv2d must divide the ", weights[0],
                                            " output channels of input 1, got ", groups));
  }
  if (call.inputs.size() > 2 && call.inputs[2].shape != Shape{weights[0]}) {
    reject_shape(2, call, to_string(Shape{weights[0]}));
  }
  const Window window = window_of("conv2d", call, kernel_size(call));
  need_output_shape("conv2d", call, {{batch, weights[0], window.out_height, window.out_width}});
}

Convolution convolution_of(const Call& call) {
  Convolution conv;
  conv.window = window_of("conv2d", call, kernel_size(call));
  conv.groups = call.integer("groups");
  conv.slices = call.inputs[0].shape[0] * conv.groups;
  conv.in_channels = call.inputs[1].shape[1];
  conv.out_channels = call.inputs[1].shape[0] / conv.groups;
  conv.has_bias = call.inputs.size() > 2 ? 1 : 0;
  const Window& window = conv.window;
  conv.pointwise = window.size_y == 1 && window.size_x == 1 && window.stride_y == 1 &&
                           window.stride_x == 1 && window.out_height == window.height &&
                           window.out_width == window.width && window.pad_y == 0 &&
                           window.pad_x == 0
                       ? 1
                       : 0;
  return conv;
}

// Elements of local memory that a work-group may use, within `wish` bytes.
int64_t local_elements(const Planner& planner, int64_t wish, size_t bytes) {
  const auto room = static_cast<int64_t>(planner.device().info().local_memory);
  return std::min(wish, room) / static_cast<int64_t>(bytes);
}

// The arguments that all kernels of this family begin with.
std::vector<Argument> arguments_of(const Call& call, const Convolution& conv) {
  const std::string activation = call.choice("activation");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double low = activation == "none" ? -kInfinity : 0;
  const double high = activation == "relu6" ? 6 : kInfinity;
  const bool doubles = call.output.dtype == DType::f64;
  const auto bound = [doubles](double number) {
    return doubles ? value(number) : value(static_cast<float>(number));
  };
  return {input(0),   input(1),   input(conv.has_bias != 0 ? 2 : 1), output(), value(conv),
          bound(low), bound(high)};
}

// CPU class: a matrix product per group of channels.
KernelStep tiled_step(Planner& planner, const Call& call, Convolution conv) {
  const DType dtype = call.output.dtype;
  const TileShape tile = tile_shape(planner, dtype);
  const int64_t products = conv.products();
  const int64_t pixels = conv.pixels();
  // Packing repays when several rows of tiles use a panel; narrow planes are as good as packed.
  constexpr int64_t kNarrow = 256;
  conv.in_place =
      conv.pointwise != 0 && (conv.out_channels <= 2 * tile.rows || pixels <= kNarrow) ? 1 : 0;

  const int64_t room = local_elements(planner, kLargePacked, size_of(dtype)) - tile.lanes;
  const int64_t most = std::clamp<int64_t>(room / (tile.pixels() + 1), 1, 512);
  conv.block = ceil_div(products, ceil_div(products, most));

  // Strips of whole tiles; a few pixels more go to the last one, as dot products.
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

// CPU class, one input channel per group: plane by plane. None when the rows that a window sees do
// not fit into local memory.
std::optional<KernelStep> depthwise_step(Planner& planner, const Call& call, Convolution conv) {
  const DType dtype = call.output.dtype;
  const Window& window = conv.window;
  const int64_t lanes = tile_shape(planner, dtype).lanes;
  const bool dense = window.stride_y == 1 && window.stride_x == 1;
  conv.flat = dense && window.out_width < lanes ? 1 : 0;
  const int64_t reach = (window.span_x() - 1) / window.stride_x;
  conv.pitch = (conv.flat != 0 ? window.out_width : std::max(window.out_width, lanes)) + reach;

  const int64_t row = conv.pitch * window.stride_x;
  const auto elements = [&](int64_t rows) {
    const int64_t area = ((rows - 1) * window.stride_y + window.span_y()) * row + 2 * lanes;
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

KernelStep gpu_step(Planner& planner, const Call& call, const Convolution& conv) {
  const size_t items = planner.group_items(256);
  const auto groups = ceil_div(call.output.count(), static_cast<int64_t>(items));
  Range range;
  range.local[0] = items;
  range.global[0] = static_cast<size_t>(groups) * items;
  return {nn_program(planner, call.output.dtype), "conv2d", arguments_of(call, conv), range};
}

Launch plan_conv2d(const Call& call, Planner& planner) {
  planner.need_arithmetic("conv2d", call);
  Launch launch;
  if (call.output.count() == 0) return launch;
  const Convolution conv = convolution_of(call);
  if (planner.cpu_class()) {
    std::optional<KernelStep> step;
    if (conv.in_channels == 1) step = depthwise_step(planner, call, conv);
    launch.steps.push_back(step ? std::move(*step) : tiled_step(planner, call, conv));
  } else {
    launch.steps.push_back(gpu_step(planner, call, conv));
  }
  const double operations =
      2.0 * static_cast<double>(call.output.count()) * static_cast<double>(conv.products());
  launch.work = static_cast<double>(call.output.bytes()) + operations / 8;
  for (const TensorType& type : call.inputs) launch.work += static_cast<double>(type.bytes());
  return launch;
}

}  // namespace

Descriptor conv2d_kernel() {
  ParamSpec stride = pair_param("stride", "how far windows are apart: one number, or {y, x}");
  stride.fallback = int64_t{1};
  ParamSpec dilation =
      pair_param("dilation", "how far a window's elements are apart: one number, or {y, x}");
  dilation.fallback = int64_t{1};
  ParamSpec groups;
  groups.name = "groups";
  groups.kind = ParamSpec::Kind::integer;
  groups.fallback = int64_t{1};
  groups.min = 1;
  groups.summary = "into how many parts the channels are split that do not see each other";
  ParamSpec activation;
  activation.name = "activation";
  activation.kind = ParamSpec::Kind::choice;
  activation.fallback = std::string("none");
  activation.choices = {"none", "relu", "relu6"};
  activation.summary = "what is done to each result: max(x, 0) for relu, and at most 6 for relu6";

  Descriptor conv2d;
  conv2d.name = "conv2d";
  conv2d.summary =
      "The convolution of x {n, c, h, w} with weights {co, c / groups, kh, kw}, plus a bias {co} "
      "when given as input 2.";
  conv2d.inputs = 2;
  conv2d.optional_inputs = 1;
  conv2d.dtypes = kFloatDTypes;
  conv2d.output_rule =
      "the inputs' element type, {n, co, oh, ow} with oh = (h + padding - (kh - 1) * dilation - 1) "
      "/ stride + 1, and ow alike";
  conv2d.params = {stride, pad_param(), dilation, groups, activation};
  conv2d.check = check_conv2d;
  conv2d.plan = plan_conv2d;
  return conv2d;
}

}  // namespace dala
