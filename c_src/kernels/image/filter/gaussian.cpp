#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "kernels/element.hpp"
#include "kernels/image/filter/gauss_args.h"
#include "kernels/image/filter/spatial.hpp"

namespace dala {
namespace {

// The Gaussian that sharpen subtracts.
constexpr int kSharpenRadius = 2;
constexpr double kSharpenSigma = 1.0;
constexpr double kMaxAmount = 4.0;

Gauss gauss_of(int64_t radius, double sigma) {
  std::array<double, MAX_RADIUS + 1> weights{1};
  double sum = 1;
  for (int64_t k = 1; k <= radius; ++k) {
    const double distance = static_cast<double>(k) / sigma;
    weights.at(static_cast<size_t>(k)) = std::exp(-0.5 * distance * distance);
    sum += 2 * weights.at(static_cast<size_t>(k));
  }
  Gauss gauss;
  gauss.radius = static_cast<int32_t>(radius);
  for (size_t k = 0; k < weights.size(); ++k) {
    gauss.weights.at(k) = static_cast<float>(weights.at(k) / sum);
  }
  // The weight in the middle takes the rounding errors of the others, so that a constant image
  // stays constant. The error of each weight is carried on to the next, so they do not add up.
  long words = 0;
  double carried = 0;
  for (size_t k = static_cast<size_t>(radius); k > 0; --k) {
    const double exact = weights.at(k) / sum * 0x1p17 + carried;
    const long word = std::lround(exact);
    carried = exact - static_cast<double>(word);
    gauss.words.at(k) = static_cast<uint16_t>(word);
    words += word;
  }
  gauss.words.at(0) = static_cast<uint16_t>(std::min(0x10000L - words, 0xffffL));
  return gauss;
}

size_t middle_bytes(DType dtype) { return dtype == DType::u8 ? sizeof(uint16_t) : sizeof(float); }

// The elements of a row that a work-group owns if it does both passes: including the margins, a
// multiple of its items. None if that does not fit, or most of it would be margins.
std::optional<int64_t> elements_across(const Planner& planner, DType dtype, const Image& image,
                                       const Gauss& gauss, int64_t items) {
  const int64_t margins = 2 * gauss.radius * image.channels;
  const int64_t count = ceil_div(2 * margins, items) * items;
  const auto bytes = static_cast<uint64_t>(GAUSS_ROWS * count) * middle_bytes(dtype);
  constexpr uint64_t kWeights = sizeof(float) * (MAX_RADIUS + 1);
  if (bytes + kWeights > planner.device().info().local_memory) return std::nullopt;
  return count - margins;
}

void add_gpu_steps(Launch& launch, Planner& planner, const std::string& entry, DType dtype,
                   const Image& image, const Gauss& gauss) {
  const Range range = item_range(planner, element_count(image));
  const auto program = spatial_program(planner, dtype);
  if (const auto wide =
          elements_across(planner, dtype, image, gauss, static_cast<int64_t>(range.local[0]))) {
    const int64_t count = *wide + 2 * gauss.radius * image.channels;
    Range tiles;
    tiles.dimensions = 2;
    tiles.local = {range.local[0], 1, 1};
    tiles.global = {
        static_cast<size_t>(ceil_div(image.width * image.channels, *wide)) * range.local[0],
        static_cast<size_t>(ceil_div(image.height, GAUSS_ROWS)), 1};
    launch.steps.push_back(KernelStep{
        program,
        entry + "_tile",
        {input(0), output(), value(image), value(gauss), value(static_cast<cl_int>(*wide)),
         LocalMemory{static_cast<size_t>(GAUSS_ROWS * count) * middle_bytes(dtype)}},
        tiles});
    return;
  }
  launch.scratch.push_back(static_cast<size_t>(element_count(image)) * middle_bytes(dtype));
  launch.steps.push_back(KernelStep{
      program, "gaussian_columns", {input(0), scratch(0), value(image), value(gauss)}, range});
  launch.steps.push_back(KernelStep{
      program, entry, {input(0), scratch(0), output(), value(image), value(gauss)}, range});
}

KernelStep cpu_step(Planner& planner, const std::string& entry, DType dtype, const Image& image,
                    const Gauss& gauss) {
  // A tile must be wider than its margins.
  const int64_t pixel = image.channels * static_cast<int64_t>(middle_bytes(dtype));
  const int64_t columns =
      std::max<int64_t>(line_bytes(planner) / pixel - 2 * gauss.radius, MAX_RADIUS + 1);
  const Tile tile = tile_of(planner, image, columns);
  const auto line = static_cast<size_t>((tile.columns + 2 * gauss.radius) * pixel);
  return {
      spatial_program(planner, dtype),
      entry,
      {input(0), output(), value(image), value(gauss), value(tile), LocalMemory{line}},
      tile_range(image, tile),
  };
}

Launch plan_gauss(const std::string& entry, const Call& call, Planner& planner,
                  const Gauss& gauss) {
  Launch launch;
  const Image image = input_image(call, entry);
  if (element_count(image) == 0) return launch;
  const DType dtype = call.output.dtype;
  const auto moved = static_cast<double>(2 * call.output.bytes());
  if (gauss.radius == 0) {
    launch.steps.push_back(CopyStep{input(0), output(), call.output.bytes()});
    launch.work = moved;
    return launch;
  }
  if (planner.cpu_class()) {
    launch.steps.push_back(cpu_step(planner, entry, dtype, image, gauss));
  } else {
    add_gpu_steps(launch, planner, entry, dtype, image, gauss);
  }
  const double operations =
      4.0 * static_cast<double>(element_count(image) * (2 * gauss.radius + 1));
  launch.work = moved + operations / 8;
  return launch;
}

void check_blur(const Call& call) {
  if (call.number("sigma") <= 0) {
    throw Error(Reason::invalid_param, text("sigma of blur must be a number above 0, got ",
                                            to_string(call.params.at("sigma"))));
  }
  check_same_image("blur", call);
}

Launch plan_blur(const Call& call, Planner& planner) {
  return plan_gauss("blur", call, planner, gauss_of(call.integer("radius"), call.number("sigma")));
}

Launch plan_sharpen(const Call& call, Planner& planner) {
  Gauss gauss = gauss_of(kSharpenRadius, kSharpenSigma);
  const double amount = call.number("amount");
  gauss.amount = static_cast<float>(amount);
  gauss.amount_word = static_cast<int16_t>(std::min(std::lround(amount * 0x1p13), 0x7fffL));
  return plan_gauss("sharpen", call, planner, gauss);
}

}  // namespace

Descriptor blur_kernel() {
  ParamSpec radius = number_param("radius", 3, 0, MAX_RADIUS, "of the Gaussian, in pixels");
  radius.kind = ParamSpec::Kind::integer;
  radius.fallback = int64_t{3};

  Descriptor blur;
  blur.name = "blur";
  blur.summary =
      "The mean of the surrounding pixels, weighted by a Gaussian; beyond its edges the image is "
      "mirrored at the centres of the edge pixels. Alpha is kept.";
  blur.dtypes = kImageDTypes;
  blur.output_rule = "the input's element type and shape";
  blur.params = image_params(
      {radius, number_param("sigma", 1.5, 0, 1e300, "of the Gaussian, in pixels; above 0")});
  blur.check = check_blur;
  blur.plan = plan_blur;
  return blur;
}

Descriptor sharpen_kernel() {
  Descriptor sharpen;
  sharpen.name = "sharpen";
  sharpen.summary =
      "x + amount * (x - blurred x), with a blur of radius 2 and sigma 1. Alpha is kept.";
  sharpen.dtypes = kImageDTypes;
  sharpen.output_rule = "the input's element type and shape";
  sharpen.params =
      image_params({number_param("amount", 0.5, 0, kMaxAmount, "the factor of the difference")});
  sharpen.check = [](const Call& call) { check_same_image("sharpen", call); };
  sharpen.plan = plan_sharpen;
  return sharpen;
}

}  // namespace dala
