// Video frames from and to RGBA.
#include <algorithm>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/image/colour/colour.hpp"
#include "kernels/image/pixels/pixels.hpp"
#include "kernels/image/video/yuv_args.h"

namespace dala {
namespace {

// The luma coefficients of red and blue, and the ranges of luma and chroma.
struct Coding {
  double red = 0.299;
  double blue = 0.114;
  double black = 0;
  double luma_span = 255;
  double chroma_span = 255;

  double green() const { return 1 - red - blue; }
};

Coding coding_of(const Call& call) {
  Coding coding;
  if (call.choice("matrix") == "bt709") {
    coding.red = 0.2126;
    coding.blue = 0.0722;
  }
  if (call.choice("range") == "limited") {
    coding.black = 16;
    coding.luma_span = 219;
    coding.chroma_span = 224;
  }
  return coding;
}

Decoding decoding_of(const Call& call) {
  const Coding coding = coding_of(call);
  const double gain = 255 / coding.luma_span;
  const double chroma = 255 / coding.chroma_span;
  const double r_v = 2 * (1 - coding.red) * chroma;
  const double b_u = 2 * (1 - coding.blue) * chroma;
  const double g_v = -r_v * coding.red / coding.green();
  const double g_u = -b_u * coding.blue / coding.green();
  const double dark = -coding.black * gain;
  Decoding view;
  view.gain = static_cast<float>(gain);
  view.r_v = static_cast<float>(r_v);
  view.r_0 = static_cast<float>(dark - 128 * r_v);
  view.g_u = static_cast<float>(g_u);
  view.g_v = static_cast<float>(g_v);
  view.g_0 = static_cast<float>(dark - 128 * (g_u + g_v));
  view.b_u = static_cast<float>(b_u);
  view.b_0 = static_cast<float>(dark - 128 * b_u);
  return view;
}

std::array<float, 4> weights(double r, double g, double b, double added) {
  return {static_cast<float>(r), static_cast<float>(g), static_cast<float>(b),
          static_cast<float>(added)};
}

Encoding encoding_of(const Call& call) {
  const Coding coding = coding_of(call);
  const double gain = coding.luma_span / 255;
  const double u = coding.chroma_span / 255 / (2 * (1 - coding.blue));
  const double v = coding.chroma_span / 255 / (2 * (1 - coding.red));
  Encoding view;
  view.to_y = weights(coding.red * gain, coding.green() * gain, coding.blue * gain, coding.black);
  view.to_u = weights(-coding.red * u, -coding.green() * u, (1 - coding.blue) * u, 128);
  view.to_v = weights((1 - coding.red) * v, -coding.green() * v, -coding.blue * v, 128);
  return view;
}

// Checks that the image is RGBA, and that the frame has the number of samples of the format.
Image need_frame(const std::string& kernel, const Call& call, bool decodes) {
  const TensorType& picture = decodes ? call.output : call.inputs[0];
  const TensorType& frame = decodes ? call.inputs[0] : call.output;
  const std::string output = text("the output of ", kernel);
  const std::string input = text("input 0 of ", kernel);
  const Image image = image_of(call, picture, decodes ? output : input);
  if (image.channels != 4) {
    throw Error(Reason::shape_mismatch,
                text(decodes ? output : input, " has shape ", to_string(picture.shape), " and ",
                     image.channels, " channels, expected 4"));
  }
  const int64_t chroma = ceil_div(image.height, 2) * ceil_div(image.width, 2);
  const int64_t samples = image.height * image.width + 2 * chroma;
  if (frame.count() == samples) return image;
  throw Error(Reason::shape_mismatch,
              text(decodes ? input : output, " has ", frame.count(), " elements, expected ",
                   samples, ": ", call.choice("format"), " of ", image.width, " x ", image.height));
}

std::shared_ptr<Program> yuv_program(Planner& planner) {
  return planner.program("yuv", [&] {
    return ProgramSource{
        element_defines(DType::u8),
        {{planner.cpu_class() ? "image/video/yuv_cpu.cl" : "image/video/yuv_gpu.cl"}}};
  });
}

template <typename View>
Launch launch_of(Planner& planner, const std::string& kernel, const Call& call, const Image& image,
                 View view) {
  Launch launch;
  if (element_count(image) == 0) return launch;
  view.height = image.height;
  view.width = image.width;
  view.interleaved = call.choice("format") == "nv12" ? 1 : 0;
  const int64_t rows = ceil_div(image.height, 2);
  Range range;
  if (planner.cpu_class()) {
    constexpr int64_t kChunk = 16 * 1024;  // pixels
    const int64_t wanted =
        std::max(planner.busy_groups(), ceil_div(element_count(image) / 4, kChunk));
    view.strip = ceil_div(rows, wanted);
    range.global[0] = static_cast<size_t>(ceil_div(rows, view.strip));
  } else {
    const auto items = static_cast<int64_t>(planner.group_items(64));
    range.dimensions = 2;
    range.local[0] = static_cast<size_t>(items);
    range.global[0] = static_cast<size_t>(ceil_div(ceil_div(image.width, 2), items) * items);
    range.global[1] = static_cast<size_t>(rows);
  }
  launch.steps.push_back(
      KernelStep{yuv_program(planner), kernel, {input(0), output(), value(view)}, range});
  launch.work = static_cast<double>(call.inputs[0].bytes() + call.output.bytes());
  return launch;
}

// The smallest frame: one pixel.
Call sample(bool decodes) {
  const TensorType frame{DType::u8, {3}};
  const TensorType picture{DType::u8, {1, 1, 4}};
  return {{decodes ? frame : picture}, decodes ? picture : frame, {}};
}

Descriptor frame_kernel(const std::string& name, bool decodes) {
  Descriptor descriptor;
  descriptor.name = name;
  descriptor.dtypes = {DType::u8};
  descriptor.params = image_params(
      {choice_param("format", {"yuv420p", "nv12"},
                    "planes of y, u and v, or of y and of interleaved u and v"),
       choice_param("matrix", {"bt601", "bt709"}, "the luma coefficients: of SD or of HD video"),
       choice_param("range", {"limited", "full"},
                    "y is 16 to 235 and u, v 16 to 240, or all 0 to 255")});
  descriptor.check = [name, decodes](const Call& call) {
    need_output_dtype(name, call, {DType::u8});
    need_frame(name, call, decodes);
  };
  descriptor.sample = [decodes](DType) { return sample(decodes); };
  return descriptor;
}

}  // namespace

Descriptors yuv_kernels() {
  Descriptor decode = frame_kernel("yuv_to_rgba", true);
  decode.summary =
      "Converts a video frame to RGBA: 2 x 2 pixels share u and v, alpha is 255. Chroma planes "
      "have half the height and width, rounded up.";
  decode.output_rule = "u8 {h, w, 4}, the input any shape of the frame's size";
  decode.plan = [](const Call& call, Planner& planner) {
    const Image image = need_frame("yuv_to_rgba", call, true);
    return launch_of(planner, "yuv_to_rgba", call, image, decoding_of(call));
  };
  Descriptor encode = frame_kernel("rgba_to_yuv", false);
  encode.summary =
      "Converts RGBA to a video frame: u and v are of the mean of 2 x 2 pixels, or of fewer at odd "
      "edges; alpha is dropped.";
  encode.output_rule = "u8, any shape of the frame's size: h * w + 2 * ceil(h / 2) * ceil(w / 2)";
  encode.plan = [](const Call& call, Planner& planner) {
    const Image image = need_frame("rgba_to_yuv", call, false);
    return launch_of(planner, "rgba_to_yuv", call, image, encoding_of(call));
  };
  return {decode, encode};
}

}  // namespace dala
