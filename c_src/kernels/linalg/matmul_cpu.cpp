// How a matrix product is divided into work-groups in the CPU family.
#include <algorithm>
#include <utility>

#include "kernels/linalg/product.hpp"

namespace dala {
namespace {

// All measured on cores with 1 to 2 MiB of private cache.
constexpr int64_t kThin = 4;           // rows or columns, up to which the product is memory-bound
constexpr int64_t kThinStrip = 1024;   // columns that are accumulated at a time
constexpr int64_t kBlock = 512;        // the part of k that is packed at a time
constexpr int64_t kStripTiles = 8;     // tiles side by side in a strip
constexpr int64_t kBlockTiles = 4;     // tiles below each other that use a panel in turn
constexpr int64_t kNarrow = 256;       // bytes of a row, up to which b is as fast as if packed
constexpr int64_t kFewTiles = 3;       // below each other, for which packing does not pay off
constexpr int64_t kMinTiles = 4;       // below each other, for a work-group that packs
constexpr int64_t kGoodTiles = 24;     // for which the cost of packing is negligible
constexpr int64_t kMinWork = 1 << 19;  // products that outweigh the cost of a work-group
constexpr int64_t kShortSum = 128;
constexpr int64_t kMinSum = 512;  // shorter ones do not outweigh the step that adds them
constexpr int64_t kSplitBytes = 4 * 1024 * 1024;  // limit for partial sums

int64_t round_up(int64_t number, int64_t step) { return ceil_div(number, step) * step; }

// Elements that a work-group may keep in local memory; the rest of the cache is for its inputs.
int64_t local_elements(const Planner& planner, size_t bytes) {
  return static_cast<int64_t>(planner.device().info().local_memory / (2 * bytes));
}

// Splits k into parts that are summed separately when there would be too few work-groups.
void split_sums(const Planner& planner, const Call& call, Product& product, int64_t groups) {
  const int64_t wanted = ceil_div(planner.busy_groups(), groups);
  const int64_t room =
      kSplitBytes / std::max<int64_t>(1, static_cast<int64_t>(call.output.bytes()));
  const int64_t splits = std::min({wanted, room, product.k / kMinSum});
  product.split = splits > 1 ? ceil_div(product.k, splits) : product.k;
}

KernelStep thin_step(Planner& planner, const Call& call, Product& product) {
  const size_t bytes = accumulator_of(call.output.dtype).bytes;
  const int64_t lanes = matmul_tile(planner, call.output.dtype).lanes;
  product.thin_is_b = product.n < product.m ? 1 : 0;
  product.thin = std::min(product.m, product.n);
  const int64_t extent = std::max(product.m, product.n);
  const int64_t room =
      std::min<int64_t>(16 * 1024, local_elements(planner, bytes)) / (2 * product.thin);
  const int64_t most = std::max(lanes, std::min<int64_t>(room, kThinStrip) / lanes * lanes);
  const int64_t fair = ceil_div(extent * product.batch, planner.busy_groups());
  product.strip_columns = std::clamp(round_up(fair, lanes), lanes, most);
  const int64_t strips = ceil_div(extent, product.strip_columns);
  split_sums(planner, call, product, strips * product.batch);
  product.block = std::clamp<int64_t>(room, 1, product.split);

  Range range;
  range.dimensions = 2;
  range.global = {static_cast<size_t>(strips),
                  static_cast<size_t>(product.batch * splits_of(product)), 1};
  const auto local = [&](int64_t elements) {
    return LocalMemory{static_cast<size_t>(product.thin * elements) * bytes};
  };
  const bool whole = splits_of(product) == 1;
  std::vector<Argument> arguments = matmul_arguments(call, product, whole ? output() : scratch(0));
  arguments.emplace_back(local(product.block));
  arguments.emplace_back(local(product.strip_columns));
  return {matmul_program(planner, call.output.dtype, {}), "matmul_thin", std::move(arguments),
          range};
}

// Whether b is read in place. Packing pays off when several rows of tiles use a panel. Without
// packing, a strip consists of whole vectors, at least two.
bool reads_in_place(const Product& product, const MatmulTile& tile, int64_t across, size_t bytes) {
  const int64_t last = product.n - (across - 1) * product.strip_columns;
  const bool whole_vectors = product.n % tile.lanes == 0 &&
                             std::min(last, product.strip_columns) >= 2 * tile.lanes &&
                             product.transpose_a == 0 && product.transpose_b == 0;
  const bool narrow = product.n * static_cast<int64_t>(bytes) <= kNarrow;
  return whole_vectors && (product.m <= kFewTiles * tile.rows || narrow);
}

KernelStep strip_step(Planner& planner, const Call& call, Product& product) {
  const DType dtype = call.output.dtype;
  const size_t bytes = accumulator_of(dtype).bytes;
  const MatmulTile tile = matmul_tile(planner, dtype);

  // Strips of equal width, as wide as their packed panels allow, and a number of strips that
  // divides evenly among the cores.
  const auto units = static_cast<int64_t>(planner.device().info().compute_units);
  int64_t block = std::min<int64_t>(product.k, kBlock);
  int64_t most = kStripTiles * tile.vectors * tile.lanes;
  const int64_t room = local_elements(planner, bytes);
  while (block > 16 && (most + tile.lanes) * block > room) block = ceil_div(block, 2);
  most = std::clamp(room / block / tile.lanes * tile.lanes - tile.lanes, tile.lanes, most);
  int64_t across = ceil_div(product.n, most);
  if (across > units) across = round_up(across, units);
  product.strip_columns = round_up(ceil_div(product.n, across), tile.lanes);
  across = ceil_div(product.n, product.strip_columns);
  const int64_t strips = across * product.batch;

  const bool in_place = size_of(dtype) == bytes && reads_in_place(product, tile, across, bytes);

  // Enough strips of rows to keep the cores busy, unless they would be too short for the cost of a
  // work-group.
  const int64_t tiles = ceil_div(product.m, tile.rows);
  const int64_t work = product.m * std::min(product.n, product.strip_columns) * product.k;
  int64_t down = 1;
  if (in_place) {
    down = std::min({ceil_div(2 * planner.busy_groups(), strips), tiles / 2, work / kMinWork});
  } else {
    const int64_t few = std::min(ceil_div(2 * units, strips), tiles / kMinTiles);
    const int64_t many = std::min(ceil_div(planner.busy_groups(), strips), tiles / kGoodTiles);
    down = std::max(few, many);
  }
  down = std::max<int64_t>(down, 1);
  if (strips % units != 0 && down > units) down = down / units * units;
  product.strip_rows = round_up(ceil_div(product.m, down), tile.rows);
  down = ceil_div(product.m, product.strip_rows);
  split_sums(planner, call, product, strips * down);
  product.block = ceil_div(product.split, ceil_div(product.split, block));
  // Short sums are bound by the writes, which are fastest row by row.
  const int64_t block_tiles = product.k <= kShortSum ? 1 : kBlockTiles;
  product.block_rows =
      std::clamp<int64_t>(room / (product.block * tile.rows), 1, block_tiles) * tile.rows;

  Range range;
  range.dimensions = 3;
  range.global = {static_cast<size_t>(across), static_cast<size_t>(down),
                  static_cast<size_t>(product.batch * splits_of(product))};
  const bool whole = splits_of(product) == 1;
  std::vector<Argument> arguments = matmul_arguments(call, product, whole ? output() : scratch(0));
  const int64_t packed = in_place ? 1 : product.block * (product.strip_columns + tile.lanes);
  const int64_t transposed = product.transpose_a != 0 ? product.block * product.block_rows : 1;
  arguments.emplace_back(LocalMemory{static_cast<size_t>(packed) * bytes});
  arguments.emplace_back(LocalMemory{static_cast<size_t>(transposed) * bytes});
  const char* entry = in_place                   ? "matmul_in_place"
                      : product.transpose_a != 0 ? "matmul_transposed"
                                                 : "matmul_packed";
  return {matmul_program(planner, dtype, {}), entry, std::move(arguments), range};
}

}  // namespace

void plan_cpu_matmul(Planner& planner, const Call& call, Product product, Launch& launch) {
  const bool thin = std::min(product.m, product.n) <= kThin;
  launch.steps.push_back(thin ? thin_step(planner, call, product)
                              : strip_step(planner, call, product));
  const int64_t splits = splits_of(product);
  if (splits == 1) return;
  launch.scratch.push_back(static_cast<size_t>(splits) * call.output.bytes());
  launch.steps.push_back(finish_step(planner, call, product, scratch(0), splits));
}

}  // namespace dala
