#include "kernels/image/spatial.hpp"

#include <algorithm>

#include "kernels/element.hpp"
#include "kernels/image/kernels.hpp"

namespace dala {
namespace {

std::vector<Part> cpu_parts(const Planner& planner, DType dtype) {
  const bool bytes = dtype == DType::u8;
  const int64_t floats = vector_floats(planner);
  // Two registers for each value: there is enough to do while results are on their way.
  const Defines values{{"LANES", std::to_string(2 * floats * (bytes ? 2 : 1))}};
  const Defines lanes{{"LANES", std::to_string(floats)}};
  const Defines grey{{"ENTRY", "bilateral_1"}, {"COLOURS", "1"}, {"LANES", lanes[0].second}};
  const Defines colour{{"ENTRY", "bilateral_3"}, {"COLOURS", "3"}, {"LANES", lanes[0].second}};
  return {
      {"image/loops.cl", {}, lines(element_defines(dtype))},
      {"image/image.cl"},
      {"image/gauss.cl"},
      {bytes ? "image/words_cpu.cl" : "image/floats_cpu.cl", {}, lines(values)},
      {"image/gaussian_cpu.cl", {{"ENTRY", "blur"}, {"FINISH", "blurred"}}},
      {"image/gaussian_cpu.cl", {{"ENTRY", "sharpen"}, {"FINISH", "sharpened"}}},
      {"", {}, "#undef LANES"},
      {"image/neighbours.cl"},
      {"image/planes_cpu.cl", lanes},
      {"image/bilateral_cpu.cl", grey},
      {"image/bilateral_cpu.cl", colour},
      {"image/edges.cl"},
      {"image/edges_cpu.cl"},
  };
}

std::vector<Part> gpu_parts(DType dtype) {
  return {
      {"image/loops.cl", {}, lines(element_defines(dtype))},
      {"image/image.cl"},
      {"image/gauss.cl"},
      {"image/gaussian_gpu.cl"},
      {"image/neighbours.cl"},
      {"image/bilateral_gpu.cl"},
      {"image/edges.cl"},
      {"image/edges_gpu.cl"},
  };
}

}  // namespace

std::shared_ptr<Program> spatial_program(Planner& planner, DType dtype) {
  return planner.program(text("spatial ", to_string(dtype)), [&] {
    return planner.cpu_class() ? cpu_parts(planner, dtype) : gpu_parts(dtype);
  });
}

int64_t vector_floats(const Planner& planner) {
  cl_uint floats = 0;
  const cl_int status =
      cl().clGetDeviceInfo(planner.device().info().id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT,
                           sizeof(floats), &floats, nullptr);
  return status == CL_SUCCESS && floats >= 16 ? 16 : 8;
}

int64_t line_bytes(const Planner& planner) {
  return std::min<int64_t>(32 * 1024,
                           static_cast<int64_t>(planner.device().info().local_memory) / 2);
}

Tile tile_of(const Planner& planner, const Image& image, int64_t most_columns) {
  const int64_t across = ceil_div(image.width, most_columns);
  const int64_t wanted = ceil_div(2 * planner.busy_groups(), across);
  Tile tile;
  tile.columns = static_cast<int32_t>(ceil_div(image.width, across));
  // Not so low that the rows above and below, which two tiles share, are most of the work.
  tile.rows = static_cast<int32_t>(std::clamp<int64_t>(ceil_div(image.height, wanted), 4, 64));
  return tile;
}

Range tile_range(const Image& image, const Tile& tile) {
  Range range;
  range.dimensions = 2;
  range.global[0] = static_cast<size_t>(ceil_div(image.width, tile.columns));
  range.global[1] = static_cast<size_t>(ceil_div(image.height, tile.rows));
  return range;
}

Range item_range(const Planner& planner, int64_t count) {
  const size_t items = planner.group_items(256);
  Range range;
  range.local[0] = items;
  range.global[0] = static_cast<size_t>(ceil_div(count, static_cast<int64_t>(items))) * items;
  return range;
}

Descriptors spatial_kernels() {
  return {blur_kernel(), sharpen_kernel(), denoise_kernel(), beauty_kernel(), edge_detect_kernel()};
}

}  // namespace dala
