// A matrix product in the form that all its implementations take.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/element.hpp"
#include "kernels/elementwise/broadcast.hpp"
#include "kernels/gemm_tiles.hpp"
#include "kernels/linalg/product_args.h"
#include "kernels/planner.hpp"

namespace dala {

// The number of parts of k that are summed separately.
inline int64_t splits_of(const Product& product) { return ceil_div(product.k, product.split); }

// The type in which products are summed: unsigned for integers, so that they wrap.
struct Accumulator {
  const char* name;
  size_t bytes;
};
Accumulator accumulator_of(DType dtype);

// The register tile of the CPU family on this device, see matmul_tile_cpu.cl.
struct MatmulTile {
  int64_t lanes;
  int64_t rows;
  int64_t vectors;
};
MatmulTile matmul_tile(const Planner& planner, DType dtype);

// The program with all kernels of this family for one element type, and for GPUs one size of tiles.
std::shared_ptr<Program> matmul_program(Planner& planner, DType dtype, const GemmTiles& tiles);

// GPU class: the tiles for a product; the CPU class has none.
GemmTiles tiles_of(const Planner& planner, const Product& product, DType dtype);

// The leading arguments of the product kernels.
std::vector<Argument> matmul_arguments(const Call& call, const Product& product,
                                       const Operand& out);

// The epilogue: bias and activation, applied to the sum of `parts` results in `from`.
KernelStep finish_step(Planner& planner, const Call& call, const Product& product,
                       const Operand& from, int64_t parts);

// GPU class: adds the steps and the scratch of the product.
void plan_gpu_matmul(Planner& planner, const Call& call, Product product, Launch& launch);
// CPU class: divides the work, and adds the steps and the scratch.
void plan_cpu_matmul(Planner& planner, const Call& call, Product product, Launch& launch);

}  // namespace dala
