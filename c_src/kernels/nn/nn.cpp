#include "kernels/nn/nn.hpp"

#include <algorithm>
#include <array>

#include "kernels/element.hpp"

namespace dala {
namespace {

// Processors with vectors of 512 bits have 32 of them, others 16.
bool has_wide_vectors(const Planner& planner) {
  cl_uint floats = 0;
  const cl_int status =
      cl().clGetDeviceInfo(planner.device().info().id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT,
                           sizeof(floats), &floats, nullptr);
  return status == CL_SUCCESS && floats >= 16;
}

// Tiles over panels of each width, and of half the height.
void add_panel_tiles(std::vector<Part>& parts, const PanelShape& shape, const std::string& prefix,
                     const std::string& space, bool in_lines) {
  for (int64_t vectors = 1; vectors <= shape.most_vectors; ++vectors) {
    const std::string suffix = text("_", vectors);
    const int64_t rows = shape.rows[static_cast<size_t>(vectors)];
    for (const bool half : {false, true}) {
      parts.push_back({"nn/panel_tile_cpu.cl",
                       {{"NAME", prefix + (half ? "_half" : "") + suffix},
                        {"SPACE", space},
                        {"IN_LINES", in_lines ? "1" : "0"},
                        {"ROWS", std::to_string(half ? rows / 2 : rows)},
                        {"VECS", std::to_string(vectors)}}});
    }
  }
}

void add_nhwc_convolution(std::vector<Part>& parts, const Planner& planner, DType dtype) {
  const PanelShape shape = panel_shape(planner, dtype);
  // The simulator Oclgrind cannot.
  const bool fetches = !planner.device().runs_only_when_awaited();
  Defines rows{{"MOST_VECTORS", std::to_string(shape.most_vectors)},
               {"FETCHES", fetches ? "1" : "0"}};
  for (size_t v = 1; v < shape.rows.size(); ++v) {
    rows.emplace_back(text("ROWS_OF_", v), std::to_string(shape.rows[v]));
  }
  parts.push_back({"nn/panels_cpu.cl", {}, lines(rows)});
  add_panel_tiles(parts, shape, "pixels", "__global", false);
  add_panel_tiles(parts, shape, "copied", "__local", true);
  parts.push_back({"nn/conv2d_nhwc_cpu.cl"});
  parts.push_back({"nn/conv2d_patch_cpu.cl"});
  parts.push_back({"nn/conv2d_pack_cpu.cl"});
  for (const char* size : {"3", "5"}) {
    for (const char* stride : {"1", "2"}) {
      parts.push_back({"nn/depthwise_nhwc_row_cpu.cl",
                       {{"NAME", text("seven_of_", size, "_apart_", stride)},
                        {"SIZE", size},
                        {"STRIDE", stride}}});
    }
  }
  parts.push_back({"nn/depthwise_nhwc_cpu.cl"});
  parts.push_back({"nn/scale_nhwc_cpu.cl"});
  for (int64_t width = 2; width <= 8 && width < shape.lanes; width *= 2) {
    parts.push_back({"nn/conv2d_groups_row_cpu.cl",
                     {{"NAME", text("groups_of_", width)}, {"WIDTH", std::to_string(width)}}});
  }
  if (shape.lanes > 2) parts.push_back({"nn/conv2d_groups_cpu.cl"});
}

void add_convolution(std::vector<Part>& parts, const Planner& planner, DType dtype) {
  const bool series = planner.cpu_class() && dtype == DType::f32;
  parts.push_back({"nn/activation.cl", {{"BY_SERIES", series ? "1" : "0"}}});
  parts.push_back({"nn/convolution.cl"});
  const std::string group =
      planner.cpu_class() ? "__attribute__((reqd_work_group_size(1, 1, 1)))" : "";
  parts.push_back({"nn/conv_transpose2d.cl", {{"GROUP", group}}});
  if (!planner.cpu_class()) {
    parts.push_back({"nn/conv2d_gpu.cl"});
    parts.push_back({"nn/conv2d_pack_gpu.cl"});
    return;
  }
  const TileShape shape = tile_shape(planner, dtype);
  parts.push_back({"vectors_cpu.cl",
                   {},
                   lines({{"LANE_TYPE", "T"},
                          {"LANES", std::to_string(shape.lanes)},
                          {"TILE_ROWS", std::to_string(shape.rows)},
                          {"VECTORS", std::to_string(shape.vectors)}})});
  parts.push_back({"nn/vectors_cpu.cl"});
  parts.push_back({"nn/conv2d_tile_cpu.cl", {{"NAME", "tile_packed"}, {"SPACE", "__local"}}});
  parts.push_back({"nn/conv2d_tile_cpu.cl", {{"NAME", "tile_in_place"}, {"SPACE", "__global"}}});
  parts.push_back({"nn/conv2d_cpu.cl"});
  parts.push_back({"nn/depthwise_cpu.cl"});
  parts.push_back({"nn/finish_cpu.cl"});
  add_nhwc_convolution(parts, planner, dtype);
}

void add_pools(std::vector<Part>& parts, const std::string& file, const std::string& suffix,
               DType dtype) {
  parts.push_back({file,
                   {{"ENTRY", "max_pool2d" + suffix},
                    {"ACC", "T"},
                    {"IDENTITY", "LOWEST"},
                    {"COMBINE", "combine_max"},
                    {"FINISH", "KEEP"}}});
  if (!is_float(dtype)) return;
  parts.push_back({file,
                   {{"ENTRY", "avg_pool2d" + suffix},
                    {"ACC", "SUM"},
                    {"IDENTITY", "0"},
                    {"COMBINE", "combine_sum"},
                    {"FINISH", "AVERAGE_AS_REAL"}}});
}

void add_pooling(std::vector<Part>& parts, const Planner& planner, DType dtype) {
  parts.push_back({"reduce/operations.cl"});
  add_pools(parts, planner.cpu_class() ? "nn/pool_cpu.cl" : "nn/pool_gpu.cl", "", dtype);
  if (planner.cpu_class()) add_pools(parts, "nn/pool_nhwc_cpu.cl", "_nhwc", dtype);
}

void add_resizing(std::vector<Part>& parts, const Planner& planner, DType dtype) {
  if (!is_float(dtype) && dtype != DType::u8) return;
  const Defines defines{{"ACC", dtype == DType::f64 ? "double" : "float"}};
  parts.push_back({"nn/resize.cl", {}, lines(defines)});
  parts.push_back({planner.cpu_class() ? "nn/resize_cpu.cl" : "nn/resize_gpu.cl"});
}

// The kernels that run_sequence of sequence_cpu.cl can run.
constexpr std::array kMembers{"conv2d_pointwise",      "conv2d_windows",  "conv2d_patch",
                              "conv2d_depthwise_nhwc", "conv2d_groups",   "conv2d_scale",
                              "max_pool2d_nhwc",       "avg_pool2d_nhwc", "move"};

bool has_sequences(const Planner& planner) {
  return planner.cpu_class() && planner.device().sees_host_addresses();
}

void add_sequence(std::vector<Part>& parts, DType dtype, bool groups) {
  const std::pair<std::string, std::string> element{"E", dtype == DType::f64 ? "ulong" : "uint"};
  parts.push_back({"model/layouts.cl"});
  parts.push_back({"model/walk.cl"});
  parts.push_back({"model/move.cl", {element}});
  Defines numbers{element, {"HAS_GROUPS", groups ? "1" : "0"}};
  for (size_t i = 0; i < kMembers.size(); ++i) {
    numbers.emplace_back(text("MEMBER_", kMembers[i]), std::to_string(i));
  }
  parts.push_back({"nn/sequence_cpu.cl", numbers});
}

}  // namespace

std::optional<uint32_t> sequence_member(const Planner& planner, const std::string& entry) {
  const auto* const found = std::find(kMembers.begin(), kMembers.end(), entry);
  if (found == kMembers.end() || !has_sequences(planner)) return std::nullopt;
  return static_cast<uint32_t>(found - kMembers.begin());
}

TileShape tile_shape(const Planner& planner, DType dtype) {
  const auto bytes = static_cast<int64_t>(size_of(dtype));
  if (has_wide_vectors(planner)) return {64 / bytes, 8, 3};
  return {32 / bytes, 6, 2};
}

PanelShape panel_shape(const Planner& planner, DType dtype) {
  const auto bytes = static_cast<int64_t>(size_of(dtype));
  if (has_wide_vectors(planner)) return {64 / bytes, 4, {0, 8, 8, 8, 6}};
  return {32 / bytes, 2, {0, 6, 6, 0, 0}};
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
    if (is_float(dtype) && has_sequences(planner)) {
      add_sequence(parts, dtype, panel_shape(planner, dtype).lanes > 2);
    }
    return parts;
  });
}

Descriptors nn_kernels() {
  return {conv2d_kernel(),     conv2d_pack_kernel(), conv_transpose2d_kernel(),
          max_pool2d_kernel(), avg_pool2d_kernel(),  resize_kernel()};
}

}  // namespace dala
