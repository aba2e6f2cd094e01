// The convolutions of MobileNetV2 (one picture of 224 x 224) beside oneDNN, in the layout it likes
// best, and OpenCV's dnn module.
//
// They run as the layers of a model do on a CPU: channels last, weights packed once, many in one
// command, waited for once.
#include "bench/bench.hpp"
#include "bench/conv_peers.hpp"
#include "bench/workload.hpp"
#include "kernels/nn/conv/convolution.hpp"

namespace dala::bench {
namespace {

constexpr int kLayers = 16;
constexpr double kOfOneDnn = 0.8;
constexpr double kOfOpenCv = 1.0;

// Planes {1, c, h, w} as {1, h, w, c}.
ArrayPtr<float> channels_last(const ArrayPtr<float>& planes, int64_t channels) {
  const auto count = static_cast<size_t>(channels);
  const size_t pixels = planes->size() / count;
  auto result = std::make_shared<Array<float>>(planes->size());
  for (size_t c = 0; c < count; ++c) {
    for (size_t i = 0; i < pixels; ++i) (*result)[i * count + c] = (*planes)[c * pixels + i];
  }
  return result;
}

BufferPtr packed_weights(Bench& bench, const Layer& layer, const BufferPtr& weights) {
  const Shape shape = packed_weights_shape(layer.weight_shape(), layer.groups);
  const BufferPtr packed = bench.output<float>(shape);
  bench.run({bench.engine().stage("conv2d_pack", {weights}, packed, {{"groups", layer.groups}})});
  return packed;
}

Workload workload(const Layer& layer, bool quick) {
  const auto prepare = [layer](Bench& bench) {
    const auto count = [](const Shape& shape) {
      return static_cast<size_t>(shape[0] * shape[1] * shape[2] * shape[3]);
    };
    const ConvData data{random_array<float>(count(layer.input_shape())),
                        random_array<float>(count(layer.weight_shape())),
                        random_array<float>(static_cast<size_t>(layer.out_channels))};
    const BufferPtr out =
        bench.output<float>({1, layer.out_side(), layer.out_side(), layer.out_channels});
    const BufferPtr weights = bench.input(data.weights, layer.weight_shape());
    const std::vector<BufferPtr> inputs{bench.input(channels_last(data.x, layer.in_channels),
                                                    {1, layer.side, layer.side, layer.in_channels}),
                                        packed_weights(bench, layer, weights),
                                        bench.input(data.bias, {layer.out_channels})};
    const Params params{{"stride", layer.stride},
                        {"pad", layer.size / 2},
                        {"groups", layer.groups},
                        {"activation", std::string(layer.relu6 ? "relu6" : "none")},
                        {"layout", std::string("nhwc")},
                        {"packed", true}};
    const std::vector<Stage> stages(kLayers, bench.engine().stage("conv2d", inputs, out, params));

    const ConvPeer one_dnn = one_dnn_conv(layer, data);
    const auto repeated = [](const std::function<void()>& once) -> std::function<void()> {
      if (!once) return {};
      return [once] {
        for (int i = 0; i < kLayers; ++i) once();
      };
    };
    Trial trial;
    trial.ours = [&bench, stages] { bench.run(stages); };
    trial.peers = {{"oneDNN", kOfOneDnn, repeated(one_dnn.run)},
                   {"OpenCV", kOfOpenCv, repeated(opencv_conv(layer, data).run)}};
    if (one_dnn.result) {
      trial.difference = [&bench, out, one_dnn, layer] {
        return bench.compare(out, channels_last(one_dnn.result(), layer.out_channels))();
      };
    }
    return trial;
  };
  return {layer.name(), prepare, quick};
}

Layer pointwise(int64_t from, int64_t to, int64_t side) {
  return {from, to, side, 1, 1, 1, to > from};  // a layer that widens is followed by relu6
}
Layer depthwise(int64_t channels, int64_t side, int64_t stride) {
  return {channels, channels, side, 3, stride, channels, true};
}

}  // namespace

std::string Layer::name() const {
  const std::string plane = std::to_string(side) + "x" + std::to_string(side);
  if (groups > 1) {
    return "depthwise 3x3 " + std::to_string(in_channels) + " at " + plane +
           (stride > 1 ? " stride " + std::to_string(stride) : "");
  }
  return "1x1 " + std::to_string(in_channels) + " to " + std::to_string(out_channels) + " at " +
         plane;
}

Family conv_family() {
  Family family{"conv", {}};
  const std::vector<Layer> pointwise_layers = {
      pointwise(32, 16, 112), pointwise(16, 96, 112), pointwise(96, 24, 56),
      pointwise(24, 144, 56), pointwise(144, 24, 56), pointwise(144, 32, 28),
      pointwise(32, 192, 28), pointwise(192, 32, 28), pointwise(192, 64, 14),
      pointwise(64, 384, 14), pointwise(384, 64, 14), pointwise(384, 96, 14),
      pointwise(96, 576, 14), pointwise(576, 96, 14), pointwise(576, 160, 7),
      pointwise(160, 960, 7), pointwise(960, 160, 7), pointwise(960, 320, 7),
      pointwise(320, 1280, 7)};
  const std::vector<Layer> depthwise_layers = {
      depthwise(32, 112, 1), depthwise(96, 112, 2), depthwise(144, 56, 1), depthwise(144, 56, 2),
      depthwise(192, 28, 1), depthwise(192, 28, 2), depthwise(384, 14, 1), depthwise(576, 14, 1),
      depthwise(576, 14, 2), depthwise(960, 7, 1)};
  for (const auto* layers : {&pointwise_layers, &depthwise_layers}) {
    // A quick run takes every fourth.
    for (size_t i = 0; i < layers->size(); ++i) {
      family.workloads.push_back(workload((*layers)[i], i % 4 == 1));
    }
  }
  return family;
}

}  // namespace dala::bench
