#include "model/networks/architectures.hpp"

namespace dala::test {
namespace {

Planes separable(NetBuilder& net, const Planes& x, int64_t to, int64_t stride, int64_t dilation) {
  const Planes y = net.conv(x, {.size = 3,
                                .stride = stride,
                                .activation = Activation::relu6,
                                .depthwise = true,
                                .dilation = dilation,
                                .padding = dilation == 1 ? Padding::same_upper : Padding::centred});
  return net.conv(y, {.to = to, .activation = Activation::relu6, .padding = Padding::same_upper});
}

}  // namespace

Net posenet(const PoseNet& options) {
  NetBuilder net(4, {1, "height", "width", 3}, {1, options.height, options.width_px, 3});
  const auto wide = [&](double channels) { return rounded_width(channels * options.width); };
  Planes x{net.op("Transpose", {"x"}, {{"perm", Ints{0, 3, 1, 2}}}), 1, 3, options.height,
           options.width_px};
  x = net.conv(x, {.to = wide(32),
                   .size = 3,
                   .stride = 2,
                   .activation = Activation::relu6,
                   .padding = Padding::same_upper});
  struct Layer {
    double channels;
    int64_t stride, dilation;
  };
  for (const Layer& layer : std::vector<Layer>{{64, 1, 1},
                                               {128, 2, 1},
                                               {128, 1, 1},
                                               {256, 2, 1},
                                               {256, 1, 1},
                                               {512, 2, 1},
                                               {512, 1, 1},
                                               {512, 1, 1},
                                               {512, 1, 1},
                                               {512, 1, 1},
                                               {512, 1, 1},
                                               {1024, 1, 1},
                                               {1024, 1, 2}}) {
    x = separable(net, x, wide(layer.channels), layer.stride, layer.dilation);
  }
  std::vector<NetOutput> outputs;
  for (int64_t channels : {17, 34, 32, 32}) {
    Planes y = net.conv(x, {.to = channels, .normalized = false});
    if (outputs.empty()) y.name = net.op("Sigmoid", {y.name});  // the heat maps
    outputs.push_back({net.op("Transpose", {y.name}, {{"perm", Ints{0, 2, 3, 1}}}),
                       {1, "rows", "columns", channels}});
  }
  return net.finish(outputs);
}

}  // namespace dala::test
