#include "kernels/image/pixels.hpp"

#include <algorithm>

#include "kernels/element.hpp"

namespace dala {
namespace {

// The same layout as the struct of that name in pixels.cl.
struct PixelView {
  int64_t count = 0;
  int64_t chunk = 0;
  int64_t width = 0;
  int64_t height = 0;
};

constexpr int64_t kChunk = 8 * 1024;  // pixels: enough to hide the start of a group
constexpr int64_t kSmallChunk = 1024;

// The filters of pixel_ops.cl that there are for images of so many channels.
std::vector<std::string> bodies(int64_t channels, int64_t out_channels) {
  if (out_channels < channels) return {out_channels == 1 ? "pixel_grayscale" : "pixel_copy"};
  if (out_channels > channels) return {"pixel_copy", "pixel_chroma_key"};
  std::vector<std::string> all{"pixel_grayscale", "pixel_vignette",   "pixel_brightness",
                               "pixel_contrast",  "pixel_saturation", "pixel_hdr"};
  if (channels > 1) all.insert(all.end(), {"pixel_sepia", "pixel_white_balance"});
  if (channels == 4) all.emplace_back("pixel_chroma_key");
  return all;
}

std::string entry_of(const std::string& body, int64_t channels, int64_t out_channels) {
  return text("run_", body, "_", channels, "_", out_channels);
}

// All filters for one element type and number of channels.
std::shared_ptr<Program> pixel_program(Planner& planner, DType dtype, int64_t channels,
                                       int64_t out_channels) {
  const std::string key = text("pixels ", to_string(dtype), " ", channels, " to ", out_channels);
  return planner.program(key, [&] {
    std::vector<Part> parts = pixel_preamble(planner, dtype);
    for (const std::string& body : bodies(channels, out_channels)) {
      Part part =
          pixel_part(planner, entry_of(body, channels, out_channels), body, channels, out_channels);
      const bool grey = body == "pixel_grayscale" && dtype == DType::u8 && channels > 1;
      if (grey && planner.cpu_class()) part.file = "image/grayscale_cpu.cl";
      parts.push_back(std::move(part));
    }
    return parts;
  });
}

Range group_range(const Planner& planner, PixelView& view) {
  Range range;
  if (planner.cpu_class()) {
    const int64_t spread = std::min(planner.busy_groups(), view.count / kSmallChunk);
    const int64_t groups = std::max({ceil_div(view.count, kChunk), spread, int64_t{1}});
    // A multiple of 64 pixels keeps groups off each other's cache lines.
    view.chunk = ceil_div(ceil_div(view.count, groups), 64) * 64;
    range.global[0] = static_cast<size_t>(ceil_div(view.count, view.chunk));
  } else {
    const auto items = static_cast<int64_t>(planner.group_items(256));
    range.local[0] = static_cast<size_t>(items);
    range.global[0] = static_cast<size_t>(ceil_div(view.count, items) * items);
  }
  return range;
}

}  // namespace

std::vector<Part> pixel_preamble(const Planner& planner, DType dtype) {
  Defines defines = element_defines(dtype);
  defines.emplace_back("LANES", planner.cpu_class() ? "16" : "1");
  std::vector<Part> parts{{"image/pixels.cl", {}, lines(defines)}, {"image/pixel_ops.cl"}};
  if (planner.cpu_class()) parts.push_back({"image/pixel_access_cpu.cl"});
  return parts;
}

Part pixel_part(const Planner& planner, const std::string& entry, const std::string& body,
                int64_t channels, int64_t out_channels) {
  return {planner.cpu_class() ? "image/pixels_cpu.cl" : "image/pixels_gpu.cl",
          {{"ENTRY", entry},
           {"BODY", body},
           {"CHANNELS", std::to_string(channels)},
           {"OUT_CHANNELS", std::to_string(out_channels)}}};
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
  const Range range = group_range(planner, view);
  launch.steps.push_back(
      KernelStep{pixel_program(planner, call.output.dtype, image.channels, out_channels),
                 entry_of(op.body, image.channels, out_channels),
                 {input(0), output(), value(view), value(values)},
                 range});
  launch.work = static_cast<double>(call.inputs[0].bytes() + call.output.bytes());
  return launch;
}

}  // namespace dala
