// A matrix product as the ways to compute it take it.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/element.hpp"
#include "kernels/elementwise/broadcast.hpp"
#include "kernels/planner.hpp"

namespace dala {

// out {batch, m, n} = a {batch, m, k} * b {batch, k, n}. The same layout as the struct of that name
// in product.cl.
struct Product {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t a_pitch = 0;
  int64_t b_pitch = 0;
  int64_t transpose_a = 0;
  int64_t transpose_b = 0;
  int64_t has_bias = 0;
  int64_t batch = 1;
  int64_t batch_rank = 0;
  std::array<int64_t, kMaxRank> batch_dims{};
  std::array<int64_t, kMaxRank> a_steps{};
  std::array<int64_t, kMaxRank> b_steps{};
  int64_t strip_rows = 0;
  int64_t strip_columns = 0;
  int64_t block = 0;
  int64_t block_rows = 0;
  int64_t split = 0;
  int64_t in_place = 0;
  int64_t thin = 0;
  int64_t thin_is_b = 0;

  int64_t splits() const { return ceil_div(k, split); }
};

// The type in which products are summed: unsigned for integers, so that they wrap.
struct Accumulator {
  const char* name;
  size_t bytes;
};
Accumulator accumulator_of(DType dtype);

// How the kernels for CPUs use this device's registers: see matmul_tile_cpu.cl.
struct MatmulTile {
  int64_t lanes;
  int64_t rows;
  int64_t vectors;
};
MatmulTile matmul_tile(const Planner& planner, DType dtype);
// GPU class: the edge of a work-group.
int64_t gpu_tile(const Planner& planner, DType dtype);

// The one program that holds all of this family's kernels for an element type.
std::shared_ptr<Program> matmul_program(Planner& planner, DType dtype);

// What its product kernels are called with first.
std::vector<Argument> matmul_arguments(const Call& call, const Product& product,
                                       const Operand& out);

// The bias and the activation, applied to the sum of `parts` results in `from`.
KernelStep finish_step(Planner& planner, const Call& call, const Product& product,
                       const Operand& from, int64_t parts);

// CPU class: cuts the work, and adds the steps and the scratch that it takes.
void plan_cpu_matmul(Planner& planner, const Call& call, Product product, Launch& launch);

}  // namespace dala
