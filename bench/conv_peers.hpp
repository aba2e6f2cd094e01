// One convolution as oneDNN and OpenCV do it. A library that was not there when the bench was built
// gives a peer that cannot run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bench/bench.hpp"

namespace dala::bench {

// A square window on a square plane, padded to keep its size, with a bias.
struct Layer {
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t side = 0;  // of the input
  int64_t size = 1;  // of the window
  int64_t stride = 1;
  int64_t groups = 1;
  bool relu6 = false;

  std::string name() const;
  int64_t out_side() const { return (side + 2 * (size / 2) - size) / stride + 1; }
  Shape input_shape() const { return {1, in_channels, side, side}; }
  Shape weight_shape() const { return {out_channels, in_channels / groups, size, size}; }
  Shape output_shape() const { return {1, out_channels, out_side(), out_side()}; }
};

struct ConvData {
  ArrayPtr<float> x;
  ArrayPtr<float> weights;
  ArrayPtr<float> bias;
};

struct ConvPeer {
  std::function<void()> run;
  std::function<ArrayPtr<float>()> result;  // after a run, as {n, c, h, w}
};

ConvPeer one_dnn_conv(const Layer& layer, const ConvData& data);
ConvPeer opencv_conv(const Layer& layer, const ConvData& data);

}  // namespace dala::bench
