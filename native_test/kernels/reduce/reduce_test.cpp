// References of the kernels along an axis, and the values at the edges of their rules.
#include <doctest/doctest.h>

#include <limits>

#include "support/subject.hpp"

namespace dala::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

struct View {
  size_t outer = 1;
  size_t axis = 1;
  size_t inner = 1;
};

View view_of(const Shape& shape, std::optional<int64_t> axis) {
  View view;
  const auto rank = static_cast<int64_t>(shape.size());
  if (!axis) {
    for (int64_t extent : shape) view.axis *= static_cast<size_t>(extent);
    return view;
  }
  const int64_t at = *axis < 0 ? *axis + rank : *axis;
  for (int64_t d = 0; d < rank; ++d) {
    const auto extent = static_cast<size_t>(shape[static_cast<size_t>(d)]);
    (d < at ? view.outer : d == at ? view.axis : view.inner) *= extent;
  }
  return view;
}

std::optional<int64_t> axis_of(const Case& example) {
  const auto found = example.params.find("axis");
  if (found == example.params.end()) return std::nullopt;
  return std::get<int64_t>(found->second);
}

struct Along {
  Shape shape;
  std::optional<int64_t> axis;
};

// Rows and columns, shorter and longer than lanes, blocks and segments.
std::vector<Along> views() {
  std::vector<Along> all = {
      {{}, {}},        {{1}, {}},          {{1}, 0},        {{7}, {}},       {{3, 4}, {}},
      {{3, 4}, 0},     {{3, 4}, 1},        {{3, 4}, -1},    {{2, 3, 4}, 1},  {{2, 3, 4}, -3},
      {{5, 1, 3}, 1},  {{1, 5}, 0},        {{129}, {}},     {{2, 128}, 1},   {{2, 200}, 1},
      {{130, 2}, 0},   {{0, 3}, 1},        {{2, 40, 33}, 1}};
  if (quick()) return all;
  for (const Along& large : {Along{{40000}, {}}, {{100003}, 0}, {{64, 1000}, 1}, {{64, 1000}, 0},
                             {{3, 700, 300}, 1}, {{60000, 3}, 0}, {{60000, 3}, 1}, {{5, 9000, 2}, 1},
                             {{257, 255}, {}}}) {
    all.push_back(large);
  }
  std::mt19937_64 random(13);
  for (int i = 0; i < 8; ++i) {
    Shape shape(1 + random() % 4);
    for (int64_t& extent : shape) extent = 1 + static_cast<int64_t>(random() % 20);
    const auto axis = static_cast<int64_t>(random() % shape.size());
    all.push_back({shape, axis});
  }
  return all;
}

// A case for a view; odd ones keep the axis as 1 in the output's shape.
Case reduction_case(DType in, DType out, const Along& along, bool keep) {
  Case example{{{in, along.shape}}, {out, {}}};
  if (!along.axis) {
    if (keep) example.output.shape = {1};
    return example;
  }
  example.params["axis"] = *along.axis;
  Shape shape = along.shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const auto at = *along.axis < 0 ? *along.axis + rank : *along.axis;
  if (keep) {
    shape[static_cast<size_t>(at)] = 1;
  } else {
    shape.erase(shape.begin() + at);
  }
  example.output.shape = shape;
  return example;
}

std::vector<Case> cases_into(DType in, const std::vector<DType>& outs, bool empty_axis) {
  std::vector<Case> cases;
  bool keep = false;
  for (DType out : outs) {
    for (const Along& along : views()) {
      cases.push_back(reduction_case(in, out, along, keep));
      keep = !keep;
    }
  }
  if (empty_axis) {
    cases.push_back(reduction_case(in, outs[0], {{0}, {}}, false));
    cases.push_back(reduction_case(in, outs[0], {{0, 3}, 0}, false));
  }
  return cases;
}

std::vector<DType> sum_outputs(DType in) {
  if (is_float(in)) return {in};
  if (in == DType::s64) return {in, DType::f64};
  return {in, DType::s64, DType::f32, DType::f64};
}

// Calls the visitor with each result's place and its elements' places, in order.
void each_result(const Case& example,
                 const std::function<void(size_t, const std::vector<size_t>&)>& visit) {
  const View view = view_of(example.inputs[0].shape, axis_of(example));
  std::vector<size_t> places(view.axis);
  for (size_t o = 0; o < view.outer; ++o) {
    for (size_t i = 0; i < view.inner; ++i) {
      for (size_t k = 0; k < view.axis; ++k) places[k] = (o * view.axis + k) * view.inner + i;
      visit(o * view.inner + i, places);
    }
  }
}

