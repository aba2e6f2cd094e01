#include "kernels/nn/nn.hpp"

#include <algorithm>

#include "kernels/element.hpp"

namespace dala {
namespace {

void add_convolution(std::vector<Part>& parts, const Planner& planner, DType dtype) {
  parts.push_back({"nn/convolution.cl"});
  if (!planner.cpu_class()) {
    parts.push_back({"nn/conv2d_gpu.cl"});
    return;
  }
  const TileShape shape = tile_shape(planner, dtype);
  parts.push_back({"nn/vectors_cpu.cl",
                   {},
                   lines({{"LANES", std::to_string(shape.lanes)},
                          {"TILE_ROWS", std::to_string(shape.rows)},
                          {"VECTORS", std::to_string(shape.vectors)}})});
  parts.push_back({"nn/conv2d_tile_cpu.cl", {{"NAME", "tile_packed"}, {"SPACE", "__local"}}});
  parts.push_back({"nn/conv2d_tile_cpu.cl", {{"NAME", "tile_in_place"}, {"SPACE", "__global"}}});
  parts.push_back({"nn/conv2d_cpu.cl"});
  parts.push_back({"nn/depthwise_cpu.cl"});
}

void add_pooling(std::vector<Part>& parts, const Planner& planner, DType dtype) {
  const std::string file = planner.cpu_class() ? "nn/pool_cpu.cl" : "nn/pool_gpu.cl";
  parts.push_back({"reduce/operations.cl"});
  parts.push_back({file,
                   {{"ENTRY", "max_pool2d"},
                    {"ACC", "T"},
                    {"IDENTITY", "LOWEST"},
                    {"COMBINE", "combine_max"},
                    {"FINISH", "KEEP"}}});
  if (!is_float(dtype)) return;
  parts.push_back({file,
                   {{"ENTRY", "avg_pool2d"},
                    {"ACC", "SUM"},
                    {"IDENTITY", "0"},
                    {"COMBINE", "combine_sum"},
                    {"FINISH", "AVERAGE_AS_REAL"}}});
}

void add_resizing(std::vector<Part>& parts, const Planner& planner, DType dtype) {
  if (!is_float(dtype) && dtype != DType::u8) return;
  const Defines defines{{"ACC", dtype == DType::f64 ? "double" : "float"}};
  parts.push_back({"nn/resize.cl", {}, lines(defines)});
  parts.push_back({planner.cpu_class() ? "nn/resize_cpu.cl" : "nn/resize_gpu.cl"});
}

}  // namespace

TileShape tile_shape(const Planner& planner, DType dtype) {
  cl_uint floats = 0;
  const cl_int status =
      cl().clGetDeviceInfo(planner.device().info().id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT,
                           sizeof(floats), &floats, nullptr);
  const auto bytes = static_cast<int64_t>(size_of(dtype));
  // Processors with vectors of 512 bits have 32 of them, others 16.
  if (status == CL_SUCCESS && floats >= 16) return {64 / bytes, 8, 3};
  return {32 / bytes, 6, 2};
}

std::shared_ptr<Program> nn_program(Planner& planner, DType dtype) {
  return planner.program(text("nn ", to_string(dtype)), [&] {
    Defines defines = element_defines(dtype);
    defines.emplace_back("SUM", sum_type(dtype, planner.fp64()));
    defines.emplace_back("REAL", planner.fp64() ? "double" : "float");
    std::vector<Part> parts{{"nn/window.cl", {}, lines(defines)}};
    if (is_float(dtype)) add_convolution(parts, planner, dtype);
    add_pooling(parts, planner, dtype);
    add_resizing(parts, planner, dtype);
    return parts;
  });
}

Descriptors nn_kernels() {
  return {conv2d_kernel(), max_pool2d_kernel(), avg_pool2d_kernel(), resize_kernel()};
}

}  // namespace dala
