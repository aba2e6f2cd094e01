// The translation of NHWC operators to ONNX: the results of the nodes against loops over
// {n, height, width, channels}, and against each other.
#include "model/import/common/channels_last.hpp"

#include <random>

#include "model/import/common/built_graph.hpp"
#include "model/import/common/tensorflow.hpp"

namespace dala::test {
namespace {

using model::kNone;
namespace channels_last = model::channels_last;
namespace tensorflow = model::tensorflow;

HostTensorPtr random_tensor(const Shape& shape, uint32_t seed) {
  auto tensor = std::make_shared<HostTensor>(ElementType::f32, shape);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> range(-1, 1);
  for (int64_t i = 0; i < tensor->count(); ++i) tensor->data<float>()[i] = range(random);
  return tensor;
}

// The element at {y, x, c} of the first image; 0 outside.
double pixel(const HostTensor& x, int64_t row, int64_t column, int64_t channel) {
  if (row < 0 || column < 0 || row >= x.shape[1] || column >= x.shape[2]) return 0;
  return x.number((row * x.shape[2] + column) * x.shape[3] + channel);
}

int64_t same_before(int64_t in, int64_t span, int64_t stride) {
  const int64_t out = (in + stride - 1) / stride;
  return std::max<int64_t>(0, (out - 1) * stride + span - in) / 2;
}

// Direct convolution with weights {out, height, width, in}; {1, height, width, out} if depthwise.
Result looped(const HostTensor& x, const HostTensor& w, const HostTensor& bias, int64_t stride,
              int64_t dilation, bool same, int64_t multiplier) {
  const bool depthwise = multiplier > 0;
  const int64_t outs = depthwise ? w.shape[3] : w.shape[0];
  const int64_t ins = depthwise ? 1 : w.shape[3];
  Result result;
  int64_t before[2];
  int64_t size[2];
  for (int64_t d = 0; d < 2; ++d) {
    const int64_t in = x.shape[static_cast<size_t>(d + 1)];
    const int64_t span = (w.shape[static_cast<size_t>(d + 1)] - 1) * dilation + 1;
    before[d] = same ? same_before(in, span, stride) : 0;
    size[d] = same ? (in + stride - 1) / stride : (in - span) / stride + 1;
  }
  result.shape = {1, size[0], size[1], outs};
  for (int64_t row = 0; row < size[0]; ++row) {
    for (int64_t column = 0; column < size[1]; ++column) {
      for (int64_t out = 0; out < outs; ++out) {
        double sum = bias.number(out);
        for (int64_t i = 0; i < w.shape[1]; ++i) {
          for (int64_t j = 0; j < w.shape[2]; ++j) {
            for (int64_t in = 0; in < ins; ++in) {
              const int64_t place = depthwise
                                        ? (i * w.shape[2] + j) * outs + out
                                        : ((out * w.shape[1] + i) * w.shape[2] + j) * ins + in;
              sum += w.number(place) * pixel(x, row * stride - before[0] + i * dilation,
                                             column * stride - before[1] + j * dilation,
                                             depthwise ? out / multiplier : in);
            }
          }
        }
        result.values.push_back(std::max(0.0, sum));
      }
    }
  }
  return result;
}

channels_last::Window window_of(int64_t stride, int64_t dilation, bool same) {
  channels_last::Window window;
  window.stride = {stride, stride};
  window.dilation = {dilation, dilation};
  window.same = same;
  return window;
}

const channels_last::Epilogue kRelu{channels_last::Activation::relu};

// The same weights as {height, width, in, out}.
HostTensorPtr out_last(const HostTensor& w) {
  auto moved = std::make_shared<HostTensor>(ElementType::f32,
                                            Shape{w.shape[1], w.shape[2], w.shape[3], w.shape[0]});
  const int64_t outs = w.shape[0];
  const int64_t each = w.count() / outs;
  for (int64_t i = 0; i < w.count(); ++i) moved->set(i % each * outs + i / each, w.number(i));
  return moved;
}

}  // namespace

TEST_CASE("NHWC convolutions, in both weight orders") {
  const HostTensorPtr x = random_tensor({1, 7, 6, 3}, 1);
  const HostTensorPtr w = random_tensor({4, 3, 2, 3}, 2);
  const HostTensorPtr bias = random_tensor({4}, 3);
  for (const auto& each : {std::tuple{1, 1, true}, {2, 1, true}, {2, 1, false}, {1, 2, true}}) {
    const int stride = std::get<0>(each);
    const int dilation = std::get<1>(each);
    const bool same = std::get<2>(each);
    CAPTURE(stride);
    CAPTURE(dilation);
    const channels_last::Window window = window_of(stride, dilation, same);
    const Result expected = looped(*x, *w, *bias, stride, dilation, same, 0);
    for (bool first : {true, false}) {
      check_same(computed(x,
                          [&](GraphBuilder& builder, TensorId id) {
                            return channels_last::convolution(
                                builder, id, builder.constant(first ? w : out_last(*w)),
                                first ? channels_last::WeightOrder::ohwi
                                      : channels_last::WeightOrder::hwio,
                                builder.constant(bias), window, 1, kRelu);
                          }),
                 expected);
    }
  }
}

TEST_CASE("NHWC depthwise convolutions") {
  const HostTensorPtr x = random_tensor({1, 5, 6, 3}, 4);
  const HostTensorPtr bias = random_tensor({6}, 5);
  const HostTensorPtr w = random_tensor({1, 3, 3, 6}, 6);
  auto apart = std::make_shared<HostTensor>(*w);
  apart->shape = {3, 3, 3, 2};
  const Result expected = looped(*x, *w, *bias, 2, 1, true, 2);
  for (bool joined : {true, false}) {
    check_same(
        computed(x,
                 [&](GraphBuilder& builder, TensorId id) {
                   return channels_last::depthwise_convolution(
                       builder, id, builder.constant(joined ? w : apart),
                       joined ? channels_last::WeightOrder::ohwi : channels_last::WeightOrder::hwio,
                       2, builder.constant(bias), window_of(2, 1, true), kRelu);
                 }),
        expected);
  }
}

TEST_CASE("an NHWC transposed convolution spreads every element over its window") {
  const HostTensorPtr x = random_tensor({1, 3, 2, 2}, 7);
  const HostTensorPtr w = random_tensor({3, 3, 3, 2}, 8);  // out, height, width, in
  for (bool same : {true, false}) {
    // The input has the size of a convolution with stride 2 over the output.
    const int64_t rows = same ? 5 : 8;
    const int64_t columns = same ? 4 : 5;
    Result expected{{1, rows, columns, 3},
                    std::vector<double>(static_cast<size_t>(rows * columns * 3), 0.0)};
    const int64_t top = same ? same_before(rows, 3, 2) : 0;
    const int64_t left = same ? same_before(columns, 3, 2) : 0;
    for (int64_t row = 0; row < 3; ++row) {
      for (int64_t column = 0; column < 2; ++column) {
        for (int64_t i = 0; i < 3; ++i) {
          for (int64_t j = 0; j < 3; ++j) {
            const int64_t y = 2 * row + i - top;
            const int64_t z = 2 * column + j - left;
            if (y < 0 || z < 0 || y >= rows || z >= columns) continue;
            for (int64_t out = 0; out < 3; ++out) {
              for (int64_t in = 0; in < 2; ++in) {
                expected.values[static_cast<size_t>((y * columns + z) * 3 + out)] +=
                    pixel(*x, row, column, in) * w->number(((out * 3 + i) * 3 + j) * 2 + in);
              }
            }
          }
        }
      }
    }
    check_same(computed(x,
                        [&](GraphBuilder& builder, TensorId id) {
                          return channels_last::transposed_convolution(
                              builder, id, builder.constant(w), channels_last::WeightOrder::ohwi,
                              kNone, {rows, columns}, window_of(2, 1, same), {});
                        }),
               expected);
  }
}

TEST_CASE("a convolution between SpaceToBatch and BatchToSpace is a dilated convolution") {
  const HostTensorPtr x = random_tensor({1, 6, 8, 2}, 9);
  const HostTensorPtr w = random_tensor({3, 3, 3, 2}, 10);
  const HostTensorPtr bias = random_tensor({3}, 11);
  for (bool same : {false, true}) {
    // {{before, after} of rows, of columns}
    const std::vector<int64_t> pads =
        same ? std::vector<int64_t>{0, 0, 0, 0} : std::vector<int64_t>{2, 2, 2, 2};
    const std::vector<int64_t> crops{0, 0, 0, 0};
    const auto pairs = [](GraphBuilder& builder, const std::vector<int64_t>& values) {
      return builder.constant([&] {
        auto tensor = std::make_shared<HostTensor>(*model::vector_of(values));
        tensor->shape = {2, 2};
        return tensor;
      }());
    };
    const auto convolution = [&](GraphBuilder& builder, TensorId id,
                                 const channels_last::Window& window) {
      return channels_last::convolution(builder, id, builder.constant(w),
                                        channels_last::WeightOrder::ohwi, builder.constant(bias),
                                        window, 1, kRelu);
    };
    const Result apart = computed(x, [&](GraphBuilder& builder, TensorId id) {
      const TensorId block = builder.integers({2, 2});
      const TensorId cut = tensorflow::space_to_batch(builder, id, block, pairs(builder, pads));
      const TensorId y = convolution(builder, cut, window_of(1, 1, same));
      return tensorflow::batch_to_space(builder, y, block, pairs(builder, crops));
    });
    const auto window = channels_last::dilated(window_of(1, 1, same), {3, 3}, {2, 2},
                                               {pads[0], pads[2], pads[1], pads[3]}, {0, 0, 0, 0});
    REQUIRE(window);
    check_same(apart, looped(*x, *w, *bias, 1, 2, true, 0));
    check_same(computed(x, [&](GraphBuilder& builder,
                               TensorId id) { return convolution(builder, id, *window); }),
               apart);
  }
  CHECK_FALSE(channels_last::dilated(window_of(2, 1, false), {3, 3}, {2, 2}, {2, 2, 2, 2}, {}));
  CHECK_FALSE(
      channels_last::dilated(window_of(1, 1, false), {3, 3}, {2, 2}, {0, 0, 0, 0}, {1, 0, 0, 0}));
}

}  // namespace dala::test
