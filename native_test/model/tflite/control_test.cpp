// TFLite files with several graphs: branches, loops, variables; and recurrent layers, whose states
// are variables.
#include <doctest/doctest.h>

#include <cmath>

#include "model/tflite/lite_model.hpp"

namespace dala::test {
namespace {

using Floats = std::vector<float>;

constexpr int kAdd = 0;
constexpr int kAbs = 101;
constexpr int kNeg = 59;
constexpr int kLess = 58;
constexpr int kIf = 118;
constexpr int kWhile = 119;
constexpr int kCallOnce = 129;
constexpr int kVarHandle = 142;
constexpr int kReadVariable = 143;
constexpr int kAssignVariable = 144;
constexpr int kSequenceRnn = 35;
constexpr int kSequenceLstm = 44;

// A graph of one operator: y = op(x).
void add_unary_graph(TfliteWriter& writer, int code) {
  writer.next_graph();
  const int x = writer.tensor("x", {2});
  const int y = writer.tensor("y", {2});
  writer.op(code, {x}, {y}).inputs({x}).outputs({y});
}

// An accumulator: y = variable + x, which becomes the variable. The graph that sets it to `initial`
// is the file's second one.
TfliteWriter accumulator(float initial) {
  TfliteWriter writer;
  const FlatTable named = FlatTable().text(1, "sum");
  const int x = writer.tensor("x", {2});
  const int handle = writer.tensor("handle", {}, LiteType::resource);
  const int before = writer.tensor("before", {2});
  const int y = writer.tensor("y", {2});
  writer.op(kCallOnce, {}, {}, FlatTable().integer(0, 1));
  writer.op(kVarHandle, {}, {handle}, named).op(kReadVariable, {handle}, {before});
  writer.op(kAdd, {before, x}, {y}).op(kAssignVariable, {handle, y}, {});
  writer.inputs({x}).outputs({y});
  writer.next_graph();
  const int other = writer.tensor("handle", {}, LiteType::resource);
  const int value = writer.constant<float>({2}, LiteType::f32, {initial, initial});
  writer.op(kVarHandle, {}, {other}, named).op(kAssignVariable, {other, value}, {});
  return writer;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

TEST_CASE("TFLite: IF takes the branch that its condition says") {
  TfliteWriter writer;
  const int condition = writer.tensor("condition", {1}, LiteType::boolean);
  const int x = writer.tensor("x", {2});
  const int y = writer.tensor("y", {2});
  writer.op(kIf, {condition, x}, {y}, FlatTable().integer(0, 1).integer(1, 2));
  writer.inputs({condition, x}).outputs({y});
  add_unary_graph(writer, kNeg);
  add_unary_graph(writer, kAbs);
  const auto model = load_lite(writer.str());
  const BufferPtr values = buffer<float>({1, -2});
  CHECK(read<float>(model->predict_now({buffer<uint8_t>({1}), values})[0]) == Floats{-1, 2});
  CHECK(read<float>(model->predict_now({buffer<uint8_t>({0}), values})[0]) == Floats{1, 2});
}

TEST_CASE("TFLite: WHILE runs while its condition holds") {
  TfliteWriter writer;
  const int start = writer.constant<int32_t>({1}, LiteType::i32, {0});
  const int x = writer.tensor("x", {2});
  const int count = writer.tensor("count", {1}, LiteType::i32);
  const int y = writer.tensor("y", {2});
  writer.op(kWhile, {start, x}, {count, y}, FlatTable().integer(0, 1).integer(1, 2));
  writer.inputs({x}).outputs({y, count});
  writer.next_graph();
  const int i = writer.tensor("i", {1}, LiteType::i32);
  const int state = writer.tensor("state", {2});
  const int limit = writer.constant<int32_t>({1}, LiteType::i32, {3});
  const int more = writer.tensor("more", {1}, LiteType::boolean);
  writer.op(kLess, {i, limit}, {more}).inputs({i, state}).outputs({more});
  writer.next_graph();
  const int j = writer.tensor("j", {1}, LiteType::i32);
  const int before = writer.tensor("before", {2});
  const int one = writer.constant<int32_t>({1}, LiteType::i32, {1});
  const int next = writer.tensor("next", {1}, LiteType::i32);
  const int after = writer.tensor("after", {2});
  writer.op(kAdd, {j, one}, {next}).op(kAdd, {before, before}, {after});
  writer.inputs({j, before}).outputs({next, after});
  const auto model = load_lite(writer.str());
  const auto outputs = model->predict_now({buffer<float>({1, -2})});
  CHECK(read<float>(outputs[0]) == Floats{8, -16});
  CHECK(read<int32_t>(outputs[1]) == std::vector<int32_t>{3});
  CHECK(!model->profile({buffer<float>({1, 2})}).layers.empty());  // unrolled
}

TEST_CASE("TFLite: a graph that is not there") {
  TfliteWriter writer;
  const int x = writer.tensor("x", {2});
  const int y = writer.tensor("y", {2});
  writer.op(kWhile, {x}, {y}, FlatTable().integer(0, 4).integer(1, 5)).inputs({x}).outputs({y});
  CHECK(failure([&] { load_lite(writer.str()); }) ==
        "invalid_model: WHILE (y): graph 4 does not exist, the file has 1");
}

TEST_CASE("TFLite: a variable is an input, and an output that feeds it") {
  const auto model = load_lite(accumulator(0).str());
  REQUIRE(model->inputs().size() == 2);
  REQUIRE(model->outputs().size() == 2);
  CHECK(model->inputs()[1].name == "variable /sum");
  CHECK(model->outputs()[0].feeds.empty());
  CHECK(model->outputs()[1].feeds == "variable /sum");
  const auto outputs = model->predict_now({buffer<float>({1, 2}), buffer<float>({10, 20})});
  CHECK(read<float>(outputs[0]) == Floats{11, 22});
  CHECK(read<float>(outputs[1]) == Floats{11, 22});
  CHECK(failure([&] { load_lite(accumulator(3).str()); }) ==
        "unsupported_op: the model uses an operator that is not supported: tflite.CALL_ONCE with "
        "variables that do not start at 0 (CALL_ONCE)");
}

TEST_CASE("TFLite: UNIDIRECTIONAL_SEQUENCE_RNN keeps its state in a variable") {
  TfliteWriter writer;
  const int x = writer.tensor("x", {1, 3, 1});  // a sequence of three numbers
  const int w = writer.constant<float>({2, 1}, LiteType::f32, {0.5F, -1});
  const int r = writer.constant<float>({2, 2}, LiteType::f32, {0.1F, 0.2F, 0.3F, -0.4F});
  const int b = writer.constant<float>({2}, LiteType::f32, {0.1F, 0});
  const int h = writer.variable("h", {1, 2});
  const int y = writer.tensor("y", {1, 3, 2});
  writer.op(kSequenceRnn, {x, w, r, b, h}, {y}, FlatTable().byte(1, 4)).inputs({x}).outputs({y});
  const auto model = load_lite(writer.str());
  const auto outputs =
      model->predict_now({buffer<float>({1, 2, -1}, {1, 3, 1}), buffer<float>({0.5F, 0}, {1, 2})});
  double h0 = 0.5;
  double h1 = 0;
  Floats expected;
  for (double each : {1.0, 2.0, -1.0}) {
    const double n0 = std::tanh(0.5 * each + 0.1 * h0 + 0.2 * h1 + 0.1);
    const double n1 = std::tanh(-each + 0.3 * h0 - 0.4 * h1);
    h0 = n0;
    h1 = n1;
    expected.push_back(static_cast<float>(h0));
    expected.push_back(static_cast<float>(h1));
  }
  const Floats got = read<float>(outputs[0]);
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]));
  CHECK(model->outputs()[1].feeds == "h");
  CHECK(read<float>(outputs[1])[1] == doctest::Approx(expected[5]));
}

