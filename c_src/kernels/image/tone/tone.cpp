// Kernels based on histograms: histogram, auto_levels, auto_white_balance, equalize and clahe.
#include <algorithm>
#include <limits>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/image/filter/spatial.hpp"
#include "kernels/image/kernels.hpp"
#include "kernels/image/tone/tone_args.h"

namespace dala {
namespace {

constexpr int64_t kMostTiles = 64;

std::shared_ptr<Program> tone_program(Planner& planner, DType dtype) {
  return planner.program(text("tone ", to_string(dtype)), [&] {
    return ProgramSource{
        element_defines(dtype),
        {{"image/tone/histogram.cl"}, {"image/tone/stretch.cl"}, {"image/tone/equalize.cl"}}};
  });
}

// Counts are 32-bit.
void need_countable(const std::string& kernel, const Call& call, const Image& image) {
  if (image.height * image.width <= std::numeric_limits<uint32_t>::max()) return;
  throw Error(Reason::shape_mismatch,
              text("input 0 of ", kernel, " has shape ", to_string(call.inputs[0].shape),
                   ", expected at most ", std::numeric_limits<uint32_t>::max(), " pixels"));
}

Tones tones_of(const Image& image, bool luma) {
  Tones tones;
  tones.height = image.height;
  tones.width = image.width;
  tones.channels = image.channels;
  tones.luma = luma ? 1 : 0;
  tones.histograms = luma ? 1 : image.channels;
  return tones;
}

size_t histogram_bytes(const Tones& tones) {
  return static_cast<size_t>(tones.tiles_x * tones.tiles_y * tones.histograms * TONE_LEVELS) *
         sizeof(cl_uint);
}

// Zeroes the counts, and adds those of each group of rows.
void add_counting(Launch& launch, Planner& planner, DType dtype, Tones& tones, Operand counts) {
  const int64_t tiles = tones.tiles_x * tones.tiles_y;
  const int64_t rows = ceil_div(tones.height, tones.tiles_y);
  const int64_t groups = planner.cpu_class() ? planner.busy_groups() : 256;
  tones.parts = std::clamp<int64_t>(ceil_div(groups, tiles), 1, rows);
  Range range;
  range.dimensions = 3;
  range.local[0] = planner.cpu_class() ? 1 : planner.group_items(256);
  range.global = {static_cast<size_t>(tones.parts) * range.local[0],
                  static_cast<size_t>(tones.tiles_x), static_cast<size_t>(tones.tiles_y)};
  const size_t bins = static_cast<size_t>(tones.histograms * TONE_LEVELS) * sizeof(cl_uint);
  launch.steps.push_back(FillStep{counts, value(cl_uint{0}), histogram_bytes(tones)});
  launch.steps.push_back(KernelStep{tone_program(planner, dtype),
                                    "histogram",
                                    {input(0), counts, value(tones), LocalMemory{bins}},
                                    range});
}

// Adds a step of one item per pixel, or per chunk of pixels on CPUs.
void add_pass(Launch& launch, Planner& planner, DType dtype, const std::string& entry,
              const Tones& tones, Operand numbers) {
  const int64_t pixels = tones.height * tones.width;
  cl_long span = 1;
  Range range = item_range(planner, pixels);
  if (planner.cpu_class()) {
    span = std::max<int64_t>(ceil_div(pixels, planner.busy_groups()), 64);
    range = {};
    range.global[0] = static_cast<size_t>(ceil_div(pixels, span));
  }
  launch.steps.push_back(KernelStep{tone_program(planner, dtype),
                                    entry,
                                    {input(0), output(), numbers, value(tones), value(span)},
                                    range});
}

Launch plan_histogram(const Call& call, Planner& planner) {
  const Image image = input_image(call, "histogram");
  Launch launch;
  Tones tones = tones_of(image, call.choice("of") == "luma");
  if (element_count(image) == 0) {
    launch.steps.push_back(FillStep{output(), value(cl_uint{0}), call.output.bytes()});
    return launch;
  }
  add_counting(launch, planner, call.inputs[0].dtype, tones, output());
  launch.work = static_cast<double>(call.inputs[0].bytes() + call.inputs[0].count());
  return launch;
}

Descriptor histogram_kernel() {
  Descriptor histogram;
  histogram.name = "histogram";
  histogram.summary =
      "How often each of 256 levels occurs in a picture, channel by channel or in its BT.601 luma; "
      "the level of a float is floor(255 x + 0.5), from 0 to 255.";
  histogram.dtypes = kImageDTypes;
  histogram.output_rule =
      "u32; {c, 256} for c channels, and also {256} for one channel or the luma";
  histogram.params = image_params({choice_param(
      "of", {"channels", "luma"}, "every channel by itself, alpha, too, or the luma")});
  histogram.check = [](const Call& call) {
    const Image image = input_image(call, "histogram");
    need_countable("histogram", call, image);
    need_output_dtype("histogram", call, {DType::u32});
    const int64_t count = call.choice("of") == "luma" ? 1 : image.channels;
    std::vector<Shape> allowed{{count, TONE_LEVELS}};
    if (count == 1) allowed.push_back({TONE_LEVELS});
    need_output_shape("histogram", call, allowed);
  };
  histogram.plan = plan_histogram;
  histogram.sample = [](DType dtype) {
    return Call{{{dtype, {1, 1}}}, {DType::u32, {1, TONE_LEVELS}}, {}};
  };
  return histogram;
}

Launch plan_stretch(const std::string& kernel, const Call& call, Planner& planner,
                    const Stretch& stretch) {
  const Image image = input_image(call, kernel);
  Launch launch;
  if (element_count(image) == 0) return launch;
  const DType dtype = call.output.dtype;
  Tones tones = tones_of(image, false);
  launch.scratch = {histogram_bytes(tones), 3 * 2 * sizeof(cl_float)};
  add_counting(launch, planner, dtype, tones, scratch(0));
  launch.steps.push_back(KernelStep{tone_program(planner, dtype),
                                    "stretch_lines",
                                    {scratch(0), scratch(1), value(tones), value(stretch)},
                                    {}});
  add_pass(launch, planner, dtype, "stretch_levels", tones, scratch(1));
  launch.work = static_cast<double>(3 * call.output.bytes() + 2 * call.output.count());
  return launch;
}

Descriptor same_image(const std::string& name, const std::string& summary,
                      std::vector<ParamSpec> params) {
  Descriptor descriptor;
  descriptor.name = name;
  descriptor.summary = summary;
  descriptor.dtypes = kImageDTypes;
  descriptor.output_rule = "the input's element type and shape";
  descriptor.params = image_params(std::move(params));
  descriptor.check = [name](const Call& call) {
    check_same_image(name, call);
    need_countable(name, call, input_image(call, name));
  };
  return descriptor;
}

Descriptor auto_levels_kernel() {
  ParamSpec together;
  together.name = "together";
  together.kind = ParamSpec::Kind::flag;
  together.fallback = false;
  together.summary = "whether all colours are stretched alike, which keeps their hue";
  Descriptor levels = same_image(
      "auto_levels",
      "Stretches the levels of each colour so that they reach from black to white: (in - low) / "
      "(high - low), at most clip of the pixels being below low and above high. Alpha stays.",
      {number_param("clip", 0.005, 0, 0.25, "the part of the pixels that saturates at each end"),
       together});
  levels.plan = [](const Call& call, Planner& planner) {
    Stretch stretch;
    stretch.clip = static_cast<float>(call.number("clip"));
    stretch.together = call.flag("together") ? 1 : 0;
    return plan_stretch("auto_levels", call, planner, stretch);
  };
  return levels;
}

Descriptor auto_white_balance_kernel() {
  Descriptor balance = same_image(
      "auto_white_balance",
      "Colours times gains that make their means equal, as those of a grey scene are: the mean of "
      "all colours over that of each. Alpha stays.",
      {});
  balance.plan = [](const Call& call, Planner& planner) {
    Stretch stretch;
    stretch.gray_world = 1;
    return plan_stretch("auto_white_balance", call, planner, stretch);
  };
  return balance;
}

Launch plan_equalize(const std::string& kernel, const Call& call, Planner& planner,
                     const std::vector<int64_t>& tiles, double limit) {
  const Image image = input_image(call, kernel);
  Launch launch;
  if (element_count(image) == 0) return launch;
  const DType dtype = call.output.dtype;
  Tones tones = tones_of(image, true);
  // No tile is empty.
  tones.tiles_x = std::min(tiles[0], image.width);
  tones.tiles_y = std::min(tiles[1], image.height);
  const int64_t count = tones.tiles_x * tones.tiles_y;
  launch.scratch = {histogram_bytes(tones),
                    static_cast<size_t>(count * TONE_LEVELS) * sizeof(cl_float)};
  add_counting(launch, planner, dtype, tones, scratch(0));
  Equalize equalize;
  equalize.limit = static_cast<float>(limit);
  Range range;
  range.global[0] = static_cast<size_t>(count);
  launch.steps.push_back(KernelStep{tone_program(planner, dtype),
                                    "equalize_tables",
                                    {scratch(0), scratch(1), value(tones), value(equalize)},
                                    range});
  add_pass(launch, planner, dtype, "equalize_levels", tones, scratch(1));
  launch.work = static_cast<double>(3 * call.output.bytes() + 4 * call.output.count());
  return launch;
}

Descriptor equalize_kernel() {
  Descriptor equalize = same_image(
      "equalize",
      "Spreads the BT.601 luma so that all levels are about equally frequent, the differences of "
      "the colours being kept. Alpha stays.",
      {});
  equalize.plan = [](const Call& call, Planner& planner) {
    return plan_equalize("equalize", call, planner, {1, 1}, 0);
  };
  return equalize;
}

Descriptor clahe_kernel() {
  ParamSpec tiles;
  tiles.name = "tiles";
  tiles.kind = ParamSpec::Kind::integers;
  tiles.fallback = int64_t{8};
  tiles.min = 1;
  tiles.max = static_cast<double>(kMostTiles);
  tiles.counts = {2};
  tiles.summary =
      "how many tiles there are across and down: {across, down}, or one number for both";
  Descriptor clahe = same_image(
      "clahe",
      "Equalizes the BT.601 luma by the histograms of tiles, between which it is bilinear, and no "
      "level of which counts more than clip_limit times the mean (contrast-limited adaptive "
      "histogram equalization). The differences of the colours are kept, and alpha.",
      {tiles, number_param("clip_limit", 2, 1, 256, "how much contrast is added at most")});
  clahe.plan = [](const Call& call, Planner& planner) {
    std::vector<int64_t> count = call.integers("tiles");
    count.resize(2, count[0]);
    return plan_equalize("clahe", call, planner, count, call.number("clip_limit"));
  };
  return clahe;
}

}  // namespace

Descriptors tone_kernels() {
  return {histogram_kernel(), auto_levels_kernel(), auto_white_balance_kernel(), equalize_kernel(),
          clahe_kernel()};
}

}  // namespace dala
