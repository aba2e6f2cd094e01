#include "kernels/nn/nn.hpp"

#include <algorithm>
#include <array>

#include "kernels/element.hpp"
#include "kernels/gemm_tiles.hpp"
#include "kernels/narrow.hpp"
#include "kernels/nn/recurrent/recurrent.hpp"

namespace dala {
namespace {

// Processors with vectors of 512 bits have 32 vector registers, others 16.
bool has_wide_vectors(const Planner& planner) {
  cl_uint floats = 0;
  const cl_int status =
      cl().clGetDeviceInfo(planner.device().info().id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT,
                           sizeof(floats), &floats, nullptr);
  return status == CL_SUCCESS && floats >= 16;
}

// The register tiles of the convolutions in the CPU family.
Defines convolution_defines(const Planner& planner, DType dtype) {
  const TileShape tile = tile_shape(planner, dtype);
  const PanelShape panel = panel_shape(planner, dtype);
  // The simulator Oclgrind does not support prefetching.
  const bool prefetch = !planner.device().runs_only_when_awaited();
  Defines defines{{"LANE_TYPE", "T"},
                  {"LANES", std::to_string(tile.lanes)},
                  {"TILE_ROWS", std::to_string(tile.rows)},
                  {"VECTORS", std::to_string(tile.vectors)},
                  {"MAX_VECTORS", std::to_string(panel.max_vectors)},
                  {"HAS_PREFETCH", prefetch ? "1" : "0"}};
  for (size_t v = 1; v < panel.rows.size(); ++v) {
    defines.emplace_back(text("ROWS_OF_", v), std::to_string(panel.rows[v]));
    defines.emplace_back(text("HALF_ROWS_OF_", v), std::to_string(panel.rows[v] / 2));
  }
  return defines;
}

}  // namespace

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
  GemmTiles tiles;
  if (!planner.cpu_class()) tiles = gemm_tiles(planner, size_of(dtype), ShapeClass::conv_window);
  return nn_program(planner, dtype, tiles);
}

std::shared_ptr<Program> nn_program(Planner& planner, DType dtype, const GemmTiles& tiles) {
  const bool tiled = !planner.cpu_class() && is_float(dtype);
  return planner.program(text("nn ", to_string(dtype), " ", tiled ? key_of(tiles) : ""), [&] {
    ProgramSource source{element_defines(dtype),
                         {{planner.cpu_class() ? "nn/program_cpu.cl" : "nn/program_gpu.cl"}}};
    const auto define = [&source](const Defines& more) {
      source.defines.insert(source.defines.end(), more.begin(), more.end());
    };
    define(
        {{"SUM", sum_type(dtype, planner.fp64())}, {"REAL", planner.fp64() ? "double" : "float"}});
    if (planner.cpu_class() && is_float(dtype)) define(convolution_defines(planner, dtype));
    if (tiled) {
      define({{"ACC", "T"},
              {"SIDE", std::to_string(tiles.side)},
              {"TILE_K", std::to_string(tiles.step)},
              {"LARGE_TILES", tiles.large ? "1" : "0"}});
    }
    return source;
  });
}

Descriptors nn_kernels() {
  return {with_narrow_floats(conv_kernel()),
          with_narrow_floats(conv2d_kernel()),
          conv2d_pack_kernel(),
          with_narrow_floats(conv_transpose2d_kernel()),
          max_pool2d_kernel(),
          avg_pool2d_kernel(),
          with_narrow_floats(resize_kernel()),
          recurrent_kernel()};
}

}  // namespace dala
