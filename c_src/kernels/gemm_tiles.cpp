#include "kernels/gemm_tiles.hpp"

#include <algorithm>

#include "kernels/element.hpp"
#include "runtime/error.hpp"

namespace dala {
namespace {

constexpr int64_t kGroupsPerUnit = 2;
constexpr int64_t kLargeEdge = 8;  // of a large register tile

}  // namespace

GemmTiles gemm_tiles(const Planner& planner, size_t element_bytes, ShapeClass shape_class) {
  const DeviceInfo& device = planner.device().info();
  const TileChoice choice = tile_choice(device, shape_class);
  int64_t side = choice.side;
  int64_t step = choice.step;
  const auto bytes = [&](int64_t edge) {
    return static_cast<uint64_t>(2 * step * (side * edge + 4)) * element_bytes;
  };
  while (side > 1 && (static_cast<uint64_t>(side * side) > device.max_work_group ||
                      bytes(4) > device.local_memory)) {
    side /= 2;
    step = std::max<int64_t>(side, 4);
  }
  GemmTiles tiles;
  tiles.side = side;
  tiles.step = step;
  // Accumulators of eight bytes would spill.
  tiles.large =
      side == 16 && choice.edge == 8 && element_bytes == 4 && bytes(8) <= device.local_memory;
  tiles.thin = side >= 4;
  return tiles;
}

std::string key_of(const GemmTiles& tiles) {
  return text(tiles.side, "x", tiles.step, tiles.large ? " large" : "", tiles.thin ? " thin" : "");
}

int64_t wanted_groups(const Planner& planner) {
  return kGroupsPerUnit * static_cast<int64_t>(planner.device().info().compute_units);
}

bool suits_large_tiles(const Planner& planner, const GemmTiles& tiles, int64_t rows,
                       int64_t columns, int64_t matrices) {
  const int64_t edge = kLargeEdge * tiles.side;
  if (!tiles.large || 2 * rows <= edge || 2 * columns <= edge) return false;
  return ceil_div(rows, edge) * ceil_div(columns, edge) * matrices >= wanted_groups(planner);
}

}  // namespace dala
