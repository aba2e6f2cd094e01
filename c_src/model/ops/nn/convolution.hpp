// The convolution shared by Conv and its quantized variants. It chooses the kernel.
#pragma once

#include "model/ops/nn/windows.hpp"
#include "model/ops/op_call.hpp"

namespace dala::model {

// Rearranges {n, c, h, w} or {n, c, w} to NHWC: {n, h, w, c}, with a height of 1 for the latter.
Tensor as_pixels(Build& build, const Tensor& x);

// The convolution with the attributes and the epilogue of the call.
Tensor convolved(OpCall& call, const Tensor& x, const Tensor& weights,
                 const std::optional<Tensor>& bias);

// The activation as stages of its own.
Tensor activated(Build& build, const Tensor& x, const Activation& activation);

// x times a factor per channel, plus an optional shift per channel, then the activation, in one
// launch. Returns nullopt if x is not an NHWC view or `factor` does not have one value per channel.
std::optional<Tensor> scaled_channels(Build& build, const Tensor& x, const Tensor& factor,
                                      const std::optional<Tensor>& shift,
                                      const Activation& activation = {});

}  // namespace dala::model
