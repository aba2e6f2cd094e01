// The convolution behind Conv and its quantized relatives: one place that chooses how it is done.
#pragma once

#include "model/ops/op_call.hpp"
#include "model/ops/windows.hpp"

namespace dala::model {

// What is done to each result: something is added, then comes an activation by the name that the
// kernel conv2d has for it.
struct Epilogue {
  std::optional<Tensor> residual = std::nullopt;
  std::string activation = "none";
  double slope = 0;  // of leaky_relu
  double low = 0;    // of clamp
  double high = 1;
};

// {n, c, h, w} or {n, c, w} as it lies in pixels: {n, h, w, c}, with a height of 1 for the latter.
Tensor as_pixels(Build& build, const Tensor& x);

// By the attributes of the call, plus a bias, then the epilogue.
Tensor convolved(OpCall& call, const Tensor& x, const Tensor& weights,
                 const std::optional<Tensor>& bias, const Epilogue& epilogue = {});

// What comes after a convolution, as an optimizer leaves it in the attributes of a node.
Epilogue epilogue_of(const OpCall& call);
// The same, on its own.
Tensor finished(Build& build, Tensor x, const Epilogue& epilogue);

// Every channel of x times its factor, plus a shift for each if there is one, then the epilogue, in
// one pass. None: x does not lie in pixels, or there is a factor per picture.
std::optional<Tensor> scaled_channels(Build& build, const Tensor& x, const Tensor& factor,
                                      const std::optional<Tensor>& shift,
                                      const Epilogue& epilogue = {});

}  // namespace dala::model
