// Spatial TF.js operators, against loops over {n, height, width, channels}.
#include <functional>
#include <random>

#include "model/import/tfjs/cases.hpp"
#include "model/import/tfjs/table.hpp"

namespace dala::test::tfjs {
namespace {

Values random_values(std::vector<int64_t> dims, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> range(-1, 1);
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(range(random));
  return floats(std::move(dims), std::move(numbers));
}

double& at(Values& values, int64_t a, int64_t b, int64_t c, int64_t d) {
  const std::vector<int64_t>& dims = values.dims;
  return values.numbers[static_cast<size_t>(((a * dims[1] + b) * dims[2] + c) * dims[3] + d)];
}

double get(const Values& values, int64_t a, int64_t b, int64_t c, int64_t d) {
  return at(const_cast<Values&>(values), a, b, c, d);
}

// A tensor of that shape, computed element by element.
Values computed(const std::vector<int64_t>& dims,
                const std::function<double(int64_t, int64_t, int64_t, int64_t)>& function) {
  Values values =
      floats(dims, std::vector<double>(static_cast<size_t>(dims[0] * dims[1] * dims[2] * dims[3])));
  for (int64_t a = 0; a < dims[0]; ++a) {
    for (int64_t b = 0; b < dims[1]; ++b) {
      for (int64_t c = 0; c < dims[2]; ++c) {
        for (int64_t d = 0; d < dims[3]; ++d) at(values, a, b, c, d) = function(a, b, c, d);
      }
    }
  }
  return values;
}

Values channels_first(const Values& x) {
  return computed({x.dims[0], x.dims[3], x.dims[1], x.dims[2]},
                  [&](int64_t n, int64_t c, int64_t y, int64_t z) { return get(x, n, y, z, c); });
}

// Windows along one axis: their number, and the start of the first.
struct Steps {
  int64_t count = 0;
  int64_t first = 0;
};
Steps steps_of(int64_t size, int64_t window, int64_t stride, bool same) {
  if (!same) return {(size - window) / stride + 1, 0};
  const int64_t count = (size + stride - 1) / stride;
  const int64_t padding = std::max<int64_t>((count - 1) * stride + window - size, 0);
  return {count, -(padding / 2)};
}

struct Shift {
  int64_t stride = 1;
  int64_t dilation = 1;
  bool same = false;
};

// Weights {h, w, in, out}, or {h, w, in, multiplier} if depthwise.
Values convolved(const Values& x, const Values& w, const Shift& shift, bool depthwise = false) {
  const int64_t reach_y = (w.dims[0] - 1) * shift.dilation + 1;
  const int64_t reach_x = (w.dims[1] - 1) * shift.dilation + 1;
  const Steps rows = steps_of(x.dims[1], reach_y, shift.stride, shift.same);
  const Steps columns = steps_of(x.dims[2], reach_x, shift.stride, shift.same);
  const int64_t out = depthwise ? w.dims[2] * w.dims[3] : w.dims[3];
  return computed({x.dims[0], rows.count, columns.count, out}, [&](int64_t n, int64_t oy,
                                                                   int64_t ox, int64_t o) {
    double sum = 0;
    for (int64_t ky = 0; ky < w.dims[0]; ++ky) {
      for (int64_t kx = 0; kx < w.dims[1]; ++kx) {
        const int64_t y = rows.first + oy * shift.stride + ky * shift.dilation;
        const int64_t z = columns.first + ox * shift.stride + kx * shift.dilation;
        if (y < 0 || y >= x.dims[1] || z < 0 || z >= x.dims[2]) continue;
        for (int64_t c = 0; c < w.dims[2]; ++c) {
          if (depthwise && c != o / w.dims[3]) continue;
          sum += get(x, n, y, z, c) * get(w, ky, kx, c, depthwise ? o % w.dims[3] : o);
        }
      }
    }
    return sum;
  });
}

// Every element of x spreads over the window of the forward convolution.
Values spread(const Values& x, const Values& w, int64_t stride, int64_t height, int64_t width,
              bool same) {
  Values y =
      floats({x.dims[0], height, width, w.dims[2]},
             std::vector<double>(static_cast<size_t>(x.dims[0] * height * width * w.dims[2])));
  const int64_t top = steps_of(height, w.dims[0], stride, same).first;
  const int64_t left = steps_of(width, w.dims[1], stride, same).first;
  computed(x.dims, [&](int64_t n, int64_t iy, int64_t ix, int64_t i) {
    for (int64_t ky = 0; ky < w.dims[0]; ++ky) {
      for (int64_t kx = 0; kx < w.dims[1]; ++kx) {
        const int64_t oy = top + iy * stride + ky;
        const int64_t ox = left + ix * stride + kx;
        if (oy < 0 || oy >= height || ox < 0 || ox >= width) continue;
        for (int64_t o = 0; o < w.dims[2]; ++o) {
          at(y, n, oy, ox, o) += get(x, n, iy, ix, i) * get(w, ky, kx, o, i);
        }
      }
    }
    return 0.0;
  });
  return y;
}

Values with_bias(Values x, const Values& bias, const std::function<double(double)>& function) {
  for (size_t i = 0; i < x.numbers.size(); ++i) {
    x.numbers[i] = function(x.numbers[i] + bias.numbers[i % bias.numbers.size()]);
  }
  return x;
}

std::vector<std::string> window(const std::string& padding, int64_t stride,
                                const std::vector<std::string>& others = {}) {
  std::vector<std::string> attributes{word("padding", padding),
                                      wholes("strides", {1, stride, stride, 1}),
                                      word("data_format", "NHWC")};
  attributes.insert(attributes.end(), others.begin(), others.end());
  return attributes;
}

std::vector<Case> convolutions() {
  const Values x = random_values({1, 6, 5, 3}, 1);
  const Values w = random_values({3, 3, 3, 4}, 2);
  const Values each = random_values({3, 3, 3, 2}, 3);
  const Values one_each = random_values({3, 3, 3, 1}, 4);
  const Values bias = random_values({4}, 5);
  const Values bias_each = random_values({3}, 6);
  const Values slope = random_values({1, 1, 4}, 7);
  const auto fused = [&](const std::vector<std::string>& ops,
                         const std::function<double(double)>& function,
                         const std::vector<std::string>& others = {}) {
    std::vector<std::string> attributes = window("SAME", 2, {words("fused_ops", ops)});
    attributes.insert(attributes.end(), others.begin(), others.end());
    return Case{"_FusedConv2D",
                {x, w, bias},
                attributes,
                {with_bias(convolved(x, w, {2, 1, true}), bias, function)}};
  };
  std::vector<Case> cases{
      // With an odd total, SAME pads the end more than the start.
      {"Conv2D", {x, w}, window("SAME", 2), {convolved(x, w, {2, 1, true})}},
      {"Conv2D", {x, w}, window("VALID", 1), {convolved(x, w, {1, 1, false})}},
      {"Conv2D",
       {x, w},
       window("SAME", 1, {wholes("dilations", {1, 2, 2, 1})}),
       {convolved(x, w, {1, 2, true})}},
      {"Conv2D",
       {channels_first(x), w},
       {word("padding", "SAME"), wholes("strides", {1, 1, 2, 2}), word("data_format", "NCHW")},
       {channels_first(convolved(x, w, {2, 1, true}))}},
      {"DepthwiseConv2dNative",
       {x, each},
       window("SAME", 2),
       {convolved(x, each, {2, 1, true}, true)}},
      {"FusedDepthwiseConv2dNative",
       {x, one_each, bias_each},
       window("VALID", 1, {words("fused_ops", {"BiasAdd", "Relu6"}), whole("num_args", 1)}),
       {with_bias(convolved(x, one_each, {1, 1, false}, true), bias_each,
                  [](double v) { return std::min(std::max(v, 0.0), 6.0); })}},
      fused({"BiasAdd"}, [](double v) { return v; }),
      fused({"BiasAdd", "Relu"}, [](double v) { return std::max(v, 0.0); }),
      fused({"BiasAdd", "Elu"}, [](double v) { return v < 0 ? std::expm1(v) : v; }),
      fused({"BiasAdd", "LeakyRelu"}, [](double v) { return v < 0 ? 0.3 * v : v; },
            {real("leakyrelu_alpha", 0.3)}),
      {"Conv2DBackpropInput",
       {list({1, 5, 7, 2}), random_values({3, 3, 2, 3}, 8), random_values({1, 3, 4, 3}, 9)},
       window("SAME", 2),
       {spread(random_values({1, 3, 4, 3}, 9), random_values({3, 3, 2, 3}, 8), 2, 5, 7, true)}},
  };
  // Explicit padding equals padding the input first.
  const Values padded = computed({1, 9, 8, 3}, [&](int64_t n, int64_t y, int64_t z, int64_t c) {
    const bool inside = y >= 1 && y < 7 && z >= 3;
    return inside ? get(x, n, y - 1, z - 3, c) : 0.0;
  });
  cases.push_back({"Conv2D",
                   {x, w},
                   window("EXPLICIT", 1, {wholes("explicit_paddings", {0, 0, 1, 2, 3, 0, 0, 0})}),
                   {convolved(padded, w, {1, 1, false})}});
  Values prelu = with_bias(convolved(x, w, {2, 1, true}), bias, [](double v) { return v; });
  for (size_t i = 0; i < prelu.numbers.size(); ++i) {
    if (prelu.numbers[i] < 0) prelu.numbers[i] *= slope.numbers[i % 4];
  }
  cases.push_back(
      {"_FusedConv2D",
       {x, w, bias, slope},
       window("SAME", 2, {words("fused_ops", {"BiasAdd", "Prelu"}), whole("num_args", 2)}),
       {prelu}});
  return cases;
}

Values pooled(const Values& x, int64_t size, int64_t stride, bool same, bool average) {
  const Steps rows = steps_of(x.dims[1], size, stride, same);
  const Steps columns = steps_of(x.dims[2], size, stride, same);
  return computed({x.dims[0], rows.count, columns.count, x.dims[3]},
                  [&](int64_t n, int64_t oy, int64_t ox, int64_t c) {
                    double sum = 0;
                    double most = -INFINITY;
                    double count = 0;
                    for (int64_t k = 0; k < size * size; ++k) {
                      const int64_t y = rows.first + oy * stride + k / size;
                      const int64_t z = columns.first + ox * stride + k % size;
                      if (y < 0 || y >= x.dims[1] || z < 0 || z >= x.dims[2]) continue;
                      sum += get(x, n, y, z, c);
                      most = std::max(most, get(x, n, y, z, c));
                      ++count;
                    }
                    return average ? sum / count : most;
                  });
}

// The source coordinate of a result along one axis.
double source_of(int64_t place, int64_t in, int64_t out, bool corners, bool halves) {
  const auto x = static_cast<double>(place);
  if (corners) return out > 1 ? x * static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  return halves ? (x + 0.5) * scale - 0.5 : x * scale;
}

Values resized(const Values& x, int64_t height, int64_t width, bool bilinear, bool corners,
               bool halves) {
  return computed(
      {x.dims[0], height, width, x.dims[3]}, [&](int64_t n, int64_t oy, int64_t ox, int64_t c) {
        const double y = source_of(oy, x.dims[1], height, corners, halves);
        const double z = source_of(ox, x.dims[2], width, corners, halves);
        const auto clamped = [&](double row, double column) {
          return get(x, n, std::clamp<int64_t>(static_cast<int64_t>(row), 0, x.dims[1] - 1),
                     std::clamp<int64_t>(static_cast<int64_t>(column), 0, x.dims[2] - 1), c);
        };
        if (!bilinear) {
          const double up = corners || halves ? 0.5 : 0;
          return clamped(std::floor(y + up), std::floor(z + up));
        }
        const double fy = std::max(y, 0.0) - std::floor(std::max(y, 0.0));
        const double fz = std::max(z, 0.0) - std::floor(std::max(z, 0.0));
        const double top = std::floor(std::max(y, 0.0));
        const double left = std::floor(std::max(z, 0.0));
        return (1 - fy) * ((1 - fz) * clamped(top, left) + fz * clamped(top, left + 1)) +
               fy * ((1 - fz) * clamped(top + 1, left) + fz * clamped(top + 1, left + 1));
      });
}

std::vector<Case> pictures() {
  const Values x = random_values({1, 5, 4, 3}, 11);
  const Values wide = random_values({1, 2, 3, 8}, 12);
  const Values even = random_values({1, 4, 6, 3}, 13);
  const auto pool = [](const std::string& padding, int64_t size, int64_t stride) {
    return window(padding, stride, {wholes("ksize", {1, size, size, 1})});
  };
  const auto resize = [&](const std::string& op, int64_t height, int64_t width, bool corners,
                          bool halves) {
    return Case{op,
                {x, list({static_cast<double>(height), static_cast<double>(width)})},
                {truth("align_corners", corners), truth("half_pixel_centers", halves)},
                {resized(x, height, width, op == "ResizeBilinear", corners, halves)}};
  };
  const Values scale = floats({3}, {0.5, 2, -1});
  const Values offset = floats({3}, {1, 0, 3});
  const Values mean = floats({3}, {0.1, -0.2, 0.3});
  const Values variance = floats({3}, {0.5, 1, 2});
  const Values normal = computed(x.dims, [&](int64_t n, int64_t y, int64_t z, int64_t c) {
    const auto k = static_cast<size_t>(c);
    return (get(x, n, y, z, c) - mean.numbers[k]) / std::sqrt(variance.numbers[k] + 0.001) *
               scale.numbers[k] +
           offset.numbers[k];
  });
  const std::vector<std::string> inference{real("epsilon", 0.001), truth("is_training", false)};
  const Values local = computed(wide.dims, [&](int64_t n, int64_t y, int64_t z, int64_t c) {
    double sum = 0;
    for (int64_t k = std::max<int64_t>(c - 2, 0); k <= std::min<int64_t>(c + 2, 7); ++k) {
      sum += get(wide, n, y, z, k) * get(wide, n, y, z, k);
    }
    return get(wide, n, y, z, c) / std::pow(2 + 0.5 * sum, 0.75);
  });
  const Values apart = computed({4, 2, 3, 3}, [&](int64_t n, int64_t y, int64_t z, int64_t c) {
    return get(even, 0, 2 * y + n / 2, 2 * z + n % 2, c);
  });
  return {
      {"MaxPool", {x}, pool("SAME", 3, 2), {pooled(x, 3, 2, true, false)}},
      {"MaxPool", {x}, pool("VALID", 2, 1), {pooled(x, 2, 1, false, false)}},
      {"AvgPool", {x}, pool("SAME", 3, 2), {pooled(x, 3, 2, true, true)}},
      resize("ResizeBilinear", 10, 8, false, false),
      resize("ResizeBilinear", 10, 7, false, true),
      resize("ResizeBilinear", 9, 7, true, false),
      resize("ResizeNearestNeighbor", 10, 8, false, false),
      resize("ResizeNearestNeighbor", 10, 8, false, true),
      resize("ResizeNearestNeighbor", 10, 8, true, false),
      {"FusedBatchNorm", {x, scale, offset, mean, variance}, inference, {normal}},
      {"FusedBatchNormV2", {x, scale, offset, mean, variance}, inference, {normal}},
      {"FusedBatchNormV3", {x, scale, offset, mean, variance}, inference, {normal}},
      {"LRN",
       {wide},
       {whole("depth_radius", 2), real("bias", 2), real("alpha", 0.5), real("beta", 0.75)},
       {local}},
      {"DepthToSpace",
       {wide},
       {whole("block_size", 2)},
       {computed({1, 4, 6, 2},
                 [&](int64_t n, int64_t y, int64_t z, int64_t c) {
                   return get(wide, n, y / 2, z / 2, (y % 2 * 2 + z % 2) * 2 + c);
                 })}},
      {"SpaceToDepth",
       {even},
       {whole("block_size", 2)},
       {computed({1, 2, 3, 12},
                 [&](int64_t n, int64_t y, int64_t z, int64_t c) {
                   return get(even, n, 2 * y + c / 6, 2 * z + c / 3 % 2, c % 3);
                 })}},
      {"SpaceToBatchND", {even, list({2, 2}), ints({2, 2}, {0, 0, 0, 0})}, {}, {apart}},
      {"BatchToSpaceND",
       {apart, list({2, 2}), ints({2, 2}, {0, 1, 2, 0})},
       {},
       {computed({1, 3, 4, 3}, [&](int64_t n, int64_t y, int64_t z,
                                   int64_t c) { return get(even, n, y, z + 2, c); })}},
  };
}

}  // namespace

TEST_CASE("TF.js: spatial operators") {
  std::vector<Case> cases = convolutions();
  for (Case& each : pictures()) cases.push_back(std::move(each));
  check_cases(cases, model::tfjs::plane_operators());
}

TEST_CASE("TF.js: a convolution between block operators becomes a dilated convolution") {
  const Values x = random_values({1, 6, 5, 3}, 21);
  const Values bias = random_values({3}, 22);
  const Values w = random_values({3, 3, 3, 1}, 23);
  TfjsWriter writer;
  writer.placeholder("x", {1, -1, -1, 3});
  add_values(writer, "w", w);
  add_values(writer, "bias", bias);
  add_values(writer, "block", list({2, 2}));
  add_values(writer, "pads", ints({2, 2}, {2, 2, 2, 3}));
  add_values(writer, "crops", ints({2, 2}, {0, 0, 0, 1}));
  writer.node("SpaceToBatchND", "apart", {"x", "block", "pads"})
      .node("FusedDepthwiseConv2dNative", "conv", {"apart", "w", "bias"},
            window("VALID", 1, {words("fused_ops", {"BiasAdd", "Relu"}), whole("num_args", 1)}))
      .node("BatchToSpaceND", "y", {"conv", "block", "crops"});
  const TemporaryFolder folder;
  const auto model = model::Model::load_file(engine(), writer.write(folder));
  CHECK(model->info().nodes <= 4);
  const BufferPtr input =
      buffer(std::vector<float>(x.numbers.begin(), x.numbers.end()), {1, 6, 5, 3});
  check_values(model->predict_now({input})[0],
               with_bias(convolved(x, w, {1, 2, true}, true), bias,
                         [](double v) { return std::max(v, 0.0); }),
               1e-5);
}

TEST_CASE("TF.js: a transposed convolution to an output size that is an input") {
  // Padding at both ends, at the end alone, and none; a result that extends beyond the windows.
  struct Size {
    std::string padding;
    int64_t kernel = 0;
    int64_t stride = 0;
    int64_t height = 0;
    int64_t width = 0;
  };
  for (const Size& size :
       {Size{"SAME", 3, 2, 6, 8}, Size{"SAME", 3, 2, 5, 7}, Size{"SAME", 2, 3, 9, 12},
        Size{"VALID", 3, 2, 7, 9}, Size{"VALID", 3, 2, 8, 10}}) {
    CAPTURE(size.padding);
    CAPTURE(size.height);
    const Values x = random_values({1, 3, 4, 3}, 31);
    const Values w = random_values({size.kernel, size.kernel, 2, 3}, 32);
    TfjsWriter writer;
    writer.placeholder("x", {1, 3, 4, 3}).placeholder("like", {1, -1, -1, 2});
    add_values(writer, "w", w);
    writer.node("Shape", "size", {"like"})
        .node("Conv2DBackpropInput", "y", {"size", "w", "x"}, window(size.padding, size.stride));
    const TemporaryFolder folder;
    const auto model = model::Model::load_file(engine(), writer.write(folder));
    const BufferPtr input =
        buffer(std::vector<float>(x.numbers.begin(), x.numbers.end()), {1, 3, 4, 3});
    const BufferPtr like = zeros(DType::f32, {1, size.height, size.width, 2});
    check_values(model->predict_now({input, like})[0],
                 spread(x, w, size.stride, size.height, size.width, size.padding == "SAME"), 1e-5);
  }
}

}  // namespace dala::test::tfjs
