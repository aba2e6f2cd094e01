#include "kernels/linalg/product.hpp"

#include <algorithm>
#include <limits>

namespace dala {
namespace {

// Limits of the shape classes, see tuning.hpp.
constexpr int64_t kFewRows = 16;
constexpr int64_t kManyResults = 512 * 512;

std::array<Value, 2> activation_bounds(const Call& call) {
  const std::string activation = call.choice("activation");
  const DType dtype = call.output.dtype;
  return {activation == "none" ? lowest_value(dtype) : element_value(dtype, int64_t{0}),
          activation == "relu6" ? element_value(dtype, int64_t{6}) : highest_value(dtype)};
}

// The bias, or any input as a placeholder that the kernels do not read.
Operand bias_of(const Product& product) { return input(product.has_bias != 0 ? 2 : 1); }

}  // namespace

Accumulator accumulator_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return {"float", 4};
    case DType::f64:
      return {"double", 8};
    case DType::s64:
    case DType::u64:
      return {"ulong", 8};
    default:
      return {"uint", 4};
  }
}

MatmulTile matmul_tile(const Planner& planner, DType dtype) {
  cl_uint floats = 0;
  const cl_int status =
      cl().clGetDeviceInfo(planner.device().info().id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT,
                           sizeof(floats), &floats, nullptr);
  const auto bytes = static_cast<int64_t>(accumulator_of(dtype).bytes);
  // Processors with vectors of 512 bits have 32 vector registers, others 16; compilers split the
  // vectors for processors with narrower ones.
  if (status == CL_SUCCESS && floats >= 16) return {64 / bytes, 8, 3};
  return {32 / bytes, 6, 2};
}

GemmTiles tiles_of(const Planner& planner, const Product& product, DType dtype) {
  if (planner.cpu_class()) return {};
  const ShapeClass shape_class = product.m <= kFewRows ? ShapeClass::matmul_few_rows
                                 : product.m * product.n * product.batch < kManyResults
                                     ? ShapeClass::matmul_small
                                     : ShapeClass::matmul_large;
  return gemm_tiles(planner, accumulator_of(dtype).bytes, shape_class);
}

std::shared_ptr<Program> matmul_program(Planner& planner, DType dtype, const GemmTiles& tiles) {
  const std::string key = planner.cpu_class() ? "" : key_of(tiles);
  return planner.program(text("matmul ", to_string(dtype), " ", key), [&] {
    const Accumulator accumulator = accumulator_of(dtype);
    ProgramSource source{element_defines(dtype), {}};
    source.defines.emplace_back("ACC", accumulator.name);
    source.defines.emplace_back("ROUND_TRIP", size_of(dtype) == accumulator.bytes ? "1" : "0");
    if (planner.cpu_class()) {
      const MatmulTile tile = matmul_tile(planner, dtype);
      source.defines.insert(source.defines.end(), {{"LANE_TYPE", "ACC"},
                                                   {"LANES", std::to_string(tile.lanes)},
                                                   {"TILE_ROWS", std::to_string(tile.rows)},
                                                   {"WIDE", std::to_string(tile.vectors)}});
      source.parts = {{"linalg/matmul_cpu.cl"}, {"linalg/matmul_thin_cpu.cl"}};
    } else {
      source.defines.insert(source.defines.end(), {{"SIDE", std::to_string(tiles.side)},
                                                   {"TILE_K", std::to_string(tiles.step)},
                                                   {"LARGE_TILES", tiles.large ? "1" : "0"},
                                                   {"THIN_TILES", tiles.thin ? "1" : "0"}});
      source.parts = {{"linalg/matmul_gpu.cl"}};
    }
    source.parts.push_back({"linalg/matmul_finish.cl"});
    return source;
  });
}

std::vector<Argument> matmul_arguments(const Call& call, const Product& product,
                                       const Operand& out) {
  const auto [low, high] = activation_bounds(call);
  return {input(0), input(1), bias_of(product), out, value(product), low, high};
}

KernelStep finish_step(Planner& planner, const Call& call, const Product& product,
                       const Operand& from, int64_t parts) {
  const int64_t rows = product.batch * product.m;
  const int64_t chunk = planner.cpu_class() ? std::min<int64_t>(product.n, 4096) : 1;
  const size_t items = planner.cpu_class() ? 1 : planner.group_items(64);
  Range range;
  range.dimensions = 2;
  range.local[0] = items;
  range.global = {
      static_cast<size_t>(ceil_div(ceil_div(product.n, chunk), static_cast<int64_t>(items))) *
          items,
      static_cast<size_t>(rows), 1};
  const auto [low, high] = activation_bounds(call);
  const DType dtype = call.output.dtype;
  return {matmul_program(planner, dtype, tiles_of(planner, product, dtype)),
          "matmul_finish",
          {from, bias_of(product), output(), value(parts), value(rows), value(product.n),
           value(product.has_bias), value(chunk), low, high},
          range};
}

}  // namespace dala
