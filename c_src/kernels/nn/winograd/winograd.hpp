// Convolutions with windows of 3 x 3 by Winograd's algorithm, which takes a quarter of the products
// for four times the memory of the weights: see winograd_cpu.cl. CPU class only.
#pragma once

#include "kernels/nn/conv/convolution.hpp"

namespace dala {

constexpr int64_t kWinogradWindow = 3;
constexpr int64_t kWinogradSide = 6;  // of the inputs of a tile, and of transformed weights

// The parameter `winograd` of conv2d and conv2d_pack.
ParamSpec winograd_param();

// Whether the algorithm is the faster one for constant weights {co, c, 3, 3} on this device, with
// stride 1 and one group; false for windows of another size.
bool suits_winograd(const Planner& planner, DType dtype, const Shape& weights, int64_t out_height,
                    int64_t out_width);

void plan_winograd_pack(Launch& launch, Planner& planner, const Call& call, Convolution conv);
void plan_winograd(Launch& launch, Planner& planner, const Call& call, const Convolution& conv);

}  // namespace dala
