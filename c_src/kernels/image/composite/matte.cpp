// matte: selects between two images by a mask.
#include <algorithm>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/image/colour/colour.hpp"
#include "kernels/image/composite/matte_args.h"
#include "kernels/image/pixels/pixels.hpp"

namespace dala {
namespace {

std::shared_ptr<Program> matte_program(Planner& planner, DType dtype) {
  return planner.program(text("matte ", to_string(dtype)), [&] {
    return ProgramSource{element_defines(dtype), {{"image/composite/matte.cl"}}};
  });
}

// The region of the mask over the images; a width or height of 0 stands for the rest of the mask.
Matte view_of(const Call& call) {
  const Image picture = shaped_image(call.inputs[0], "input 0 of matte");
  const Image mask = shaped_image(call.inputs[2], "input 2 of matte");
  Matte view{picture.height, picture.width, picture.channels, mask.height, mask.width};
  view.x = static_cast<float>(call.number("x"));
  view.y = static_cast<float>(call.number("y"));
  const auto extent = [&](const char* name, double whole, float start) {
    const double given = call.number(name);
    return given > 0 ? given : std::max(whole - start, 0.0);
  };
  const double width = extent("region_width", static_cast<double>(mask.width), view.x);
  const double height = extent("region_height", static_cast<double>(mask.height), view.y);
  view.step_x = static_cast<float>(width / static_cast<double>(std::max<int64_t>(1, view.width)));
  view.step_y = static_cast<float>(height / static_cast<double>(std::max<int64_t>(1, view.height)));
  return view;
}

void check_matte(const Call& call) {
  need_same_inputs("matte", call);
  const Image mask = shaped_image(call.inputs[2], "input 2 of matte");
  if (mask.channels != 1 || element_count(mask) == 0) {
    throw Error(Reason::shape_mismatch,
                text("input 2 of matte has shape ", to_string(call.inputs[2].shape),
                     ", expected {height, width} of at least one pixel"));
  }
  shaped_image(call.inputs[0], "input 0 of matte");
  if (call.inputs[0].shape != call.inputs[1].shape) {
    throw Error(Reason::shape_mismatch,
                text("input 1 of matte has shape ", to_string(call.inputs[1].shape), ", expected ",
                     to_string(call.inputs[0].shape), " like input 0"));
  }
  need_output_dtype("matte", call, {call.inputs[0].dtype});
  need_output_shape("matte", call, {call.inputs[0].shape});
}

Launch plan_matte(const Call& call, Planner& planner) {
  Launch launch;
  // The mask is read at other positions than the output is written.
  launch.in_place = call.inputs[2] != call.output;
  const Matte view = view_of(call);
  const int64_t pixels = view.height * view.width;
  if (pixels * view.channels == 0) return launch;
  const Chunks chunks = chunks_of(planner, pixels);
  launch.steps.push_back(
      KernelStep{matte_program(planner, call.output.dtype),
                 "matte",
                 {input(0), input(1), input(2), output(), value(view), value(chunks.chunk)},
                 chunks.range});
  launch.work =
      3.0 * static_cast<double>(call.output.bytes()) + static_cast<double>(call.inputs[2].bytes());
  return launch;
}

}  // namespace

Descriptor matte_kernel() {
  Descriptor matte;
  matte.name = "matte";
  matte.summary =
      "Input 0 where the mask, input 2, is white, input 1 where it is black, blended between: b + "
      "m * (a - b) in all channels. A mask of another size is interpolated.";
  matte.inputs = 3;
  matte.dtypes = kImageDTypes;
  matte.output_rule = "the element type and shape of input 0";
  matte.params = {
      number_param("x", 0, -1e6, 1e6, "the column of the mask at which the images begin"),
      number_param("y", 0, -1e6, 1e6, "the row of the mask at which the images begin"),
      number_param("region_width", 0, 0, 1e6,
                   "the width of the mask's region over the images; 0 for the rest"),
      number_param("region_height", 0, 0, 1e6, "the height of that region; 0 for the rest")};
  matte.check = check_matte;
  matte.plan = plan_matte;
  return matte;
}

}  // namespace dala
