#include <cmath>

#include "model/networks/architectures.hpp"

namespace dala::test {
namespace {

// A depthwise and a pointwise convolution with a shortcut, which is pooled if the block has a
// stride and padded with zero channels if the block widens.
Planes block(NetBuilder& net, const Planes& x, int64_t to, int64_t stride) {
  const Ints pads = stride == 2 ? Ints{0, 0, 1, 1} : Ints{1, 1, 1, 1};
  Planes y = net.conv(
      x, {.size = 3, .stride = stride, .depthwise = true, .normalized = false, .pads = pads});
  y = net.conv(y, {.to = to, .normalized = false});
  Planes shortcut = stride == 2 ? net.max_pool(x, 2, 2, 0) : x;
  if (to > x.channels) {
    const std::string more = net.integers({0, 0, 0, 0, 0, to - x.channels, 0, 0});
    shortcut.name = net.op("Pad", {shortcut.name, more}, {{"mode", std::string("constant")}});
    shortcut.channels = to;
  }
  return net.activate(net.add(y, shortcut), Activation::relu);
}

// {batch, anchors * values, h, w} as {batch, h * w * anchors, values}.
std::string head(NetBuilder& net, const Planes& x, int64_t anchors, int64_t values) {
  const Planes y = net.conv(x, {.to = anchors * values, .normalized = false});
  const std::string last = net.op("Transpose", {y.name}, {{"perm", Ints{0, 2, 3, 1}}});
  return net.op("Reshape", {last, net.integers({0, -1, values})});
}

}  // namespace

Net blazeface(const BlazeFace& options) {
  NetBuilder net(3, {"batch", 3, options.size, options.size}, {1, 3, options.size, options.size});
  const auto wide = [&](int64_t channels) {
    return std::lround(static_cast<double>(channels) * options.width);
  };
  Planes x = net.conv(net.input(), {.to = wide(24),
                                    .size = 5,
                                    .stride = 2,
                                    .activation = Activation::relu,
                                    .normalized = false,
                                    .pads = {1, 1, 2, 2}});
  for (const auto& [channels, stride] : std::vector<std::pair<int64_t, int64_t>>{{24, 1},
                                                                                 {28, 1},
                                                                                 {32, 2},
                                                                                 {36, 1},
                                                                                 {42, 1},
                                                                                 {48, 2},
                                                                                 {56, 1},
                                                                                 {64, 1},
                                                                                 {72, 1},
                                                                                 {80, 1},
                                                                                 {88, 1}}) {
    x = block(net, x, wide(channels), stride);
  }
  const Planes fine = x;
  x = block(net, x, wide(96), 2);
  for (int i = 0; i < 4; ++i) x = block(net, x, wide(96), 1);

  const auto both = [&](int64_t values) {
    return net.op("Concat", {head(net, fine, 2, values), head(net, x, 6, values)},
                  {{"axis", int64_t{1}}});
  };
  const int64_t anchors = 2 * fine.height * fine.width + 6 * x.height * x.width;
  const std::string boxes = both(16);
  return net.finish({{boxes, {"batch", anchors, 16}}, {both(1), {"batch", anchors, 1}}});
}

}  // namespace dala::test