Tensor summed(const Case& example, const std::vector<Tensor>& inputs, bool average) {
  Tensor result(example.output);
  result.scales.resize(result.is_real() ? result.size() : 0);
  each_result(example, [&](size_t at, const std::vector<size_t>& places) {
    const auto count = static_cast<int64_t>(places.size());
    if (inputs[0].is_real()) {
      long double sum = 0;
      long double magnitude = 0;
      for (size_t place : places) {
        sum += inputs[0].reals[place];
        magnitude += std::fabs(inputs[0].reals[place]);
      }
      const long double divisor = average ? static_cast<long double>(count) : 1.0L;
      result.reals[at] = sum / divisor;
      result.scales[at] = magnitude / divisor;
      return;
    }
    uint64_t bits = 0;
    for (size_t place : places) bits += static_cast<uint64_t>(inputs[0].integers[place]);
    const auto sum = static_cast<int64_t>(bits);
    if (!result.is_real()) {
      result.integers[at] = wrap(example.output.dtype, average ? sum / count : sum);
      return;
    }
    result.reals[at] = static_cast<long double>(sum) /
                       (average ? static_cast<long double>(count) : 1.0L);
    result.scales[at] = std::fabs(result.reals[at]);
  });
  return result;
}

Tensor extreme(const Case& example, const std::vector<Tensor>& inputs, bool largest) {
  Tensor result(example.output);
  const auto pick = [&](const auto& from, auto& to) {
    each_result(example, [&](size_t at, const std::vector<size_t>& places) {
      to[at] = from[places[0]];
      for (size_t place : places) {
        to[at] = largest ? std::max(to[at], from[place]) : std::min(to[at], from[place]);
      }
    });
  };
  if (result.is_real()) {
    pick(inputs[0].reals, result.reals);
  } else {
    pick(inputs[0].integers, result.integers);
  }
  return result;
}

Tensor first_largest(const Case& example, const std::vector<Tensor>& inputs) {
  Tensor result(example.output);
  const auto pick = [&](const auto& from) {
    each_result(example, [&](size_t at, const std::vector<size_t>& places) {
      size_t best = 0;
      for (size_t k = 1; k < places.size(); ++k) {
        if (from[places[k]] > from[places[best]]) best = k;
      }
      result.integers[at] = static_cast<int64_t>(best);
    });
  };
  if (inputs[0].is_real()) {
    pick(inputs[0].reals);
  } else {
    pick(inputs[0].integers);
  }
  return result;
}

// Sums are off by a few roundings relative to the sum of magnitudes, whatever their length.
const SubjectOf kSum("reduce_sum", {[](DType in) { return cases_into(in, sum_outputs(in), true); },
                                    [](const Case& example, const std::vector<Tensor>& inputs) {
                                      return summed(example, inputs, false);
                                    },
                                    1e-6L, 1e-14L});
const SubjectOf kMean("reduce_mean", {[](DType in) { return cases_into(in, sum_outputs(in), false); },
                                      [](const Case& example, const std::vector<Tensor>& inputs) {
                                        return summed(example, inputs, true);
                                      },
                                      1e-6L, 1e-14L});
const SubjectOf kMax("reduce_max", {[](DType in) { return cases_into(in, {in}, false); },
                                    [](const Case& example, const std::vector<Tensor>& inputs) {
                                      return extreme(example, inputs, true);
                                    }});
const SubjectOf kMin("reduce_min", {[](DType in) { return cases_into(in, {in}, false); },
                                    [](const Case& example, const std::vector<Tensor>& inputs) {
                                      return extreme(example, inputs, false);
                                    }});
const SubjectOf kArgmax("argmax", {[](DType in) {
                                     const bool every = in == DType::f32;
                                     return cases_into(in,
                                                       every ? std::vector{DType::s32, DType::s64,
                                                                           DType::u32}
                                                             : std::vector{DType::s32},
                                                       false);
                                   },
                                   first_largest});

