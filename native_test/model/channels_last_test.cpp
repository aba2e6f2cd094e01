// The translation of NHWC operators to ONNX: the results of the nodes against loops over
// {n, height, width, channels}, and against each other.
#include "model/channels_last.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <random>

#include "model/model.hpp"
#include "model/tensorflow.hpp"
#include "support/engine_fixture.hpp"

namespace dala::test {
namespace {

using model::ElementType;
using model::GraphBuilder;
using model::HostTensor;
using model::HostTensorPtr;
using model::kNone;
using model::TensorId;
namespace channels_last = model::channels_last;
namespace tensorflow = model::tensorflow;

HostTensorPtr random_tensor(const Shape& shape, uint32_t seed) {
  auto tensor = std::make_shared<HostTensor>(ElementType::f32, shape);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> range(-1, 1);
  for (int64_t i = 0; i < tensor->count(); ++i) tensor->data<float>()[i] = range(random);
  return tensor;
}

HostTensorPtr counting_tensor(const Shape& shape) {
  auto tensor = std::make_shared<HostTensor>(ElementType::f32, shape);
  for (int64_t i = 0; i < tensor->count(); ++i) {
    tensor->data<float>()[i] = static_cast<float>(i);
  }
  return tensor;
}

struct Result {
  Shape shape;
  std::vector<double> values;
};

using Body = std::function<TensorId(GraphBuilder&, TensorId)>;

// Runs the nodes that `body` adds on x.
Result computed(const HostTensorPtr& x, const Body& body) {
  GraphBuilder builder("test", "tests");
  builder.set_layer("body");
  model::Port input;
  input.name = "x";
  input.shape.emplace();
  for (int64_t size : x->shape) input.shape->push_back({size, ""});
  model::Port output;
  output.name = "y";
  output.tensor = body(builder, builder.input(input));
  builder.output(output);
  const auto model = model::Model::from_graph(engine(), builder.finish());
  const std::vector<float> values(x->data<float>(), x->data<float>() + x->count());
  const auto outputs = model->predict_now({buffer(values, x->shape)});
  const TensorType& type = outputs.at(0)->type();
  Result result{type.shape, {}};
  if (type.dtype == DType::s32) {
    for (int32_t each : read<int32_t>(outputs[0])) result.values.push_back(each);
  } else {
    for (float each : read<float>(outputs[0])) result.values.push_back(each);
  }
  return result;
}

void check_same(const Result& got, const Result& expected) {
  CHECK(got.shape == expected.shape);
  REQUIRE(got.values.size() == expected.values.size());
  for (size_t i = 0; i < got.values.size(); ++i) {
    CAPTURE(i);
    CHECK(std::fabs(got.values[i] - expected.values[i]) <= 1e-4);
  }
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

TEST_CASE("strided slices with masks") {
  const HostTensorPtr x = counting_tensor({2, 3, 4});
  const auto cut = [&](std::vector<int64_t> begin, std::vector<int64_t> end,
                       std::vector<int64_t> strides, const tensorflow::SliceMasks& masks) {
    return computed(x, [&](GraphBuilder& builder, TensorId id) {
      return tensorflow::strided_slice(builder, id, builder.integers(begin), builder.integers(end),
                                       builder.integers(strides), masks);
    });
  };
  check_same(cut({1, 0, 3}, {2, 2, 0}, {1, 1, -2}, {}), {{1, 2, 2}, {15, 13, 19, 17}});
  // x[..., -1]
  check_same(cut({0, -1}, {0, 0}, {1, 1}, {0, 0, 1, 0, 2}), {{2, 3}, {3, 7, 11, 15, 19, 23}});
  // x[1, :, None, ::-3]
  check_same(cut({1, 0, 0, 0}, {0, 0, 0, 0}, {1, 1, 1, -3}, {10, 10, 0, 4, 1}),
             {{3, 1, 2}, {15, 12, 19, 16, 23, 20}});
  // x[None, ..., None, 2:]
  check_same(cut({0, 0, 0, 2}, {0, 0, 0, 0}, {1, 1, 1, 1}, {0, 8, 2, 5, 0}),
             {{1, 2, 3, 1, 2}, {2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23}});
  CHECK(failure([&] { cut({0}, {1}, {0}, {}); }) == "invalid_model: a slice with a stride of 0");
}

TEST_CASE("argmax, slices and paddings") {
  const HostTensorPtr x = counting_tensor({2, 3});
  check_same(computed(x,
                      [](GraphBuilder& builder, TensorId id) {
                        return tensorflow::arg(builder, "ArgMax", id, builder.integers({-1}),
                                               ElementType::i32);
                      }),
             {{2}, {2, 2}});
  check_same(computed(x,
                      [](GraphBuilder& builder, TensorId id) {
                        const auto parts = tensorflow::unstack(builder, id, 1, 3);
                        return tensorflow::stack(builder, {parts[2], parts[0]}, 0);
                      }),
             {{2, 2}, {2, 5, 0, 3}});
  const auto padded = [&](bool symmetric) {
    return computed(x, [&](GraphBuilder& builder, TensorId id) {
      auto pads = std::make_shared<HostTensor>(*model::vector_of({0, 1, 1, 0}));
      pads->shape = {2, 2};
      return tensorflow::mirror_pad(builder, id, builder.constant(pads), symmetric);
    });
  };
  check_same(padded(false), {{3, 4}, {1, 0, 1, 2, 4, 3, 4, 5, 1, 0, 1, 2}});
  check_same(padded(true), {{3, 4}, {0, 0, 1, 2, 3, 3, 4, 5, 3, 3, 4, 5}});
}

TEST_CASE("nodes can only use tensors that exist") {
  GraphBuilder builder("test", "tests");
  builder.set_layer("here");
  CHECK(failure([&] { builder.add("Abs", {7}); }) ==
        "invalid_model: here needs a tensor that does not exist");
  CHECK(failure([&] { builder.named("z"); }) ==
        "invalid_model: here needs \"z\", which no earlier node computes");
  CHECK(failure([&] { builder.finish(); }) == "invalid_model: the graph has no outputs");

  model::Port output;
  output.name = "y";
  output.tensor = builder.unsupported("LSTM", {builder.scalar(1)}, 1)[0];
  builder.output(output);
  output.tensor = builder.unsupported("CONV", {output.tensor}, 1, "five axes")[0];
  builder.output(output);
  CHECK(failure([&] { model::Model::from_graph(engine(), builder.finish()); }) ==
        "unsupported_op: the model uses operators that are not supported: test.CONV with five axes "
        "(here); test.LSTM (here)");
}

}  // namespace dala::test
