// The block of residual networks as an ONNX model, and its result computed by loops.
#pragma once

#include "model/onnx_model.hpp"

namespace dala::test {

// A convolution, 3 by 3 with one row of padding, batch normalization, a shortcut and an
// activation: the block of residual networks.
struct Block {
  static constexpr size_t kChannels = 4;
  static constexpr size_t kSize = 6;
  std::vector<float> weights = random_floats(kChannels * kChannels * 9, 1);
  std::vector<float> scale = random_floats(kChannels, 2);
  std::vector<float> shift = random_floats(kChannels, 3);
  std::vector<float> mean = random_floats(kChannels, 4);
  std::vector<float> variance{0.5F, 1.0F, 2.0F, 0.25F};

  OnnxWriter writer(const std::string& activation) const {
    OnnxWriter model;
    model.input("x", {"n", 4, 6, 6}).output("y", {"n", 4, 6, 6});
    model.constant("w", model::ElementType::f32, {4, 4, 3, 3}, weights);
    model.constant("scale", model::ElementType::f32, {4}, scale);
    model.constant("shift", model::ElementType::f32, {4}, shift);
    model.constant("mean", model::ElementType::f32, {4}, mean);
    model.constant("variance", model::ElementType::f32, {4}, variance);
    model.constant<float>("low", model::ElementType::f32, {}, {0});
    model.constant<float>("high", model::ElementType::f32, {}, {6});
    model.node("Conv", {"x", "w"}, {"c"}, {attribute("pads", std::vector<int64_t>{1, 1, 1, 1})});
    model.node("BatchNormalization", {"c", "scale", "shift", "mean", "variance"}, {"b"});
    if (activation == "Relu") model.node("Relu", {"b"}, {"a"});
    if (activation == "Clip") model.node("Clip", {"b", "low", "high"}, {"a"});
    model.node("Add", {"a", "x"}, {"y"});
    return model;
  }

  std::vector<double> expected(const std::vector<float>& x, size_t batch, double highest) const {
    std::vector<double> y(x.size());
    const auto at = [&](size_t n, size_t c, size_t row, size_t column) {
      return ((n * kChannels + c) * kSize + row) * kSize + column;
    };
    for (size_t n = 0; n < batch; ++n) {
      for (size_t c = 0; c < kChannels; ++c) {
        for (size_t row = 0; row < kSize; ++row) {
          for (size_t column = 0; column < kSize; ++column) {
            double sum = 0;
            for (size_t k = 0; k < kChannels; ++k) {
              for (size_t i = 0; i < 3; ++i) {
                for (size_t j = 0; j < 3; ++j) {
                  const size_t r = row + i - 1;
                  const size_t s = column + j - 1;
                  if (r >= kSize || s >= kSize) continue;
                  sum += static_cast<double>(x[at(n, k, r, s)]) *
                         weights[((c * kChannels + k) * 3 + i) * 3 + j];
                }
              }
            }
            sum = (sum - mean[c]) / std::sqrt(variance[c] + 1e-5) * scale[c] + shift[c];
            const size_t place = at(n, c, row, column);
            y[place] = std::min(std::max(sum, 0.0), highest) + x[place];
          }
        }
      }
    }
    return y;
  }
};

}  // namespace dala::test
