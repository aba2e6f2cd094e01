#include "model/networks/architectures.hpp"

namespace dala::test {
namespace {

Planes inverted_residual(NetBuilder& net, const Planes& x, int64_t to, int64_t stride,
                         int64_t expansion) {
  Planes y = x;
  if (expansion > 1) {
    y = net.conv(y, {.to = x.channels * expansion, .activation = Activation::relu6});
  }
  y = net.conv(y,
               {.size = 3, .stride = stride, .activation = Activation::relu6, .depthwise = true});
  y = net.conv(y, {.to = to});
  return stride == 1 && to == x.channels ? net.add(x, y) : y;
}

}  // namespace

Net mobilenet_v2(const MobileNetV2& options) {
  NetBuilder net(1, {"batch", 3, options.size, options.size}, {1, 3, options.size, options.size});
  const auto wide = [&](double channels) { return rounded_width(channels * options.width); };
  Planes x = net.conv(net.input(),
                      {.to = wide(32), .size = 3, .stride = 2, .activation = Activation::relu6});
  struct Stage {
    int64_t expansion, channels, blocks, stride;
  };
  for (const Stage& stage : std::vector<Stage>{{1, 16, 1, 1},
                                               {6, 24, 2, 2},
                                               {6, 32, 3, 2},
                                               {6, 64, 4, 2},
                                               {6, 96, 3, 1},
                                               {6, 160, 3, 2},
                                               {6, 320, 1, 1}}) {
    for (int64_t i = 0; i < stage.blocks; ++i) {
      x = inverted_residual(net, x, wide(static_cast<double>(stage.channels)),
                            i == 0 ? stage.stride : 1, stage.expansion);
    }
  }
  const int64_t features = wide(1280);
  x = net.global_average(net.conv(x, {.to = features, .activation = Activation::relu6}));
  const std::string flat = net.op("Flatten", {x.name}, {{"axis", int64_t{1}}});
  const std::string scores = net.op("Gemm",
                                    {flat, net.weights({options.classes, features}, 1.0 / 30),
                                     net.weights({options.classes}, 0.1)},
                                    {{"transB", int64_t{1}}});
  return net.finish({{scores, {"batch", options.classes}}});
}

}  // namespace dala::test
