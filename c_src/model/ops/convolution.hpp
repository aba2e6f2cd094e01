// The convolution shared by Conv and its quantized variants. It chooses the kernel.
#pragma once

#include "model/ops/op_call.hpp"
#include "model/ops/windows.hpp"

namespace dala::model {

// The epilogue of a convolution: a residual is added, then an activation is applied, named as in
// conv2d.
struct Epilogue {
  std::optional<Tensor> residual = std::nullopt;
  std::string activation = "none";
  double slope = 0;  // of leaky_relu
  double low = 0;    // of clamp
  double high = 1;
};

// Rearranges {n, c, h, w} or {n, c, w} to NHWC: {n, h, w, c}, with a height of 1 for the latter.
Tensor as_pixels(Build& build, const Tensor& x);

// The convolution with the attributes of the call, plus a bias, then the epilogue.
Tensor convolved(OpCall& call, const Tensor& x, const Tensor& weights,
                 const std::optional<Tensor>& bias, const Epilogue& epilogue = {});

// Reads the epilogue from the attributes that the optimizer sets; the residual is an input.
Epilogue epilogue_of(const OpCall& call);
// Applies the epilogue as separate stages.
Tensor finished(Build& build, Tensor x, const Epilogue& epilogue);

// x times a factor per channel, plus an optional shift per channel, then the epilogue, in one
// launch. Returns nullopt if x is not an NHWC view or `factor` does not have one value per channel.
std::optional<Tensor> scaled_channels(Build& build, const Tensor& x, const Tensor& factor,
                                      const std::optional<Tensor>& shift,
                                      const Epilogue& epilogue = {});

}  // namespace dala::model