const SubjectOf kSoftmax(
    "softmax",
    {[](DType dtype) {
       std::vector<Case> cases;
       for (const Along& along : views()) {
         Case example{{{dtype, along.shape}}, {dtype, along.shape}};
         if (along.axis) example.params["axis"] = *along.axis;
         cases.push_back(std::move(example));
       }
       cases.push_back({{{dtype, {0, 3}}}, {dtype, {0, 3}}, {{"axis", int64_t{0}}}});
       return cases;
     },
     [](const Case& example, const std::vector<Tensor>& inputs) {
       Case along = example;
       const bool last = !axis_of(example) && !example.output.shape.empty();
       if (last) along.params["axis"] = int64_t{-1};
       Tensor result(example.output);
       each_result(along, [&](size_t, const std::vector<size_t>& places) {
         long double sum = 0;
         for (size_t place : places) sum += std::exp(inputs[0].reals[place]);
         for (size_t place : places) {
           result.reals[place] = std::exp(inputs[0].reals[place]) / sum;
         }
       });
       return result;
     },
     2e-6L, 1e-14L});

const SubjectOf kLayerNorm(
    "layer_norm",
    {[](DType dtype) {
       std::vector<Case> cases;
       for (const Shape& shape : {Shape{1}, {6}, {3, 5}, {2, 3, 130}, {0, 4}, {3, 0}, {4, 700}}) {
         const TensorType type{dtype, shape};
         const TensorType row{dtype, {shape.back()}};
         cases.push_back({{type}, type});
         cases.push_back({{type, row}, type, {{"epsilon", 0.5}}});
         cases.push_back({{type, row, row}, type});
       }
       if (!quick()) cases.push_back({{{dtype, {300, 257}}}, {dtype, {300, 257}}});
       return cases;
     },
     [](const Case& example, const std::vector<Tensor>& inputs) {
       const auto found = example.params.find("epsilon");
       const long double epsilon =
           found == example.params.end() ? 1e-5 : std::get<double>(found->second);
       Case along = example;
       along.params["axis"] = int64_t{-1};
       Tensor result(example.output);
       result.scales.resize(result.size());
       each_result(along, [&](size_t, const std::vector<size_t>& places) {
         const auto count = static_cast<long double>(places.size());
         long double mean = 0;
         long double variance = 0;
         for (size_t place : places) mean += inputs[0].reals[place] / count;
         for (size_t place : places) {
           variance += std::pow(inputs[0].reals[place] - mean, 2.0L) / count;
         }
         for (size_t k = 0; k < places.size(); ++k) {
           const long double scale = inputs.size() > 1 ? inputs[1].reals[k] : 1;
           const long double bias = inputs.size() > 2 ? inputs[2].reals[k] : 0;
           const long double deviation = 1 / std::sqrt(variance + epsilon);
           result.reals[places[k]] =
               (inputs[0].reals[places[k]] - mean) * deviation * scale + bias;
           result.scales[places[k]] = 4 * deviation * std::fabs(scale) + std::fabs(bias);
         }
       });
       return result;
     },
     1e-6L, 1e-14L});

template <typename Out, typename In>
std::vector<Out> reduced(const std::string& kernel, const std::vector<In>& input) {
  const BufferPtr output = zeros(dtype_of<Out>(), {});
  run(kernel, {buffer(input)}, output);
  return read<Out>(output);
}

}  // namespace

TEST_CASE("the sum of 16 million floats is accurate") {
  const size_t count = quick() ? 10000 : 16U << 20U;
  std::vector<float> values(count);
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(0.0F, 1.0F);
  double sum = 0;
  for (float& value : values) {
    value = uniform(random);
    sum += value;
  }
  const float got = reduced<float>("reduce_sum", values)[0];
  CHECK(std::fabs(got - sum) <= 1e-5 * sum);
}

TEST_CASE("NaN wins over every number, wherever it stands") {
  for (size_t length : {size_t{1}, size_t{5}, size_t{300}, quick() ? size_t{500} : size_t{50000}}) {
    for (size_t at : {size_t{0}, length / 2, length - 1}) {
      std::vector<float> values(length, 1.0F);
      values[length - 1] = kInf;
      values[at] = kNan;
      CHECK(std::isnan(reduced<float>("reduce_max", values)[0]));
      CHECK(std::isnan(reduced<float>("reduce_min", values)[0]));
      CHECK(std::isnan(reduced<float>("reduce_sum", values)[0]));
      CHECK(reduced<int32_t>("argmax", values)[0] == static_cast<int32_t>(at));
    }
  }
}

TEST_CASE("argmax gives the first of equal elements") {
  for (size_t length : {size_t{2}, size_t{70}, size_t{1000}, quick() ? size_t{500} : size_t{70000}}) {
    CHECK(reduced<int32_t>("argmax", std::vector<float>(length, -kInf))[0] == 0);
    std::vector<uint8_t> values(length, 3);
    values[length - 1] = values[length / 3] = 9;
    CHECK(reduced<int64_t>("argmax", values)[0] == static_cast<int64_t>(length / 3));
  }
}

