#include "kernels/image/pixels/pixels.hpp"

#include <algorithm>

#include "kernels/element.hpp"
#include "kernels/image/pixels/pixels_args.h"

namespace dala {
namespace {

constexpr int64_t kChunk = 8 * 1024;  // pixels: amortises the start of a group
constexpr int64_t kSmallChunk = 1024;

// The filters of pixel_ops.cl for images of these channels.
std::vector<std::string> bodies(int64_t channels, int64_t out_channels) {
  if (out_channels < channels) return {out_channels == 1 ? "pixel_grayscale" : "pixel_copy"};
  if (out_channels > channels) return {"pixel_copy", "pixel_chroma_key"};
  std::vector<std::string> all{"pixel_grayscale", "pixel_vignette",   "pixel_brightness",
                               "pixel_contrast",  "pixel_saturation", "pixel_hdr",
                               "pixel_threshold"};
  if (channels > 1) all.insert(all.end(), {"pixel_sepia", "pixel_white_balance"});
  if (channels == 4) all.emplace_back("pixel_chroma_key");
  return all;
}

std::string entry_of(const std::string& body, int64_t channels, int64_t out_channels) {
  return text("run_", body, "_", channels, "_", out_channels);
}

// Images of different element types need different programs, since T is a macro of the program.
const Loop& pixel_loop(DType dtype) {
  static const Loop bytes{"pixels of bytes", element_defines(DType::u8),
                          "image/pixels/pixels_fused_cpu.cl", "image/pixels/pixels_fused_gpu.cl"};
  static const Loop floats{"pixels of floats", element_defines(DType::f32),
                           "image/pixels/pixels_fused_cpu.cl", "image/pixels/pixels_fused_gpu.cl"};
  return dtype == DType::u8 ? bytes : floats;
}

// All filters for one element type and number of channels.
std::shared_ptr<Program> pixel_program(Planner& planner, DType dtype, int64_t channels,
                                       int64_t out_channels) {
  const std::string key = text("pixels ", to_string(dtype), " ", channels, " to ", out_channels);
  return planner.program(key, [&] {
    ProgramSource source{element_defines(dtype), {}};
    for (const std::string& body : bodies(channels, out_channels)) {
      Part part =
          pixel_part(planner, entry_of(body, channels, out_channels), body, channels, out_channels);
      if (dtype == DType::u8 && planner.cpu_class()) {
        // These files compute the same bytes in fewer steps.
        if (body == "pixel_grayscale" && channels > 1) part.file = "image/colour/grayscale_cpu.cl";
        if (body == "pixel_copy") part.file = "image/colour/channels_cpu.cl";
      }
      source.parts.push_back(std::move(part));
    }
    return source;
  });
}

}  // namespace

Chunks chunks_of(const Planner& planner, int64_t count) {
  Chunks result;
  Range& range = result.range;
  if (planner.cpu_class()) {
    const int64_t spread = std::min(planner.busy_groups(), count / kSmallChunk);
    const int64_t groups = std::max({ceil_div(count, kChunk), spread, int64_t{1}});
    // Chunks are multiples of 64, so that groups do not share cache lines.
    result.chunk = ceil_div(ceil_div(count, groups), 64) * 64;
    range.global[0] = static_cast<size_t>(ceil_div(count, result.chunk));
  } else {
    const auto items = static_cast<int64_t>(planner.group_items(256));
    range.local[0] = static_cast<size_t>(items);
    range.global[0] = static_cast<size_t>(ceil_div(count, items) * items);
  }
  return result;
}

Part pixel_part(const Planner& planner, const std::string& entry, const std::string& body,
                int64_t channels, int64_t out_channels) {
  return {planner.cpu_class() ? "image/pixels/pixels_cpu.cl" : "image/pixels/pixels_gpu.cl",
          {{"ENTRY", entry},
           {"BODY", body},
           {"CHANNELS", std::to_string(channels)},
           {"OUT_CHANNELS", std::to_string(out_channels)}}};
}

Body pixel_body(const PixelOp& op, const Call& call, const Image& image, int64_t out_channels,
                const PixelValues& values) {
  Body body;
  body.loop = &pixel_loop(call.output.dtype);
  body.function = text("stage_", op.body, "_", out_channels);
  body.source = {{"image/pixels/pixel_stage.cl",
                  {{"STAGE", body.function},
                   {"BODY", op.body},
                   {"OUT_CHANNELS", std::to_string(out_channels)}}}};
  const Shape places{image.height, image.width};
  body.inputs = {{text("pixels_", image.channels), places}};
  body.output = {text("pixels_", out_channels), places};
  body.params = {{"PixelValues", value(values)}};
  return body;
}

Launch pixel_launch(Planner& planner, const PixelOp& op, const Call& call, const Image& image,
                    int64_t out_channels, const PixelValues& values) {
  Launch launch;
  // Each pixel is read before it is written; an input of another size is another buffer.
  launch.in_place = true;
  PixelView view{image.height * image.width, 0, image.width, image.height};
  if (view.count == 0) return launch;
  if (!op.needs_place) {
    view.width = view.count;
    view.height = 1;
  }
  const Chunks chunks = chunks_of(planner, view.count);
  view.chunk = chunks.chunk;
  launch.steps.push_back(
      KernelStep{pixel_program(planner, call.output.dtype, image.channels, out_channels),
                 entry_of(op.body, image.channels, out_channels),
                 {input(0), output(), value(view), value(values)},
                 chunks.range});
  launch.work = static_cast<double>(call.inputs[0].bytes() + call.output.bytes());
  return launch;
}

}  // namespace dala
