// Resize, one axis at a time. Source coordinates and weights are computed here, in double
// precision, so that all coordinate transformation modes run on the same two kernels.
#include <algorithm>
#include <cmath>

#include "model/build/views.hpp"
#include "model/ops/families.hpp"

namespace dala::model {
namespace {

constexpr int64_t kLongestAxis = 1 << 22;  // the maximum size of an axis of the result

// How one axis is resized.
struct AxisResize {
  int64_t in = 0;
  int64_t out = 0;
  double scale = 1;
  double start = 0;  // for tf_crop_and_resize
  double end = 1;
};

// The input coordinate of the output index `at`.
double source_of(const AxisResize& axis, const std::string& mode, int64_t at) {
  const auto x = static_cast<double>(at);
  const auto in = static_cast<double>(axis.in);
  const auto out = static_cast<double>(axis.out);
  if (mode == "asymmetric") return x / axis.scale;
  // ONNX uses the scaled size here, before it is rounded down.
  if (mode == "align_corners") return axis.out == 1 ? 0 : x * (in - 1) / (in * axis.scale - 1);
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (mode == "tf_crop_and_resize") {
    if (axis.out == 1) return 0.5 * (axis.start + axis.end) * (in - 1);
    return axis.start * (in - 1) + x * (axis.end - axis.start) * (in - 1) / (out - 1);
  }
  if (mode == "pytorch_half_pixel" && axis.out == 1) return 0;
  if (mode == "half_pixel_symmetric") {
    const double adjustment = out / (axis.scale * in);
    return in / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
  }
  return (x + 0.5) / axis.scale - 0.5;
}

int64_t nearest_of(double source, const std::string& rounding) {
  if (rounding == "floor") return static_cast<int64_t>(std::floor(source));
  if (rounding == "ceil") return static_cast<int64_t>(std::ceil(source));
  if (rounding == "round_prefer_ceil") return static_cast<int64_t>(std::floor(source + 0.5));
  return static_cast<int64_t>(std::ceil(source - 0.5));
}

std::vector<double> weights_of(double fraction, bool cubic, double a) {
  if (!cubic) return {1 - fraction, fraction};
  const auto near_one = [a](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far_one = [a](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far_one(1 + fraction), near_one(fraction), near_one(1 - fraction), far_one(2 - fraction)};
}

struct How {
  std::string mode = "nearest";
  std::string coordinates = "half_pixel";
  std::string rounding = "round_prefer_floor";
  double cubic = -0.75;
  bool exclude_outside = false;
  double extrapolation = 0;
};

Tensor resized_by_nearest(Build& build, const Tensor& x, int64_t d, const AxisResize& axis,
                          const How& how) {
  std::vector<int64_t> places;
  for (int64_t at = 0; at < axis.out; ++at) {
    const int64_t place = nearest_of(source_of(axis, how.coordinates, at), how.rounding);
    places.push_back(std::clamp<int64_t>(place, 0, axis.in - 1));
  }
  return gather(build, x, d, build.constant(vector_of(places)));
}

Tensor resized_by_taps(Build& build, const Tensor& x, int64_t d, const AxisResize& axis,
                       const How& how) {
  const bool cubic = how.mode == "cubic";
  const int64_t taps = cubic ? 4 : 2;
  auto places = std::make_shared<HostTensor>(ElementType::i32, Shape{axis.out, taps});
  auto weights = std::make_shared<HostTensor>(ElementType::f32, Shape{axis.out, taps});
  for (int64_t at = 0; at < axis.out; ++at) {
    const double source = source_of(axis, how.coordinates, at);
    const double base = std::floor(source);
    std::vector<double> factors = weights_of(source - base, cubic, how.cubic);
    const bool outside = how.coordinates == "tf_crop_and_resize" &&
                         (source < 0 || source > static_cast<double>(axis.in - 1));
    double sum = 0;
    for (int64_t t = 0; t < taps; ++t) {
      const double place = base + static_cast<double>(t - (cubic ? 1 : 0));
      const bool inside = place >= 0 && place < static_cast<double>(axis.in);
      if (how.exclude_outside && !inside) factors[static_cast<size_t>(t)] = 0;
      sum += factors[static_cast<size_t>(t)];
      const double kept = std::clamp(place, 0.0, static_cast<double>(axis.in - 1));
      places->data<int32_t>()[at * taps + t] = outside ? -1 : static_cast<int32_t>(kept);
    }
    for (int64_t t = 0; t < taps; ++t) {
      const double factor = factors[static_cast<size_t>(t)];
      weights->data<float>()[at * taps + t] =
          static_cast<float>(how.exclude_outside && sum != 0 ? factor / sum : factor);
    }
  }
  AxisWalk walk{};
  walk.outer = extent(x.shape, 0, d);
  walk.axis = axis.in;
  walk.inner = extent(x.shape, d + 1, x.rank());
  walk.picks = axis.out;
  walk.first_flag = taps;
  Shape shape = x.shape;
  shape[static_cast<size_t>(d)] = axis.out;
  Tensor output = build.result({x}, x.type, shape);
  walk.count = output.count();
  build.run(math_family(x.type), "resample", {x, build.constant(places), build.constant(weights)},
            output, {value(static_cast<float>(how.extrapolation))}, walk,
            2.0 * static_cast<double>(taps));
  return output;
}

// Whether the kernel `resize`, for bilinear resizing of floats in NCHW or NHWC, computes the same.
bool fits_kernel(const Tensor& x, const std::vector<AxisResize>& axes, const How& how,
                 bool pixels) {
  const bool corners = how.coordinates == "align_corners";
  const bool halves = how.coordinates == "half_pixel" || how.coordinates == "pytorch_half_pixel";
  if (x.rank() != 4 || how.mode != "linear" || x.type != ElementType::f32 || x.known != nullptr ||
      how.exclude_outside || x.count() < 4096 || !(corners || halves)) {
    return false;
  }
  for (size_t d = 0; d < 4; ++d) {
    const double ratio = static_cast<double>(axes[d].out) / static_cast<double>(axes[d].in);
    const bool plane = pixels ? d == 1 || d == 2 : d >= 2;
    if (plane ? axes[d].out < 2 : axes[d].out != axes[d].in) return false;
    if (std::fabs(ratio - axes[d].scale) > 1e-12 * ratio) return false;
  }
  return true;
}

// A graph output ends in logical order. If the result is larger than the input, it is cheaper to
// rearrange the input.
bool better_in_own_order(const OpCall& call, const std::vector<AxisResize>& axes) {
  double growth = 1;
  for (const AxisResize& axis : axes) {
    growth *= static_cast<double>(axis.out) / static_cast<double>(std::max<int64_t>(1, axis.in));
  }
  return call.last && growth > 1;
}

// `pixels`: the layout is NHWC.
Tensor resized(OpCall& call, const Tensor& x, const std::vector<AxisResize>& axes, const How& how,
               bool pixels = false) {
  if (order_of(x) && better_in_own_order(call, axes)) {
    return resized(call, in_own_order(call.build, x), axes, how);
  }
  if (const auto order = order_of(x)) {
    return viewed(resized(call, x.view->source, permuted(axes, *order), how,
                          order == channels_last_order(x.rank())),
                  *order);
  }
  Build& build = call.build;
  if (how.mode != "nearest" && how.mode != "linear" && how.mode != "cubic") {
    reject(text("mode is \"", how.mode, "\", expected nearest, linear or cubic"));
  }
  if (how.mode != "nearest" && !is_float(x.type)) {
    unsupported(text(how.mode, " resizing of ", to_string(x.type), " is not supported"));
  }
  if (fits_kernel(x, axes, how, pixels)) {
    const Shape shape{axes[0].out, axes[1].out, axes[2].out, axes[3].out};
    return build.kernel("resize", {x}, x.type, shape,
                        {{"mode", std::string("bilinear")},
                         {"align_corners", how.coordinates == "align_corners"},
                         {"layout", std::string(pixels ? "nhwc" : "nchw")}});
  }
  Tensor result = x;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const AxisResize& axis = axes[static_cast<size_t>(d)];
    const bool crops =
        how.coordinates == "tf_crop_and_resize" && (axis.start != 0 || axis.end != 1);
    if (axis.in == axis.out && axis.scale == 1 && !crops) continue;
    if (axis.in == 0) {
      throw Error(Reason::shape_mismatch, text("axis ", d, " is empty and cannot be resized"));
    }
    result = how.mode == "nearest" ? resized_by_nearest(build, result, d, axis, how)
                                   : resized_by_taps(build, result, d, axis, how);
  }
  return result;
}

int64_t scaled_size(int64_t size, double scale) {
  const double out = std::floor(static_cast<double>(size) * scale);
  if (scale > 0 && out >= 0 && out < kLongestAxis) return static_cast<int64_t>(out);
  throw Error(Reason::shape_mismatch,
              text("a dimension of ", size, " cannot be scaled by ", scale));
}

void apply_scales(std::vector<AxisResize>& axes, const std::vector<int64_t>& which,
                  const std::vector<double>& scales) {
  if (scales.size() != which.size()) {
    throw Error(Reason::shape_mismatch, text(scales.size(), " scales for ", which.size(), " axes"));
  }
  for (size_t i = 0; i < which.size(); ++i) {
    AxisResize& axis = axes[static_cast<size_t>(which[i])];
    axis.scale = scales[i];
    axis.out = scaled_size(axis.in, scales[i]);
  }
}

void apply_sizes(OpCall& call, std::vector<AxisResize>& axes, const std::vector<int64_t>& which,
                 std::vector<int64_t> sizes) {
  if (sizes.size() != which.size()) {
    throw Error(Reason::shape_mismatch, text(sizes.size(), " sizes for ", which.size(), " axes"));
  }
  for (int64_t size : sizes) {
    if (size < 1 || size > kLongestAxis)
      throw Error(Reason::shape_mismatch,
                  text("size ", size, " is out of range 1 to ", kLongestAxis));
  }
  const std::string policy = call.text("keep_aspect_ratio_policy", "stretch");
  double common = 0;
  for (size_t i = 0; i < which.size(); ++i) {
    const auto in = static_cast<double>(axes[static_cast<size_t>(which[i])].in);
    const double scale = static_cast<double>(sizes[i]) / in;
    const bool better = policy == "not_larger" ? scale < common : scale > common;
    if (i == 0 || better) common = scale;
  }
  for (size_t i = 0; i < which.size(); ++i) {
    AxisResize& axis = axes[static_cast<size_t>(which[i])];
    if (policy == "stretch") {
      axis.out = sizes[i];
      axis.scale = static_cast<double>(sizes[i]) / static_cast<double>(axis.in);
    } else {
      axis.scale = common;
      axis.out = static_cast<int64_t>(std::llround(common * static_cast<double>(axis.in)));
    }
  }
}

std::vector<AxisResize> unchanged(const Tensor& x) {
  std::vector<AxisResize> axes;
  for (int64_t size : x.shape) axes.push_back({size, size, 1, 0, 1});
  return axes;
}

void resize(OpCall& call) {
  Build& build = call.build;
  const Tensor& x = call.in(0);
  How how;
  how.mode = call.text("mode", "nearest");
  std::vector<AxisResize> axes = unchanged(x);
  std::vector<int64_t> which;
  for (int64_t d = 0; d < x.rank(); ++d) which.push_back(d);
  if (call.opset < 11) {
    how.coordinates = "asymmetric";
    how.rounding = "floor";
    apply_scales(axes, which, build.values(call.in(1)).numbers());
    call.set(0, resized(call, x, axes, how));
    return;
  }
  how.coordinates = call.text("coordinate_transformation_mode", "half_pixel");
  how.rounding = call.text("nearest_mode", "round_prefer_floor");
  how.cubic = call.real("cubic_coeff_a", -0.75);
  how.exclude_outside = call.integer("exclude_outside", 0) != 0;
  how.extrapolation = call.real("extrapolation_value", 0);
  if (call.has_attribute("axes")) {
    which.clear();
    for (int64_t axis : call.integers("axes")) which.push_back(normal_axis(axis, x.rank()));
  }
  const bool by_sizes = call.has(3) && call.in(3).count() > 0;
  if (by_sizes) {
    apply_sizes(call, axes, which, build.integers(call.in(3)));
  } else {
    apply_scales(axes, which, build.values(call.in(2)).numbers());
  }
  bool smaller = false;
  for (const AxisResize& axis : axes) smaller = smaller || axis.out < axis.in;
  if (call.integer("antialias", 0) != 0 && smaller && how.mode != "nearest") {
    unsupported("antialiased downsampling is not supported");
  }
  if (how.coordinates == "tf_crop_and_resize") {
    const std::vector<double> roi = build.values(call.in(1)).numbers();
    if (roi.size() != 2 * which.size()) {
      throw Error(Reason::shape_mismatch,
                  text("roi has ", roi.size(), " values, expected ", 2 * which.size()));
    }
    for (size_t i = 0; i < which.size(); ++i) {
      axes[static_cast<size_t>(which[i])].start = roi[i];
      axes[static_cast<size_t>(which[i])].end = roi[i + which.size()];
    }
  }
  call.set(0, resized(call, x, axes, how));
}

void upsample(OpCall& call) {
  const Tensor& x = call.in(0);
  How how;
  how.mode = call.text("mode", "nearest");
  if (how.mode == "bilinear") how.mode = "linear";
  how.coordinates = "asymmetric";
  how.rounding = "floor";
  std::vector<AxisResize> axes = unchanged(x);
  std::vector<int64_t> which;
  for (int64_t d = 0; d < x.rank(); ++d) which.push_back(d);
  apply_scales(axes, which,
               call.has_attribute("scales") ? call.reals("scales")
                                            : call.build.values(call.in(1)).numbers());
  call.set(0, resized(call, x, axes, how));
}

}  // namespace

Operators resize_operators() {
  return {
      {"Resize", resize},
      {"Upsample", upsample},
  };
}

}  // namespace dala::model
