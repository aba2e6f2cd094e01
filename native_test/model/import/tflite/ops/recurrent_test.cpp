// Recurrent layers of TFLite, whose states are variables.
#include <cmath>

#include "model/import/tflite/lite_model.hpp"

namespace dala::test {
namespace {

using Floats = std::vector<float>;

constexpr int kSequenceRnn = 35;
constexpr int kSequenceLstm = 44;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

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
