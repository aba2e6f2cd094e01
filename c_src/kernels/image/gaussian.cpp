#include "kernels/image/gaussian.hpp"

#include <cmath>

#include "kernels/element.hpp"

namespace dala {
namespace {

constexpr int kMostRadius = 64;

// The same layout as the struct of that name in gauss.cl.
struct Gauss {
  int32_t radius = 0;
  std::array<float, kMostRadius + 1> weights{};
};

Gauss gauss_of(int64_t radius, double sigma) {
  std::array<double, kMostRadius + 1> weights{1};
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
  return gauss;
}

void check_blur(const Call& call) {
  if (call.number("sigma") <= 0) {
    throw Error(Reason::invalid_param, text("sigma of blur must be a number above 0, got ",
                                            to_string(call.params.at("sigma"))));
  }
  check_same_image("blur", call);
}

void add_gpu_steps(Launch& launch, Planner& planner, const Call& call, const Image& image,
                   const Gauss& gauss) {
  const DType dtype = call.output.dtype;
  const size_t items = planner.group_items(256);
  Range range;
  range.local[0] = items;
  range.global[0] =
      static_cast<size_t>(ceil_div(image.count(), static_cast<int64_t>(items))) * items;
  const size_t middle = dtype == DType::u8 ? sizeof(uint16_t) : sizeof(float);
  launch.scratch.push_back(static_cast<size_t>(image.count()) * middle);
  const auto program = spatial_program(planner, dtype);
  launch.steps.push_back(KernelStep{
      program, "gaussian_columns", {input(0), scratch(0), value(image), value(gauss)}, range});
  launch.steps.push_back(KernelStep{
      program, "blur", {input(0), scratch(0), output(), value(image), value(gauss)}, range});
}

Launch plan_blur(const Call& call, Planner& planner) {
  Launch launch;
  const Image image = input_image(call, "blur");
  if (image.count() == 0) return launch;
  const Gauss gauss = gauss_of(call.integer("radius"), call.number("sigma"));
  add_gpu_steps(launch, planner, call, image, gauss);
  const double operations =
      2.0 * static_cast<double>(image.count()) * static_cast<double>(2 * gauss.radius + 1);
  launch.work = static_cast<double>(2 * call.output.bytes()) + operations / 8;
  return launch;
}

}  // namespace

Descriptor blur_kernel() {
  ParamSpec radius = number_param("radius", 3, 0, kMostRadius, "how many pixels it reaches");
  radius.kind = ParamSpec::Kind::integer;
  radius.fallback = int64_t{3};

  Descriptor blur;
  blur.name = "blur";
  blur.summary =
      "The mean of the pixels around with the weights of a Gaussian; beyond its edges the picture "
      "is mirrored, the pixel at the edge being the mirror. Alpha stays.";
  blur.dtypes = kImageDTypes;
  blur.output_rule = "the input's element type and shape";
  blur.params = image_params(
      {radius, number_param("sigma", 1.5, 0, 1e300, "of the Gaussian, in pixels; above 0")});
  blur.check = check_blur;
  blur.plan = plan_blur;
  return blur;
}

}  // namespace dala