TEST_CASE("sums of integers wrap, wider outputs hold them, means truncate toward zero") {
  CHECK(reduced<uint8_t, uint8_t>("reduce_sum", {200, 100}) == std::vector<uint8_t>{44});
  CHECK(reduced<int64_t, uint8_t>("reduce_sum", {200, 100}) == std::vector<int64_t>{300});
  CHECK(reduced<float, uint8_t>("reduce_mean", {200, 101}) == std::vector<float>{150.5F});
  CHECK(reduced<int32_t, int32_t>("reduce_mean", {-3, -4}) == std::vector<int32_t>{-3});
}

TEST_CASE("softmax does not overflow") {
  const BufferPtr output = zeros(DType::f32, {2});
  run("softmax", {buffer<float>({1000, 1000})}, output);
  CHECK(read<float>(output) == std::vector<float>{0.5F, 0.5F});
}

TEST_CASE("reductions say what does not fit") {
  const BufferPtr input = zeros(DType::f32, {2, 3});
  const Params axis{{"axis", int64_t{0}}};
  CHECK(failure([&] { run("reduce_sum", {input}, zeros(DType::f32, {2}), axis); }) ==
        "shape_mismatch: the output of reduce_sum has shape {2}, expected {3} or {1, 3}");
  CHECK(failure([&] { run("reduce_sum", {input}, zeros(DType::f32, {2})); }) ==
        "shape_mismatch: the output of reduce_sum has shape {2}, expected {} or {1}");
  CHECK(failure([&] { run("reduce_sum", {input}, zeros(DType::s64, {3}), axis); }) ==
        "dtype_mismatch: the output of reduce_sum is s64, expected f32");
  CHECK(failure([&] { run("reduce_max", {zeros(DType::s32, {3})}, zeros(DType::s64, {})); }) ==
        "dtype_mismatch: the output of reduce_max is s64, expected s32");
  CHECK(failure([&] { run("reduce_sum", {input}, zeros(DType::f32, {}), {{"axis", int64_t{2}}}); }) ==
        "invalid_param: axis of reduce_sum must be an integer between -2 and 1 for an input of "
        "shape {2, 3}, got 2");
  CHECK(failure([&] {
          run("reduce_sum", {zeros(DType::f32, {})}, zeros(DType::f32, {}), axis);
        }) == "invalid_param: axis of reduce_sum must be absent for a scalar, got 0");
  for (const char* kernel : {"reduce_max", "reduce_min", "reduce_mean"}) {
    CHECK(failure([&] { run(kernel, {zeros(DType::f32, {0, 3})}, zeros(DType::f32, {3}), axis); }) ==
          text("shape_mismatch: input 0 of ", kernel,
               " has shape {0, 3}, which is empty along axis 0"));
  }
  CHECK(failure([&] { run("argmax", {zeros(DType::f32, {0})}, zeros(DType::s32, {})); }) ==
        "shape_mismatch: input 0 of argmax has shape {0}, which is empty in it");
  CHECK(failure([&] { run("argmax", {input}, zeros(DType::f32, {})); }) ==
        "dtype_mismatch: the output of argmax is f32, expected s32, s64 or u32");
  CHECK(failure([&] { run("softmax", {input}, zeros(DType::f32, {3, 2})); }) ==
        "shape_mismatch: the output of softmax has shape {3, 2}, expected {2, 3}");
  CHECK(failure([&] { run("layer_norm", {input, zeros(DType::f32, {2})}, input); }) ==
        "shape_mismatch: input 1 of layer_norm has shape {2}, expected {3} like the last axis of "
        "input 0");
  CHECK(failure([&] {
          run("layer_norm", {zeros(DType::f32, {})}, zeros(DType::f32, {}));
        }) == "shape_mismatch: input 0 of layer_norm is a scalar, expected a last axis");
  CHECK(failure([&] { run("layer_norm", {input}, input, {{"epsilon", -1.0}}); }) ==
        "invalid_param: epsilon of layer_norm must be a number of at least 0, got -1");
  CHECK(failure([&] { run("layer_norm", {input, input, input, input}, input); }) ==
        "arity_mismatch: layer_norm takes 1 to 3 inputs, got 4");
}

}  // namespace dala::test
