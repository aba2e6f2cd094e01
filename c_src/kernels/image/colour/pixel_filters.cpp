#include <algorithm>

#include "kernels/checks.hpp"
#include "kernels/image/colour/colour.hpp"
#include "kernels/image/colour/white_balance.hpp"
#include "kernels/image/pixels/pixels.hpp"

namespace dala {
namespace {

// The properties in which filters differ.
struct Filter {
  std::string name;
  std::string summary;
  bool needs_place = false;
  bool needs_colour = true;  // whether images of one channel are refused
  std::vector<ParamSpec> params = {};
  std::function<PixelValues(const Call&)> values = {};
};

ParamSpec value_param(double max, const std::string& summary) {
  ParamSpec param;
  param.name = "value";
  param.required = true;
  param.min = -1;
  param.max = max;
  param.summary = summary;
  return param;
}

// The named parameter as the only value.
std::function<PixelValues(const Call&)> single(const std::string& name) {
  return [name](const Call& call) { return PixelValues{{static_cast<float>(call.number(name))}}; };
}

Image need_colour(const std::string& kernel, const Call& call) {
  const Image image = input_image(call, kernel);
  if (image.channels != 1) return image;
  throw Error(Reason::shape_mismatch,
              text("input 0 of ", kernel, " has shape ", to_string(call.inputs[0].shape),
                   " and one channel, expected 3 or 4 channels"));
}

// The shape of the input with another number of channels; flat if the input is.
Shape with_channels(const Call& call, const Image& image, int64_t channels) {
  if (call.inputs[0].shape.size() == 1) return {image.height * image.width * channels};
  return {image.height, image.width, channels};
}

Descriptor described(const Filter& filter) {
  Descriptor descriptor;
  descriptor.name = filter.name;
  descriptor.summary = filter.summary;
  descriptor.dtypes = kImageDTypes;
  descriptor.params = image_params(filter.params);
  return descriptor;
}

// Sets the launch of a filter, and its body if it can be fused with other stages.
void set_plan(Descriptor& descriptor, const PixelOp& op,
              const std::function<int64_t(const Call&, const Image&)>& out_channels,
              const std::function<PixelValues(const Call&)>& values) {
  const std::string name = descriptor.name;
  descriptor.plan = [=](const Call& call, Planner& planner) {
    const Image image = input_image(call, name);
    return pixel_launch(planner, op, call, image, out_channels(call, image), values(call));
  };
  if (op.needs_place) return;
  descriptor.body = [=](const Call& call, const Planner&) {
    const Image image = input_image(call, name);
    return pixel_body(op, call, image, out_channels(call, image), values(call));
  };
}

PixelValues no_values(const Call&) { return {}; }

// A filter whose output has the type and shape of its input.
Descriptor same_shape(const Filter& filter) {
  Descriptor descriptor = described(filter);
  descriptor.output_rule = "the input's element type and shape";
  const std::string name = filter.name;
  descriptor.check = [name, needs_colour = filter.needs_colour](const Call& call) {
    check_same_image(name, call);
    if (needs_colour) need_colour(name, call);
  };
  set_plan(
      descriptor, {"pixel_" + name, filter.needs_place},
      [](const Call&, const Image& image) { return image.channels; }, filter.values);
  return descriptor;
}

Descriptor grayscale_kernel() {
  Descriptor descriptor = described(
      {"grayscale", "The BT.601 luma 0.299 r + 0.587 g + 0.114 b of each pixel.", false, false});
  descriptor.output_rule =
      "the input's element type; its shape, or {h, w} or {h, w, 1} for the luma alone";
  descriptor.check = [](const Call& call) {
    const Image image = input_image(call, "grayscale");
    need_output_dtype("grayscale", call, {call.inputs[0].dtype});
    std::vector<Shape> allowed{call.inputs[0].shape};
    if (call.inputs[0].shape.size() == 1) {
      allowed.push_back({image.height * image.width});
    } else {
      for (const Shape& shape :
           {Shape{image.height, image.width}, Shape{image.height, image.width, 1}}) {
        if (shape != allowed[0]) allowed.push_back(shape);
      }
    }
    need_output_shape("grayscale", call, allowed);
  };
  set_plan(
      descriptor, {"pixel_grayscale"},
      [](const Call& call, const Image& image) {
        return call.output.count() == call.inputs[0].count() ? image.channels : 1;
      },
      no_values);
  return descriptor;
}

// The colour differences of the key, the threshold and the slope of alpha.
PixelValues key_values(const Call& call) {
  std::vector<int64_t> key = call.integers("color");
  key.resize(3, key[0]);
  const double r = static_cast<double>(key[0]) / 255;
  const double g = static_cast<double>(key[1]) / 255;
  const double b = static_cast<double>(key[2]) / 255;
  const double y = 0.299 * r + 0.587 * g + 0.114 * b;
  // A softness of 0 is a ramp so steep that no level is on it.
  const double softness = std::max(call.number("softness"), 1e-6);
  return {{static_cast<float>(0.564 * (b - y)), static_cast<float>(0.713 * (r - y)),
           static_cast<float>(call.number("threshold")), static_cast<float>(1 / softness)}};
}

Descriptor chroma_key_kernel() {
  ParamSpec color;
  color.name = "color";
  color.kind = ParamSpec::Kind::integers;
  color.fallback = std::vector<double>{0, 255, 0};
  color.min = 0;
  color.max = 255;
  color.counts = {3};
  color.summary = "the colour that becomes transparent: {r, g, b}, or one number for a grey";
  Descriptor descriptor = described(
      {"chroma_key",
       "Alpha times clamp((d - threshold) / softness, 0, 1), d being the distance from the color "
       "in the plane of cb = 0.564 (b - y) and cr = 0.713 (r - y).",
       false,
       true,
       {color, number_param("threshold", 0.3, 0, 2, "distances up to this are transparent"),
        number_param("softness", 0.1, 0, 2,
                     "the additional distance over which alpha rises to 1")}});
  descriptor.output_rule = "the input's element type, {h, w, 4}";
  descriptor.check = [](const Call& call) {
    const Image image = need_colour("chroma_key", call);
    need_output_dtype("chroma_key", call, {call.inputs[0].dtype});
    need_output_shape("chroma_key", call, {with_channels(call, image, 4)});
  };
  set_plan(
      descriptor, {"pixel_chroma_key"}, [](const Call&, const Image&) { return 4; }, key_values);
  return descriptor;
}

// Conversions between images with and without alpha.
Descriptor alpha_kernel(const std::string& name, const std::string& summary, int64_t channels,
                        int64_t out_channels) {
  Descriptor descriptor = described({name, summary});
  descriptor.output_rule = text("the input's element type, {h, w, ", out_channels, "}");
  descriptor.check = [=](const Call& call) {
    const Image image = input_image(call, name);
    if (image.channels != channels) {
      throw Error(Reason::shape_mismatch,
                  text("input 0 of ", name, " has shape ", to_string(call.inputs[0].shape), " and ",
                       image.channels, " channels, expected ", channels));
    }
    need_output_dtype(name, call, {call.inputs[0].dtype});
    need_output_shape(name, call, {with_channels(call, image, out_channels)});
  };
  set_plan(
      descriptor, {"pixel_copy"}, [=](const Call&, const Image&) { return out_channels; },
      no_values);
  descriptor.sample = [=](DType dtype) {
    return Call{{{dtype, {1, 1, channels}}}, {dtype, {1, 1, out_channels}}, {}};
  };
  return descriptor;
}

PixelValues gain_values(const Call& call) {
  const std::array<double, 3> gains = white_balance_gains(call.number("temperature"));
  return {
      {static_cast<float>(gains[0]), static_cast<float>(gains[1]), static_cast<float>(gains[2])}};
}

}  // namespace

Descriptors pixel_filter_kernels() {
  const double most = 4;
  return {
      grayscale_kernel(),
      chroma_key_kernel(),
      alpha_kernel("rgb_to_rgba", "RGB (rgb24 video) as RGBA, with alpha 1 (255).", 3, 4),
      alpha_kernel("rgba_to_rgb", "RGBA as RGB (rgb24 video), without its alpha.", 4, 3),
      same_shape({"sepia",
                  "Moves colours towards brown: in + intensity * (sepia - in), sepia being (0.393, "
                  "0.769, 0.189), (0.349, 0.686, 0.168) and (0.272, 0.534, 0.131) times (r, g, b).",
                  false,
                  true,
                  {number_param("intensity", 0.8, 0, 1, "0 is the input, 1 is all brown")},
                  single("intensity")}),
      same_shape({"vignette",
                  "Darkens towards the corners: in * (1 - intensity * d^2), d being the distance "
                  "from the centre, each axis measured in half the image's extent, over sqrt(2).",
                  true,
                  false,
                  {number_param("intensity", 0.5, 0, 1, "the share of light that corners lose")},
                  single("intensity")}),
      same_shape({"brightness",
                  "in + value, for colours from 0 to 1.",
                  false,
                  false,
                  {value_param(1, "the value added; 0 changes nothing")},
                  single("value")}),
      same_shape({"contrast",
                  "in + value * (in - 0.5), for colours from 0 to 1.",
                  false,
                  false,
                  {value_param(most, "-1 is all grey, 0 the input, 1 doubles the contrast")},
                  single("value")}),
      same_shape({"saturation",
                  "in + value * (in - y), y being the BT.601 luma.",
                  false,
                  false,
                  {value_param(most, "-1 is all grey, 0 the input, 1 doubles the saturation")},
                  single("value")}),
      same_shape({"threshold",
                  "White where the BT.601 luma is at least the level, black elsewhere.",
                  false,
                  false,
                  {number_param("level", 0.5, 0, 1, "0 makes everything white")},
                  single("level")}),
      same_shape(
          {"white_balance",
           "Multiplies colours by gains that map white in light of that temperature to white in "
           "daylight, (light(6500) / light(temperature))^(1 / 2.2), scaled to keep the luma of "
           "white.",
           false,
           true,
           {number_param("temperature", kDaylight, kWarmestLight, kColdestLight,
                         "of the light in kelvin; 6500 changes nothing, higher is warmer")},
           gain_values}),
      same_shape(
          {"hdr",
           "Brightens shadows and preserves highlights: v * (1 + v / 4) / (1 + v), where v = 2 * "
           "exposure * in.",
           false,
           false,
           {number_param("exposure", 1, 0, 16, "1 keeps black and white")},
           [](const Call& call) {
             return PixelValues{{static_cast<float>(2 * call.number("exposure"))}};
           }}),
  };
}

}  // namespace dala
