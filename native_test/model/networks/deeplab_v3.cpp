#include "model/networks/architectures.hpp"

namespace dala::test {
namespace {

// Linear interpolation to the height and width of another tensor, which the graph computes.
Planes resized_like(NetBuilder& net, const Planes& x, const Planes& like) {
  const std::string first = net.op("Slice", {net.op("Shape", {x.name}), net.integers({0}),
                                             net.integers({2}), net.integers({0})});
  const std::string last = net.op("Slice", {net.op("Shape", {like.name}), net.integers({2}),
                                            net.integers({4}), net.integers({0})});
  const std::string sizes = net.op("Concat", {first, last}, {{"axis", int64_t{0}}});
  const std::string name =
      net.op("Resize", {x.name, "", "", sizes},
             {{"mode", std::string("linear")},
              {"coordinate_transformation_mode", std::string("pytorch_half_pixel")}});
  return net.layer({name, x.batch, x.channels, like.height, like.width}, {x});
}

// Squeeze-and-excitation: a factor per channel, computed from the means of all channels.
Planes excited(NetBuilder& net, const Planes& x) {
  Planes y = net.global_average(x);
  y = net.conv(y, {.to = rounded_width(static_cast<double>(x.channels) / 4),
                   .activation = Activation::relu,
                   .normalized = false});
  y = net.conv(y, {.to = x.channels, .activation = Activation::hard_sigmoid, .normalized = false});
  return net.multiply(x, y);
}

struct Block {
  int64_t size;
  double expanded, channels;
  bool excitation;
  Activation activation;
  int64_t stride = 1;
  int64_t dilation = 1;
};

Planes inverted_residual(NetBuilder& net, const Planes& x, const Block& block, double width) {
  const int64_t expanded = rounded_width(block.expanded * width);
  const int64_t to = rounded_width(block.channels * width);
  Planes y = x;
  if (expanded != x.channels) {
    y = net.conv(y, {.to = expanded, .activation = block.activation});
  }
  y = net.conv(y, {.size = block.size,
                   .stride = block.stride,
                   .activation = block.activation,
                   .depthwise = true,
                   .dilation = block.dilation});
  if (block.excitation) y = excited(net, y);
  y = net.conv(y, {.to = to});
  return block.stride == 1 && to == x.channels ? net.add(x, y) : y;
}

// The large MobileNetV3, with dilation where it would go to a stride of 32.
Planes backbone(NetBuilder& net, double width) {
  constexpr auto kRelu = Activation::relu;
  constexpr auto kSwish = Activation::hard_swish;
  Planes x = net.conv(
      net.input(), {.to = rounded_width(16 * width), .size = 3, .stride = 2, .activation = kSwish});
  for (const Block& block : std::vector<Block>{{3, 16, 16, false, kRelu},
                                               {3, 64, 24, false, kRelu, 2},
                                               {3, 72, 24, false, kRelu},
                                               {5, 72, 40, true, kRelu, 2},
                                               {5, 120, 40, true, kRelu},
                                               {5, 120, 40, true, kRelu},
                                               {3, 240, 80, false, kSwish, 2},
                                               {3, 200, 80, false, kSwish},
                                               {3, 184, 80, false, kSwish},
                                               {3, 184, 80, false, kSwish},
                                               {3, 480, 112, true, kSwish},
                                               {3, 672, 112, true, kSwish},
                                               {5, 672, 160, true, kSwish, 1, 2},
                                               {5, 960, 160, true, kSwish, 1, 2},
                                               {5, 960, 160, true, kSwish, 1, 2}}) {
    x = inverted_residual(net, x, block, width);
  }
  return net.conv(x, {.to = rounded_width(960 * width), .activation = kSwish});
}

}  // namespace

Net deeplab_v3(const DeepLabV3& options) {
  NetBuilder net(5, {"batch", 3, "height", "width"}, {1, 3, options.height, options.width_px});
  const Planes x = backbone(net, options.width);
  const auto relu = [&](const Planes& from, int64_t size, int64_t dilation) {
    return net.conv(
        from,
        {.to = options.head, .size = size, .activation = Activation::relu, .dilation = dilation});
  };
  std::vector<Planes> branches{relu(x, 1, 1)};
  for (int64_t rate : options.rates) branches.push_back(relu(x, 3, rate));
  branches.push_back(resized_like(net, relu(net.global_average(x), 1, 1), x));
  const Planes y = relu(relu(net.concat(branches), 1, 1), 3, 1);
  const Planes scores = net.conv(y, {.to = options.classes, .normalized = false});
  // Exporters invent names for dimensions that they cannot infer.
  return net.finish({{resized_like(net, scores, net.input()).name,
                      {"Resize_dim_0", options.classes, "Resize_dim_2", "Resize_dim_3"}}});
}

}  // namespace dala::test
