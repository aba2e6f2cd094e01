#include "kernels/image/filter/spatial.hpp"

#include <algorithm>

#include "kernels/element.hpp"
#include "kernels/image/kernels.hpp"

namespace dala {
namespace {

ProgramSource cpu_source(const Planner& planner, DType dtype) {
  const int64_t floats = vector_floats(planner);
  // Two registers per value, which hides the latency of the arithmetic.
  const int64_t values = 2 * floats * (dtype == DType::u8 ? 2 : 1);
  ProgramSource source{element_defines(dtype), {}};
  source.defines.emplace_back("VALUE_LANES", std::to_string(values));
  source.defines.emplace_back("FLOAT_LANES", std::to_string(floats));
  source.parts = {
      {"image/filter/gaussian_cpu.cl", {{"ENTRY", "blur"}, {"FINISH", "blurred"}}},
      {"image/filter/gaussian_cpu.cl", {{"ENTRY", "sharpen"}, {"FINISH", "sharpened"}}},
      {"image/filter/bilateral_cpu.cl", {{"ENTRY", "bilateral_1"}, {"COLOURS", "1"}}},
      {"image/filter/bilateral_cpu.cl", {{"ENTRY", "bilateral_3"}, {"COLOURS", "3"}}},
      {"image/filter/edges_cpu.cl"},
  };
  return source;
}

ProgramSource gpu_source(DType dtype) {
  return {element_defines(dtype),
          {{"image/filter/gaussian_filter_gpu.cl", {{"ENTRY", "blur"}, {"FINISH", "blurred"}}},
           {"image/filter/gaussian_filter_gpu.cl", {{"ENTRY", "sharpen"}, {"FINISH", "sharpened"}}},
           {"image/filter/bilateral_gpu.cl"},
           {"image/filter/edges_gpu.cl"}}};
}

}  // namespace

std::shared_ptr<Program> spatial_program(Planner& planner, DType dtype) {
  return planner.program(text("spatial ", to_string(dtype)), [&] {
    return planner.cpu_class() ? cpu_source(planner, dtype) : gpu_source(dtype);
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

Tile tile_of(const Planner& planner, const Image& image, int64_t max_columns) {
  const int64_t across = ceil_div(image.width, max_columns);
  const int64_t wanted = ceil_div(2 * planner.busy_groups(), across);
  Tile tile;
  tile.columns = static_cast<int32_t>(ceil_div(image.width, across));
  // High enough that the rows above and below, which adjacent tiles share, are not most of the
  // work.
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
  return {blur_kernel(),        sharpen_kernel(), denoise_kernel(), beauty_kernel(),
          edge_detect_kernel(), erode_kernel(),   dilate_kernel()};
}

}  // namespace dala