TEST_CASE("TFLite: UNIDIRECTIONAL_SEQUENCE_LSTM, with and without an input gate") {
  for (const bool coupled : {false, true}) {
    CAPTURE(coupled);
    TfliteWriter writer;
    const int x = writer.tensor("x", {1, 2, 1});
    // One unit; gates input, forget, cell, output.
    const std::vector<double> w{0.5, -0.25, 1, 0.75};
    const std::vector<double> r{0.1, 0.2, -0.3, 0.4};
    const std::vector<double> b{0.05, 0.1, -0.2, 0.3};
    const auto constants = [&](const std::vector<double>& values, bool matrix) {
      std::vector<int32_t> tensors;
      for (double each : values) {
        const std::vector<int32_t> shape =
            matrix ? std::vector<int32_t>{1, 1} : std::vector<int32_t>{1};
        tensors.push_back(writer.constant<float>(shape, LiteType::f32, {static_cast<float>(each)}));
      }
      if (coupled) tensors[0] = -1;
      return tensors;
    };
    std::vector<int32_t> all{x};
    for (const auto& part :
         {constants(w, true), constants(r, true), std::vector<int32_t>{-1, -1, -1},
          constants(b, false), std::vector<int32_t>{-1, -1}}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    all.push_back(writer.variable("h", {1, 1}));
    all.push_back(writer.variable("c", {1, 1}));
    const int y = writer.tensor("y", {1, 2, 1});
    writer.op(kSequenceLstm, all, {y}, FlatTable().byte(0, 4).real(1, 0.9F));
    writer.inputs({x}).outputs({y});
    const auto model = load_lite(writer.str());
    const auto outputs =
        model->predict_now({buffer<float>({1, -2}, {1, 2, 1}), buffer<float>({0.5F}, {1, 1}),
                            buffer<float>({0.8F}, {1, 1})});
    double h = 0.5;
    double c = 0.8;
    Floats expected;
    for (double each : {1.0, -2.0}) {
      const auto gate = [&](size_t g) { return w[g] * each + r[g] * h + b[g]; };
      const double forget = sigmoid(gate(1));
      const double input = coupled ? 1 - forget : sigmoid(gate(0));
      c = std::min(0.9, std::max(-0.9, forget * c + input * std::tanh(gate(2))));
      h = sigmoid(gate(3)) * std::tanh(c);
      expected.push_back(static_cast<float>(h));
    }
    const Floats got = read<float>(outputs[0]);
    REQUIRE(got.size() == 2);
    CHECK(got[0] == doctest::Approx(expected[0]));
    CHECK(got[1] == doctest::Approx(expected[1]));
    CHECK(read<float>(outputs[2])[0] == doctest::Approx(c));
  }
}

TEST_CASE("TFLite: forms of recurrent layers that are not supported") {
  TfliteWriter writer;
  const int x = writer.tensor("x", {1, 2, 1});
  // A file with as many tensors as the operator has inputs.
  for (int i = 0; i < 24; ++i) writer.tensor("unused", {1});
  std::vector<int32_t> all(24, -1);
  all[0] = x;
  all[16] = writer.constant<float>({1, 1}, LiteType::f32, {1});
  const int y = writer.tensor("y", {1, 2, 1});
  writer.op(kSequenceLstm, all, {y}, FlatTable().byte(0, 4)).inputs({x}).outputs({y});
  CHECK(failure([&] { load_lite(writer.str()); }) ==
        "unsupported_op: the model uses an operator that is not supported: "
        "tflite.UNIDIRECTIONAL_SEQUENCE_LSTM with a projection (y)");
}

}  // namespace dala::test
