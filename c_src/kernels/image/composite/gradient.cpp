// generate_gradient: an image without inputs.
#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/image/colour/colour.hpp"
#include "kernels/image/pixels/pixels.hpp"

namespace dala {
namespace {

Image need_rgba(const Call& call) {
  const Image image = image_of(call, call.output, "the output of generate_gradient");
  if (image.channels == 4) return image;
  throw Error(Reason::shape_mismatch,
              text("the output of generate_gradient has shape ", to_string(call.output.shape),
                   " and ", image.channels, " channels, expected 4"));
}

float step(int64_t extent) {
  return extent > 1 ? static_cast<float>(255.0 / static_cast<double>(extent - 1)) : 0;
}

}  // namespace

Descriptor gradient_kernel() {
  Descriptor gradient;
  gradient.name = "generate_gradient";
  gradient.summary =
      "Fills an RGBA image: red increases with x from 0 to 255, green with y, blue is 128, alpha "
      "255; divided by 255 for f32.";
  gradient.inputs = 0;
  gradient.dtypes = kImageDTypes;
  gradient.output_rule = "u8 or f32 {h, w, 4}";
  gradient.params = image_params({});
  gradient.check = [](const Call& call) {
    need_output_dtype("generate_gradient", call, kImageDTypes);
    need_rgba(call);
  };
  gradient.plan = [](const Call& call, Planner& planner) {
    Launch launch;
    const Image image = need_rgba(call);
    if (element_count(image) == 0) return launch;
    const DType dtype = call.output.dtype;
    const auto program = planner.program(text("gradient ", to_string(dtype)), [&] {
      return ProgramSource{element_defines(dtype), {{"image/composite/gradient.cl"}}};
    });
    const Chunks chunks = chunks_of(planner, image.height * image.width);
    launch.steps.push_back(
        KernelStep{program,
                   "gradient",
                   {output(), value(image.height), value(image.width), value(chunks.chunk),
                    value(step(image.width)), value(step(image.height))},
                   chunks.range});
    launch.work = static_cast<double>(call.output.bytes());
    return launch;
  };
  return gradient;
}

}  // namespace dala
