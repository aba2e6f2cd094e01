// GPU class: the tiles of matrix products, which matmul and the convolutions share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/planner.hpp"
#include "kernels/tuning/tuning.hpp"

namespace dala {

// The tile sizes that fit the device; see common/gemm_tile_gpu.h.
struct GemmTiles {
  int64_t side = 1;    // edge of a work-group
  int64_t step = 4;    // products of k between two barriers
  bool large = false;  // register tiles of 8 x 8
  bool thin = false;   // register tiles of 1 x 4
};
// The tuned ones of the shape class, or what the device has room for, for accumulators of that many
// bytes.
GemmTiles gemm_tiles(const Planner& planner, size_t element_bytes, ShapeClass shape_class);
// Distinguishes programs that are compiled for different tiles.
std::string key_of(const GemmTiles& tiles);

// The number of work-groups that keeps the device busy: several per compute unit, to hide memory
// latency.
int64_t wanted_groups(const Planner& planner);

// Whether a matrix {rows, columns} is better computed with 8 x 8 accumulators per item: a large
// tile that is half empty, or that leaves compute units idle, loses more than it gains.
bool suits_large_tiles(const Planner& planner, const GemmTiles& tiles, int64_t rows,
                       int64_t columns, int64_t matrices);

}  // namespace dala
