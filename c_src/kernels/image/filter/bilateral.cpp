#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/element.hpp"
#include "kernels/image/filter/neighbours_args.h"
#include "kernels/image/filter/spatial.hpp"

namespace dala {
namespace {

// The parameters of a filter; range_sigma is relative to white.
struct Bilateral {
  int radius;
  double space_sigma;
  double range_sigma;
};

// denoise: range_sigma is 0.2 * strength.
constexpr Bilateral kDenoise{2, 2.0, 0.2};
constexpr Bilateral kBeauty{4, 3.0, 0.1};

// -1 / (2 sigma^2), for a power of 2 instead of e.
double power_factor(double sigma) { return -1 / (2 * sigma * sigma * std::log(2.0)); }

Neighbours neighbours_of(const Bilateral& filter, DType dtype) {
  Neighbours result;
  result.radius = filter.radius;
  const double white = dtype == DType::u8 ? 255 : 1;
  // Keeps the factor finite for a sigma just above 0.
  constexpr double kSteepest = -1e30;
  result.range = static_cast<float>(std::max(power_factor(filter.range_sigma * white), kSteepest));
  size_t count = 0;
  for (int dy = -filter.radius; dy <= filter.radius; ++dy) {
    for (int dx = -filter.radius; dx <= filter.radius; ++dx) {
      const int squared = dx * dx + dy * dy;
      if (squared == 0 || squared > filter.radius * filter.radius) continue;
      result.dx.at(count) = dx;
      result.dy.at(count) = dy;
      result.space.at(count) = static_cast<float>(squared * power_factor(filter.space_sigma));
      ++count;
    }
  }
  result.count = static_cast<int32_t>(count);
  return result;
}

Circle circle_of(const Bilateral& filter, const Neighbours& neighbours) {
  Circle circle;
  circle.radius = neighbours.radius;
  circle.skin = neighbours.skin;
  circle.strength = neighbours.strength;
  circle.range = neighbours.range;
  circle.space = static_cast<float>(power_factor(filter.space_sigma));
  return circle;
}

KernelStep gpu_step(Planner& planner, DType dtype, const Image& image, const Circle& circle) {
  const auto program = spatial_program(planner, dtype);
  // Wide rather than high, since items of a row read adjacent memory.
  const size_t items = planner.group_items(256);
  const size_t wide = std::min<size_t>(items, 32);
  const size_t high = items / wide;
  const auto margins = 2 * static_cast<size_t>(circle.radius);
  const size_t bytes =
      (wide + margins) * (high + margins) * static_cast<size_t>(colours_of(image)) * sizeof(float);
  if (bytes > planner.device().info().local_memory) {
    return {program,
            "bilateral",
            {input(0), output(), value(image), value(circle)},
            item_range(planner, image.height * image.width)};
  }
  Range range;
  range.dimensions = 2;
  range.local = {wide, high, 1};
  range.global = {static_cast<size_t>(ceil_div(image.width, static_cast<int64_t>(wide))) * wide,
                  static_cast<size_t>(ceil_div(image.height, static_cast<int64_t>(high))) * high,
                  1};
  return {program,
          "bilateral_tile",
          {input(0), output(), value(image), value(circle), LocalMemory{bytes}},
          range};
}

KernelStep cpu_step(Planner& planner, DType dtype, const Image& image,
                    const Neighbours& neighbours) {
  const int64_t lines = (2 * neighbours.radius + 2) * colours_of(image);
  const int64_t around = 2 * neighbours.radius + vector_floats(planner);
  const int64_t columns =
      line_bytes(planner) / (lines * static_cast<int64_t>(sizeof(float))) - around;
  const Tile tile = tile_of(planner, image, std::max<int64_t>(columns, 64));
  const auto bytes = static_cast<size_t>(lines * (tile.columns + around)) * sizeof(float);
  return {
      spatial_program(planner, dtype),
      colours_of(image) == 1 ? "bilateral_1" : "bilateral_3",
      {input(0), output(), value(image), value(neighbours), value(tile), LocalMemory{bytes}},
      tile_range(image, tile),
  };
}

Launch plan_bilateral(const std::string& kernel, const Call& call, Planner& planner,
                      const Bilateral& filter, const Neighbours& neighbours) {
  Launch launch;
  const Image image = input_image(call, kernel);
  if (element_count(image) == 0) return launch;
  const DType dtype = call.output.dtype;
  const auto moved = static_cast<double>(2 * call.output.bytes());
  if (call.number("strength") == 0) {
    launch.steps.push_back(CopyStep{input(0), output(), call.output.bytes()});
    launch.work = moved;
    return launch;
  }
  if (planner.cpu_class()) {
    launch.steps.push_back(cpu_step(planner, dtype, image, neighbours));
  } else {
    launch.steps.push_back(gpu_step(planner, dtype, image, circle_of(filter, neighbours)));
  }
  const double operations =
      8.0 * static_cast<double>(element_count(image) * (neighbours.count + 1));
  launch.work = moved + operations / 8;
  return launch;
}

Launch plan_denoise(const Call& call, Planner& planner) {
  Bilateral filter = kDenoise;
  filter.range_sigma *= call.number("strength");
  return plan_bilateral("denoise", call, planner, filter, neighbours_of(filter, call.output.dtype));
}

Launch plan_beauty(const Call& call, Planner& planner) {
  Neighbours neighbours = neighbours_of(kBeauty, call.output.dtype);
  neighbours.skin = 1;
  neighbours.strength = static_cast<float>(call.number("strength"));
  return plan_bilateral("beauty", call, planner, kBeauty, neighbours);
}

void check_beauty(const Call& call) {
  check_same_image("beauty", call);
  if (input_image(call, "beauty").channels >= 3) return;
  throw Error(Reason::shape_mismatch,
              text("input 0 of beauty has shape ", to_string(call.inputs[0].shape),
                   ", expected 3 or 4 channels, since skin is detected by its colour"));
}

}  // namespace

Descriptor denoise_kernel() {
  Descriptor denoise;
  denoise.name = "denoise";
  denoise.summary =
      "A bilateral filter: the mean of the 13 pixels up to 2 away, weighted by their distance "
      "(sigma 2) and by the difference of their colour (sigma 0.2 * strength of white, for the sum "
      "of the channels' differences); mirrored at the edges. Alpha is kept.";
  denoise.dtypes = kImageDTypes;
  denoise.output_rule = "the input's element type and shape";
  denoise.params = image_params({number_param(
      "strength", 0.5, 0, 1, "how much averaged colours may differ; 0 changes nothing")});
  denoise.check = [](const Call& call) { check_same_image("denoise", call); };
  denoise.plan = plan_denoise;
  return denoise;
}

Descriptor beauty_kernel() {
  Descriptor beauty;
  beauty.name = "beauty";
  beauty.summary =
      "Smooths skin: x + strength * likeness * (smooth x - x), smooth x being the bilateral mean "
      "of the 49 pixels up to 4 away (sigma 3, and 0.1 of white for colours), and likeness 1 where "
      "Cb is 77 to 127 and Cr 133 to 173, with soft bounds. Alpha is kept.";
  beauty.dtypes = kImageDTypes;
  beauty.output_rule = "the input's element type and shape, 3 or 4 channels";
  beauty.params =
      image_params({number_param("strength", 0.3, 0, 1, "the share of the smoothed image")});
  beauty.check = check_beauty;
  beauty.plan = plan_beauty;
  return beauty;
}

}  // namespace dala
