// Kernels that combine two images: blend and overlay.
#include <algorithm>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/image/colour/colour.hpp"
#include "kernels/image/composite/over_args.h"
#include "kernels/image/pixels/pixels.hpp"

namespace dala {
namespace {

std::string overlay_entry(int64_t channels, int64_t over_channels) {
  return text("overlay_", channels, "_", over_channels);
}

std::shared_ptr<Program> composite_program(Planner& planner, DType dtype) {
  return planner.program(text("composite ", to_string(dtype)), [&] {
    ProgramSource source{element_defines(dtype), {{"image/composite/blend.cl"}}};
    for (const auto& [channels, over] :
         {std::pair{1, 1}, std::pair{3, 3}, std::pair{3, 4}, std::pair{4, 3}, std::pair{4, 4}}) {
      source.parts.push_back({planner.cpu_class() ? "image/composite/overlay_cpu.cl"
                                                  : "image/composite/overlay_gpu.cl",
                              {{"ENTRY", overlay_entry(channels, over)},
                               {"CHANNELS", std::to_string(channels)},
                               {"OVER_CHANNELS", std::to_string(over)}}});
    }
    return source;
  });
}

Descriptor blend_kernel() {
  Descriptor blend;
  blend.name = "blend";
  blend.summary = "Blends two images: a + alpha * (b - a) in all channels.";
  blend.inputs = 2;
  blend.dtypes = kImageDTypes;
  blend.output_rule = "the inputs' element type and shape";
  blend.params = image_params({number_param("alpha", 0.5, 0, 1, "0 is input 0, 1 is input 1")});
  blend.check = [](const Call& call) {
    need_same_inputs("blend", call);
    check_same_image("blend", call);
    if (call.inputs[0].shape == call.inputs[1].shape) return;
    throw Error(Reason::shape_mismatch,
                text("input 1 of blend has shape ", to_string(call.inputs[1].shape), ", expected ",
                     to_string(call.inputs[0].shape), " like input 0"));
  };
  blend.plan = [](const Call& call, Planner& planner) {
    Launch launch;
    launch.in_place = true;
    const int64_t count = call.output.count();
    if (count == 0) return launch;
    const Chunks chunks = chunks_of(planner, count);
    launch.steps.push_back(
        KernelStep{composite_program(planner, call.output.dtype),
                   "blend",
                   {input(0), input(1), output(), value(static_cast<float>(call.number("alpha"))),
                    value(count), value(chunks.chunk)},
                   chunks.range});
    launch.work = 3.0 * static_cast<double>(call.output.bytes());
    return launch;
  };
  return blend;
}

Image need_over(const Call& call) {
  const Image base = shaped_image(call.inputs[0], "input 0 of overlay");
  const Image over = shaped_image(call.inputs[1], "input 1 of overlay");
  if ((base.channels == 1) == (over.channels == 1)) return over;
  throw Error(Reason::shape_mismatch,
              text("input 1 of overlay has ", over.channels, " channels, expected ",
                   base.channels == 1 ? "1" : "3 or 4", " for an input 0 of ", base.channels));
}

Launch plan_overlay(const Call& call, Planner& planner) {
  Launch launch;
  // Input 1 is read at other positions than the output is written.
  launch.in_place = call.inputs[1] != call.output;
  const Image base = shaped_image(call.inputs[0], "input 0 of overlay");
  const Image over = need_over(call);
  if (element_count(base) == 0) return launch;
  Over view{
      base.height,       base.width,        over.height, over.width,
      call.integer("x"), call.integer("y"), 0,           static_cast<float>(call.number("alpha"))};
  Range range;
  if (planner.cpu_class()) {
    view.strip = std::clamp<int64_t>(ceil_div(base.height, planner.busy_groups()), 1, 64);
    range.global[0] = static_cast<size_t>(ceil_div(base.height, view.strip));
  } else {
    range = chunks_of(planner, base.height * base.width).range;
  }
  launch.steps.push_back(KernelStep{composite_program(planner, call.output.dtype),
                                    overlay_entry(base.channels, over.channels),
                                    {input(0), input(1), output(), value(view)},
                                    range});
  launch.work =
      2.0 * static_cast<double>(call.output.bytes()) + static_cast<double>(call.inputs[1].bytes());
  return launch;
}

ParamSpec corner_param(const std::string& name, const std::string& summary) {
  ParamSpec param;
  param.name = name;
  param.kind = ParamSpec::Kind::integer;
  param.fallback = int64_t{0};
  param.min = -(1 << 30);
  param.max = 1 << 30;
  param.summary = summary;
  return param;
}

Descriptor overlay_kernel() {
  Descriptor overlay;
  overlay.name = "overlay";
  overlay.summary =
      "Composites input 1 over input 0, its upper left corner at (x, y): s = alpha * its alpha, d "
      "= a * (1 - s), colours weighted by s and d, the result's alpha s + d. Input 1 is clipped to "
      "input 0.";
  overlay.inputs = 2;
  overlay.dtypes = kImageDTypes;
  overlay.output_rule = "the element type and shape of input 0";
  overlay.params = {corner_param("x", "the column of its corner, which may be outside"),
                    corner_param("y", "the row of its corner, which may be outside"),
                    number_param("alpha", 1, 0, 1, "the opacity of input 1")};
  overlay.check = [](const Call& call) {
    need_same_inputs("overlay", call);
    need_over(call);
    need_output_dtype("overlay", call, {call.inputs[0].dtype});
    need_output_shape("overlay", call, {call.inputs[0].shape});
  };
  overlay.plan = plan_overlay;
  return overlay;
}

}  // namespace

Descriptors composite_kernels() { return {blend_kernel(), overlay_kernel()}; }

}  // namespace dala
