// Kernels that move pixels: crop, flip and rotate.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/image/colour/colour.hpp"
#include "kernels/image/geometry/move_args.h"
#include "kernels/image/pixels/pixels.hpp"

namespace dala {
namespace {

std::shared_ptr<Program> geometry_program(Planner& planner, DType dtype) {
  return planner.program(text("geometry ", to_string(dtype)), [&] {
    ProgramSource source{element_defines(dtype), {}};
    for (const std::string channels : {"1", "3", "4"}) {
      source.parts.push_back(
          {planner.cpu_class() ? "image/geometry/move_cpu.cl" : "image/geometry/move_gpu.cl",
           {{"ENTRY", "move_" + channels}, {"CHANNELS", channels}}});
      source.parts.push_back(
          {"image/geometry/turn.cl", {{"ENTRY", "turn_" + channels}, {"CHANNELS", channels}}});
    }
    return source;
  });
}

template <typename View>
Launch launch_of(Planner& planner, const std::string& entry, const Call& call, int64_t channels,
                 View view) {
  Launch launch;
  if (call.output.count() == 0) return launch;
  Range range;
  if (planner.cpu_class()) {
    // Strips of whole tiles of move_cpu.cl, if there are enough of them.
    const int64_t rows = ceil_div(view.height, planner.busy_groups());
    view.strip = rows < 16 ? rows : std::min<int64_t>(rows / 16 * 16, 64);
    range.global[0] = static_cast<size_t>(ceil_div(view.height, view.strip));
  } else {
    const auto items = static_cast<int64_t>(planner.group_items(256));
    range.local[0] = static_cast<size_t>(items);
    range.global[0] = static_cast<size_t>(ceil_div(view.height * view.width, items) * items);
  }
  launch.steps.push_back(KernelStep{geometry_program(planner, call.output.dtype),
                                    text(entry, "_", channels),
                                    {input(0), output(), value(view)},
                                    range});
  launch.work = 2.0 * static_cast<double>(call.output.bytes());
  return launch;
}

// Input and output with the same number of channels, and any height and width.
struct Images {
  Image from;
  Image to;
};
Images need_images(const std::string& kernel, const Call& call) {
  need_output_dtype(kernel, call, {call.inputs[0].dtype});
  const Images images{shaped_image(call.inputs[0], text("input 0 of ", kernel)),
                      shaped_image(call.output, text("the output of ", kernel))};
  if (images.from.channels == images.to.channels) return images;
  throw Error(
      Reason::shape_mismatch,
      text("the output of ", kernel, " has shape ", to_string(call.output.shape), " and ",
           images.to.channels, " channels, expected ", images.from.channels, " like input 0"));
}

ParamSpec pixels_param(const std::string& name, const std::string& summary) {
  ParamSpec param;
  param.name = name;
  param.kind = ParamSpec::Kind::integer;
  param.min = 0;
  param.max = 1 << 30;
  param.summary = summary;
  return param;
}

void check_crop(const Call& call) {
  const Images images = need_images("crop", call);
  const int64_t x = call.integer("x");
  const int64_t y = call.integer("y");
  for (const auto& [name, extent] :
       {std::pair{"width", images.to.width}, std::pair{"height", images.to.height}}) {
    if (!call.has(name) || call.integer(name) == extent) continue;
    throw Error(Reason::shape_mismatch,
                text("the output of crop has shape ", to_string(call.output.shape),
                     ", expected the ", name, " ", call.integer(name)));
  }
  if (x + images.to.width <= images.from.width && y + images.to.height <= images.from.height) {
    return;
  }
  throw Error(Reason::invalid_param,
              text("crop of ", images.to.width, " x ", images.to.height, " at ", x, ", ", y,
                   " exceeds the image of ", images.from.width, " x ", images.from.height));
}

Descriptor crop_kernel() {
  ParamSpec x = pixels_param("x", "the first column");
  ParamSpec y = pixels_param("y", "the first row");
  x.fallback = int64_t{0};
  y.fallback = int64_t{0};
  Descriptor crop;
  crop.name = "crop";
  crop.summary = "The part of an image that begins at (x, y) and has the output's size.";
  crop.dtypes = kImageDTypes;
  crop.output_rule = "the input's element type and channels, the part's height and width";
  crop.params = {x, y, pixels_param("width", "of the part; must be the output's if given"),
                 pixels_param("height", "of the part; must be the output's if given")};
  crop.check = check_crop;
  crop.plan = [](const Call& call, Planner& planner) {
    const auto [from, to] = need_images("crop", call);
    const Move view{to.height,  to.width, 0, call.integer("y") * from.width + call.integer("x"),
                    from.width, 1};
    return launch_of(planner, "move", call, from.channels, view);
  };
  return crop;
}

Descriptor flip_kernel() {
  ParamSpec direction;
  direction.name = "direction";
  direction.kind = ParamSpec::Kind::choice;
  direction.choices = {"horizontal", "vertical", "both"};
  direction.fallback = direction.choices[0];
  direction.summary = "exchanges left and right, top and bottom, or both";
  Descriptor flip;
  flip.name = "flip";
  flip.summary = "Mirrors an image.";
  flip.dtypes = kImageDTypes;
  flip.output_rule = "the input's element type and shape";
  flip.params = image_params({direction});
  flip.check = [](const Call& call) { check_same_image("flip", call); };
  flip.plan = [](const Call& call, Planner& planner) {
    const Image image = input_image(call, "flip");
    const std::string mode = call.choice("direction");
    Move view{image.height, image.width, 0, 0, image.width, 1};
    if (mode != "vertical") {
      view.across = -1;
      view.start += image.width - 1;
    }
    if (mode != "horizontal") {
      view.down = -image.width;
      view.start += (image.height - 1) * image.width;
    }
    return launch_of(planner, "move", call, image.channels, view);
  };
  return flip;
}

// The number of quarter turns clockwise, 0 to 3, if the angle is a multiple of 90 degrees and the
// output has the rotated size.
std::optional<int> quarters(double angle, const Image& from, const Image& to) {
  if (std::fmod(angle, 90) != 0) return std::nullopt;
  const int turns = (static_cast<int>(angle / 90) % 4 + 4) % 4;
  const bool upright = turns % 2 == 0;
  const bool fits = upright ? to.height == from.height && to.width == from.width
                            : to.height == from.width && to.width == from.height;
  return fits ? std::optional(turns) : std::nullopt;
}

Move quarter_move(const Image& from, const Image& to, int turns) {
  const int64_t last = from.height * from.width - 1;
  switch (turns) {
    case 1:
      return {to.height, to.width, 0, last - (from.width - 1), 1, -from.width};
    case 2:
      return {to.height, to.width, 0, last, -from.width, -1};
    case 3:
      return {to.height, to.width, 0, from.width - 1, -1, from.width};
    default:
      return {to.height, to.width, 0, 0, from.width, 1};
  }
}

Turn turn_of(const Image& from, const Image& to, double angle) {
  // Multiples of 90 degrees have no rounding errors.
  const bool quarter = std::fmod(angle, 90) == 0;
  const double radians = angle * std::numbers::pi / 180;
  const double sine = quarter ? std::round(std::sin(radians)) : std::sin(radians);
  const double cosine = quarter ? std::round(std::cos(radians)) : std::cos(radians);
  const double x = static_cast<double>(to.width - 1) / 2;
  const double y = static_cast<double>(to.height - 1) / 2;
  Turn view{to.height, to.width, 0, from.height, from.width, {}, {}, 0, 0};
  view.to_x = {static_cast<float>(cosine), static_cast<float>(sine)};
  view.to_y = {static_cast<float>(-sine), static_cast<float>(cosine)};
  view.x_0 = static_cast<float>(static_cast<double>(from.width - 1) / 2 - cosine * x - sine * y);
  view.y_0 = static_cast<float>(static_cast<double>(from.height - 1) / 2 + sine * x - cosine * y);
  return view;
}

Descriptor rotate_kernel() {
  ParamSpec angle;
  angle.name = "angle";
  angle.required = true;
  angle.min = -360;
  angle.max = 360;
  angle.summary = "in degrees, clockwise";
  Descriptor rotate;
  rotate.name = "rotate";
  rotate.summary =
      "Rotates an image about its centre, which becomes the centre of the output: exact for "
      "multiples of 90 degrees if the output has the rotated size, otherwise bilinear, with 0 "
      "outside of the image.";
  rotate.dtypes = kImageDTypes;
  rotate.output_rule = "the input's element type and channels, any height and width";
  rotate.params = {angle};
  rotate.check = [](const Call& call) { need_images("rotate", call); };
  rotate.plan = [](const Call& call, Planner& planner) {
    const auto [from, to] = need_images("rotate", call);
    const double degrees = call.number("angle");
    if (const auto turns = quarters(degrees, from, to)) {
      return launch_of(planner, "move", call, from.channels, quarter_move(from, to, *turns));
    }
    return launch_of(planner, "turn", call, from.channels, turn_of(from, to, degrees));
  };
  return rotate;
}

}  // namespace

Descriptors geometry_kernels() { return {crop_kernel(), flip_kernel(), rotate_kernel()}; }

}  // namespace dala
