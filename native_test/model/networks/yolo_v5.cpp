#include <algorithm>
#include <cmath>

#include "model/networks/architectures.hpp"

namespace dala::test {
namespace {

constexpr auto kSilu = Activation::silu;

struct Builder {
  NetBuilder net;
  const YoloV5& options;

  int64_t wide(double channels) const {
    return static_cast<int64_t>(std::ceil(channels * options.width / 8)) * 8;
  }
  int64_t deep(double blocks) const {
    return std::max<int64_t>(1, std::lround(blocks * options.depth));
  }

  Planes conv(const Planes& x, int64_t to, int64_t size = 1, int64_t stride = 1) {
    return net.conv(x, {.to = to, .size = size, .stride = stride, .activation = kSilu});
  }

  // Half of the channels pass through the bottlenecks, half bypass them.
  Planes c3(const Planes& x, int64_t to, int64_t blocks, bool shortcut) {
    Planes inner = conv(x, to / 2);
    for (int64_t i = 0; i < blocks; ++i) {
      const Planes y = conv(conv(inner, to / 2), to / 2, 3);
      inner = shortcut ? net.add(inner, y) : y;
    }
    return conv(net.concat({inner, conv(x, to / 2)}), to);
  }

  Planes sppf(const Planes& x, int64_t to) {
    std::vector<Planes> parts{conv(x, x.channels / 2)};
    for (int i = 0; i < 3; ++i) parts.push_back(net.max_pool(parts.back(), 5, 1, 2));
    return conv(net.concat(parts), to);
  }

  Planes upsampled(const Planes& x) {
    const std::string scales = net.reals({4}, {1, 1, 2, 2});
    const NetAttributes nearest{{"mode", std::string("nearest")},
                                {"coordinate_transformation_mode", std::string("asymmetric")},
                                {"nearest_mode", std::string("floor")}};
    const std::string name = net.op("Resize", {x.name, "", scales}, nearest);
    return net.layer({name, x.batch, x.channels, 2 * x.height, 2 * x.width}, {x});
  }

  // Every other pixel of every other row, from four offsets, as channels.
  Planes focus(const Planes& x) {
    std::vector<Planes> parts;
    for (const auto& [row, column] : {std::pair{0, 0}, {1, 0}, {0, 1}, {1, 1}}) {
      const std::string rows =
          net.op("Slice", {x.name, net.integers({row}), net.integers({INT64_MAX}),
                           net.integers({2}), net.integers({2})});
      const std::string name =
          net.op("Slice", {rows, net.integers({column}), net.integers({INT64_MAX}),
                           net.integers({3}), net.integers({2})});
      parts.push_back({name, x.batch, x.channels, x.height / 2, x.width / 2});
    }
    return net.concat(parts);
  }

  // {1, 3 * (5 + classes), h, w} to boxes {1, 3 * h * w, 5 + classes} in pixels.
  std::string decoded(const Planes& x, int64_t stride, const std::vector<float>& anchors) {
    const int64_t fields = 5 + options.classes;
    const Planes head = net.conv(x, {.to = 3 * fields, .normalized = false});
    std::string y =
        net.op("Reshape", {head.name, net.integers({x.batch, 3, fields, x.height, x.width})});
    y = net.op("Transpose", {y}, {{"perm", Ints{0, 1, 3, 4, 2}}});
    y = net.op("Sigmoid", {y});
    const auto parts =
        net.op("Split", 3, {y, net.integers({2, 2, fields - 4})}, {{"axis", int64_t{4}}});

    std::vector<float> grid;
    std::vector<float> sizes;
    for (size_t anchor = 0; anchor < 3; ++anchor) {
      for (int64_t row = 0; row < x.height; ++row) {
        for (int64_t column = 0; column < x.width; ++column) {
          grid.push_back(static_cast<float>(column) - 0.5F);
          grid.push_back(static_cast<float>(row) - 0.5F);
          sizes.push_back(anchors[2 * anchor]);
          sizes.push_back(anchors[2 * anchor + 1]);
        }
      }
    }
    const Ints places{1, 3, x.height, x.width, 2};
    const std::string two = net.reals({}, {2});
    const std::string centre =
        net.op("Mul", {net.op("Add", {net.op("Mul", {parts[0], two}), net.reals(places, grid)}),
                       net.reals({}, {static_cast<float>(stride)})});
    const std::string size = net.op(
        "Mul", {net.op("Pow", {net.op("Mul", {parts[1], two}), two}), net.reals(places, sizes)});
    y = net.op("Concat", {centre, size, parts[2]}, {{"axis", int64_t{4}}});
    return net.op("Reshape", {y, net.integers({x.batch, -1, fields})});
  }
};

}  // namespace

Net yolo_v5(const YoloV5& options) {
  const Ints shape{1, 3, options.height, options.width_px};
  Builder b{NetBuilder(2, {1, 3, options.height, options.width_px}, shape), options};
  const int64_t c64 = b.wide(64);
  Planes x = b.net.input();
  if (options.focus) {
    x = b.conv(b.focus(x), c64, 3);
  } else {
    x = b.net.conv(x,
                   {.to = c64, .size = 6, .stride = 2, .activation = kSilu, .pads = {2, 2, 2, 2}});
  }
  x = b.c3(b.conv(x, b.wide(128), 3, 2), b.wide(128), b.deep(3), true);
  const Planes p3 = b.c3(b.conv(x, b.wide(256), 3, 2), b.wide(256), b.deep(6), true);
  const Planes p4 = b.c3(b.conv(p3, b.wide(512), 3, 2), b.wide(512), b.deep(9), true);
  x = b.c3(b.conv(p4, b.wide(1024), 3, 2), b.wide(1024), b.deep(3), true);
  x = b.sppf(x, b.wide(1024));

  const Planes lateral5 = b.conv(x, b.wide(512));
  x = b.c3(b.net.concat({b.upsampled(lateral5), p4}), b.wide(512), b.deep(3), false);
  const Planes lateral4 = b.conv(x, b.wide(256));
  const Planes d3 = b.c3(b.net.concat({b.upsampled(lateral4), p3}), b.wide(256), b.deep(3), false);
  const Planes d4 =
      b.c3(b.net.concat({b.conv(d3, b.wide(256), 3, 2), lateral4}), b.wide(512), b.deep(3), false);
  const Planes d5 =
      b.c3(b.net.concat({b.conv(d4, b.wide(512), 3, 2), lateral5}), b.wide(1024), b.deep(3), false);

  const std::vector<std::string> boxes{b.decoded(d3, 8, {10, 13, 16, 30, 33, 23}),
                                       b.decoded(d4, 16, {30, 61, 62, 45, 59, 119}),
                                       b.decoded(d5, 32, {116, 90, 156, 198, 373, 326})};
  const std::string all = b.net.op("Concat", boxes, {{"axis", int64_t{1}}});
  const int64_t places = d3.height * d3.width + d4.height * d4.width + d5.height * d5.width;
  return b.net.finish({{all, {1, 3 * places, 5 + options.classes}}});
}

}  // namespace dala::test
