// GPU class: chooses the register tile of a product, and whether its sums are split.
#include <algorithm>

#include "kernels/linalg/product.hpp"

namespace dala {
namespace {

// A part of a split sum is at least this many steps along k: each part costs a matrix of results.
constexpr int64_t kStepsPerPart = 16;
constexpr int64_t kMostParts = 16;

struct RegisterTile {
  const char* kernel;
  int64_t rows;
  int64_t columns;
};
constexpr RegisterTile kLargeTile{"matmul_8x8", 8, 8};
constexpr RegisterTile kUsualTile{"matmul_4x4", 4, 4};
constexpr RegisterTile kThinTile{"matmul_1x4", 1, 4};

int64_t work_groups_of(const Product& product, const RegisterTile& tile, int64_t side) {
  return ceil_div(product.m, tile.rows * side) * ceil_div(product.n, tile.columns * side) *
         product.batch;
}

RegisterTile register_tile_of(const Planner& planner, const Product& product,
                              const GemmTiles& tiles) {
  if (tiles.thin && product.m <= kThinTile.rows * tiles.side) return kThinTile;
  return suits_large_tiles(planner, tiles, product.m, product.n, product.batch) ? kLargeTile
                                                                                : kUsualTile;
}

// The products of k per part; all of them if there are enough work-groups.
int64_t products_per_part(const Product& product, int64_t groups, int64_t wanted_groups,
                          int64_t step) {
  const int64_t parts =
      std::min({ceil_div(wanted_groups, groups), product.k / (kStepsPerPart * step), kMostParts});
  if (parts < 2) return product.k;
  return ceil_div(ceil_div(product.k, parts), step) * step;
}

}  // namespace

void plan_gpu_matmul(Planner& planner, const Call& call, Product product, Launch& launch) {
  const DType dtype = call.output.dtype;
  const GemmTiles tiles = tiles_of(planner, product, dtype);
  const RegisterTile tile = register_tile_of(planner, product, tiles);
  product.split = products_per_part(product, work_groups_of(product, tile, tiles.side),
                                    wanted_groups(planner), tiles.step);
  const int64_t parts = splits_of(product);

  const auto side = static_cast<size_t>(tiles.side);
  Range range;
  range.dimensions = 3;
  range.local = {side, side, 1};
  range.global = {static_cast<size_t>(ceil_div(product.n, tile.columns * tiles.side)) * side,
                  static_cast<size_t>(ceil_div(product.m, tile.rows * tiles.side)) * side,
                  static_cast<size_t>(product.batch * parts)};
  const Operand target = parts > 1 ? scratch(0) : output();
  launch.steps.push_back(KernelStep{matmul_program(planner, dtype, tiles), tile.kernel,
                                    matmul_arguments(call, product, target), range});
  if (parts == 1) return;
  launch.scratch.push_back(static_cast<size_t>(parts) * call.output.bytes());
  launch.steps.push_back(finish_step(planner, call, product, scratch(0), parts));
}

}  // namespace dala
