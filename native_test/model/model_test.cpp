// Models from file to result: values against loops, plans, errors, several threads.
#include "model/model.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>

#include "support/engine_fixture.hpp"
#include "support/onnx_writer.hpp"

namespace dala::test {
namespace {

using model::ElementType;
using model::Model;

std::shared_ptr<Model> load(const OnnxWriter& writer) {
  return Model::load(engine(), as_bytes(writer.str()), "");
}

std::vector<float> random_floats(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> range(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = range(random);
  return values;
}

void check_close(const std::vector<float>& got, const std::vector<double>& expected,
                 double tolerance = 1e-5) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(std::fabs(got[i] - expected[i]) <= tolerance * std::max(1.0, std::fabs(expected[i])));
  }
}

// A convolution, 3 by 3 with one row of padding, batch normalization, a shortcut and an
// activation: the block of residual networks.
struct Block {
  static constexpr size_t kChannels = 4;
  static constexpr size_t kSize = 6;
  std::vector<float> weights = random_floats(kChannels * kChannels * 9, 1);
  std::vector<float> scale = random_floats(kChannels, 2);
  std::vector<float> shift = random_floats(kChannels, 3);
  std::vector<float> mean = random_floats(kChannels, 4);
  std::vector<float> variance{0.5F, 1.0F, 2.0F, 0.25F};

  OnnxWriter writer(const std::string& activation) const {
    OnnxWriter model;
    model.input("x", {"n", 4, 6, 6}).output("y", {"n", 4, 6, 6});
    model.constant("w", ElementType::f32, {4, 4, 3, 3}, weights);
    model.constant("scale", ElementType::f32, {4}, scale);
    model.constant("shift", ElementType::f32, {4}, shift);
    model.constant("mean", ElementType::f32, {4}, mean);
    model.constant("variance", ElementType::f32, {4}, variance);
    model.constant<float>("low", ElementType::f32, {}, {0});
    model.constant<float>("high", ElementType::f32, {}, {6});
    model.node("Conv", {"x", "w"}, {"c"}, {attribute("pads", std::vector<int64_t>{1, 1, 1, 1})});
    model.node("BatchNormalization", {"c", "scale", "shift", "mean", "variance"}, {"b"});
    if (activation == "Relu") model.node("Relu", {"b"}, {"a"});
    if (activation == "Clip") model.node("Clip", {"b", "low", "high"}, {"a"});
    model.node("Add", {"a", "x"}, {"y"});
    return model;
  }

  std::vector<double> expected(const std::vector<float>& x, size_t batch, double highest) const {
    std::vector<double> y(x.size());
    const auto at = [&](size_t n, size_t c, size_t row, size_t column) {
      return ((n * kChannels + c) * kSize + row) * kSize + column;
    };
    for (size_t n = 0; n < batch; ++n) {
      for (size_t c = 0; c < kChannels; ++c) {
        for (size_t row = 0; row < kSize; ++row) {
          for (size_t column = 0; column < kSize; ++column) {
            double sum = 0;
            for (size_t k = 0; k < kChannels; ++k) {
              for (size_t i = 0; i < 3; ++i) {
                for (size_t j = 0; j < 3; ++j) {
                  const size_t r = row + i - 1;
                  const size_t s = column + j - 1;
                  if (r >= kSize || s >= kSize) continue;
                  sum += static_cast<double>(x[at(n, k, r, s)]) *
                         weights[((c * kChannels + k) * 3 + i) * 3 + j];
                }
              }
            }
            sum = (sum - mean[c]) / std::sqrt(variance[c] + 1e-5) * scale[c] + shift[c];
            const size_t place = at(n, c, row, column);
            y[place] = std::min(std::max(sum, 0.0), highest) + x[place];
          }
        }
      }
    }
    return y;
  }
};

}  // namespace

TEST_CASE("a residual block, fused into few stages, for several batch sizes") {
  const Block block;
  for (const char* activation : {"Relu", "Clip"}) {
    const auto model = load(block.writer(activation));
    CHECK(model->info().nodes == 2);  // the convolution and the sum
    for (size_t batch : {1, 3, 1}) {
      const std::vector<float> x = random_floats(batch * 4 * 36, 9);
      const Shape shape{static_cast<int64_t>(batch), 4, 6, 6};
      const auto outputs = model->predict_now({buffer(x, shape)});
      REQUIRE(outputs.size() == 1);
      CHECK(outputs[0]->type() == TensorType{DType::f32, shape});
      const double highest = std::string(activation) == "Clip" ? 6 : INFINITY;
      check_close(read<float>(outputs[0]), block.expected(x, batch, highest));
    }
  }
}

TEST_CASE("a sum with a tensor that is computed after the convolution") {
  // y = relu(conv(x) + abs(x)), with the absolute value last; the weights are twice the identity.
  OnnxWriter writer;
  writer.input("x", {1, 2, 2, 2}).output("y");
  writer.constant<float>("w", ElementType::f32, {2, 2, 1, 1}, {2, 0, 0, 2});
  writer.node("Conv", {"x", "w"}, {"c"});
  writer.node("Abs", {"x"}, {"a"});
  writer.node("Add", {"a", "c"}, {"s"});
  writer.node("Relu", {"s"}, {"y"});
  const auto model = load(writer);
  CHECK(model->info().nodes == 2);
  const auto outputs =
      model->predict_now({buffer<float>({1, -1, 2, -2, 3, -3, 4, -4}, {1, 2, 2, 2})});
  CHECK(read<float>(outputs[0]) == std::vector<float>{3, 0, 6, 0, 9, 0, 12, 0});
}

TEST_CASE("activations that exporters decompose are fused into the convolution") {
  const std::vector<float> x{1, -1, 2, -2, 4, -4};
  const auto run_gate = [&](const std::string& gate,
                            const std::vector<AttributeBytes>& attributes) {
    OnnxWriter writer;
    writer.input("x", {1, 1, 2, 3}).output("y");
    writer.constant<float>("w", ElementType::f32, {1, 1, 1, 1}, {1});
    writer.node("Conv", {"x", "w"}, {"c"});
    writer.node(gate, {"c"}, {"g"}, attributes);
    writer.node("Mul", {"g", "c"}, {"y"});
    const auto model = load(writer);
    CHECK(model->info().nodes == 1);
    return read<float>(model->predict_now({buffer(x, {1, 1, 2, 3})})[0]);
  };
  std::vector<double> silu;
  std::vector<double> hardswish;
  for (float each : x) {
    silu.push_back(each / (1 + std::exp(-static_cast<double>(each))));
    hardswish.push_back(each * std::clamp(each / 6.0 + 0.5, 0.0, 1.0));
  }
  check_close(run_gate("Sigmoid", {}), silu);
  check_close(run_gate("HardSigmoid", {attribute("alpha", 1.0F / 6), attribute("beta", 0.5F)}),
              hardswish);
}

TEST_CASE("shapes computed in the graph are folded while planning") {
  // y = reshape(x, {shape(x)[0], -1}), the way exporters write flatten.
  OnnxWriter writer;
  writer.input("x", {"n", 2, 3}).output("y");
  writer.constant<int64_t>("zero", ElementType::i64, {}, {0});
  writer.constant<int64_t>("axes", ElementType::i64, {1}, {0});
  writer.constant<int64_t>("rest", ElementType::i64, {1}, {-1});
  writer.node("Shape", {"x"}, {"shape"});
  writer.node("Gather", {"shape", "zero"}, {"n"}, {attribute("axis", int64_t{0})});
  writer.node("Unsqueeze", {"n", "axes"}, {"list"});
  writer.node("Concat", {"list", "rest"}, {"target"}, {attribute("axis", int64_t{0})});
  writer.node("Reshape", {"x", "target"}, {"flat"});
  writer.node("Neg", {"flat"}, {"y"});
  const auto model = load(writer);
  const auto outputs = model->predict_now({buffer<float>({1, 2, 3, 4, 5, 6}, {1, 2, 3})});
  CHECK(outputs[0]->type().shape == Shape{1, 6});
  CHECK(read<float>(outputs[0]) == std::vector<float>{-1, -2, -3, -4, -5, -6});
}

TEST_CASE("temporaries whose live ranges do not overlap share memory") {
  OnnxWriter writer;
  writer.input("x", {1, 64, 64, 64}).output("t10");
  std::string last = "x";
  for (int i = 1; i <= 10; ++i) {
    const std::string next = "t" + std::to_string(i);
    writer.node("Sin", {last}, {next});
    last = next;
  }
  const auto model = load(writer);
  constexpr size_t kLayer = 64 * 64 * 64 * sizeof(float);
  CHECK(model->info().working_bytes == 2 * kLayer);
}

TEST_CASE("outputs that are inputs, constants or each other are separate buffers") {
  OnnxWriter writer;
  writer.input("x", {2}).output("same").output("c").output("y").output("z");
  writer.constant<float>("k", ElementType::f32, {2}, {7, 8});
  writer.node("Identity", {"x"}, {"same"});
  writer.node("Identity", {"k"}, {"c"});
  writer.node("Abs", {"x"}, {"y"});
  writer.node("Identity", {"y"}, {"z"});
  const auto model = load(writer);
  const BufferPtr input = buffer<float>({-1, 2}, {2});
  const auto outputs = model->predict_now({input});
  REQUIRE(outputs.size() == 4);
  for (const BufferPtr& output : outputs) CHECK(output != input);
  run("fill", {}, outputs[2], {{"value", 5.0}});
  CHECK(read<float>(outputs[0]) == std::vector<float>{-1, 2});
  CHECK(read<float>(outputs[1]) == std::vector<float>{7, 8});
  CHECK(read<float>(outputs[3]) == std::vector<float>{1, 2});
  CHECK(read<float>(model->predict_now({input})[1]) == std::vector<float>{7, 8});
}

TEST_CASE("shapes that depend on values") {
  OnnxWriter writer;
  writer.input("x", {"n"}).output("places", {}, ElementType::i64).output("doubled");
  writer.node("NonZero", {"x"}, {"places"});
  writer.node("Add", {"x", "x"}, {"doubled"});
  const auto model = load(writer);
  for (int round = 0; round < 2; ++round) {
    const auto outputs = model->predict_now({buffer<float>({0, 3, 0, 4}, {4})});
    CHECK(outputs[0]->type() == TensorType{DType::s64, {1, 2}});
    CHECK(read<int64_t>(outputs[0]) == std::vector<int64_t>{1, 3});
    CHECK(read<float>(outputs[1]) == std::vector<float>{0, 6, 0, 8});
  }
  CHECK(failure([&] { model->profile({buffer<float>({1}, {1})}); }) ==
        "unsupported: a model whose shapes depend on values runs step by step and cannot be "
        "profiled");
}

TEST_CASE("narrow integers wrap at their own width") {
  OnnxWriter writer;
  writer.input("x", {2}, ElementType::i8).output("y", {2}, ElementType::i8);
  writer.node("Add", {"x", "x"}, {"y"});
  const auto outputs = load(writer)->predict_now({buffer<int32_t>({100, -3}, {2})});
  CHECK(read<int32_t>(outputs[0]) == std::vector<int32_t>{-56, -6});
}

TEST_CASE("all unsupported operators are reported together") {
  OnnxWriter writer;
  writer.input("x", {2}).output("y");
  writer.node("Fancy", {"x"}, {"a"}).node("Abs", {"a"}, {"b"}).node("Fancy", {"b"}, {"c"});
  writer.node("Gelu2", {"c"}, {"y"}, {}, "com.example");
  const Error error = must_fail([&] { load(writer); });
  CHECK(error.reason == Reason::unsupported_op);
  CHECK(error.message ==
        "the model uses operators that are not supported: Fancy (Fancy_1, Fancy_3); "
        "com.example.Gelu2 (Gelu2_4)");
}

TEST_CASE("one unsupported operator, and one inside of a branch") {
  OnnxWriter branch;
  branch.output("z").node("Fancy", {"x"}, {"z"});
  OnnxWriter writer;
  writer.input("x", {2}).input("c", {1}, ElementType::boolean).output("y");
  writer.node("If", {"c"}, {"y"},
              {attribute("then_branch", branch), attribute("else_branch", branch)});
  CHECK(failure([&] { load(writer); }) ==
        "unsupported_op: the model uses an operator that is not supported: Fancy (Fancy_1, "
        "Fancy_1)");
}

TEST_CASE("files of other formats are named") {
  const auto problem = [](const std::string& bytes) {
    return failure([&] { Model::load(engine(), as_bytes(bytes), ""); });
  };
  CHECK(problem(std::string("PK\x03\x04 and more"))
            .find("unsupported: the file is a zip archive, "
                  "such as a .task bundle") == 0);
  CHECK(problem(std::string("\x20\0\0\0ORTM", 8)) ==
        "unsupported: the file is in ONNX Runtime's own format (.ort); load the .onnx file that it "
        "was made from");
  CHECK(problem("[{\"paths\": []}]").find("unsupported: the file is a list in JSON") == 0);
  CHECK(problem("\x89HDF\r\n\x1a\n").find("unsupported: the file is an HDF5 file") == 0);
  CHECK(problem("GGUF....").find("unsupported: the file is in the GGUF format") == 0);
  CHECK(problem(std::string("\x20\0\0\0\0\0\0\0{\"w\": 1}", 16))
            .find("unsupported: the file looks like weights in the safetensors format") == 0);
}

TEST_CASE("a dimension by name has one size in all inputs") {
  OnnxWriter writer;
  writer.input("a", {"batch", 2}).input("b", {"batch", 2}).output("y");
  writer.node("Add", {"a", "b"}, {"y"});
  const auto model = load(writer);
  CHECK(failure([&] {
          model->predict_now({zeros(DType::f32, {3, 2}), zeros(DType::f32, {2, 2})});
        }) == "shape_mismatch: input \"b\" has 2 for the dimension batch, input \"a\" has 3");
}

TEST_CASE("an index out of range is an error if it is known, and NaN otherwise") {
  OnnxWriter known;
  known.input("x", {3, 2}).output("y");
  known.constant<int64_t>("i", ElementType::i64, {2}, {0, 3}).node("Gather", {"x", "i"}, {"y"});
  CHECK(failure([&] { load(known); }) ==
        "invalid_model: Gather (Gather_1): index 3 is out of range for an axis of 3 elements");
  OnnxWriter given;
  given.input("x", {3, 2}).input("i", {2}, ElementType::i64).output("y");
  given.node("Gather", {"x", "i"}, {"y"});
  const auto outputs = load(given)->predict_now(
      {buffer<float>({1, 2, 3, 4, 5, 6}, {3, 2}), buffer<int64_t>({-1, 3}, {2})});
  const std::vector<float> got = read<float>(outputs[0]);
  CHECK(got[0] == 5);
  CHECK(got[1] == 6);
  CHECK(std::isnan(got[2]));
  CHECK(std::isnan(got[3]));
}

TEST_CASE("inputs that do not fit are rejected before anything runs") {
  const auto model = load(Block().writer("Relu"));
  CHECK(failure([&] { model->predict_now({}); }) ==
        "arity_mismatch: the model takes 1 input, got 0");
  CHECK(failure([&] {
          model->predict_now({zeros(DType::f32, {1, 4, 6})});
        }) == "shape_mismatch: input \"x\" has shape {1, 4, 6}, the model takes {n, 4, 6, 6}");
  CHECK(failure([&] {
          model->predict_now({zeros(DType::f64, {1, 4, 6, 6})});
        }) == "dtype_mismatch: input \"x\" is f64, the model takes f32");
  model->free();
  CHECK(failure([&] {
          model->predict_now({zeros(DType::f32, {1, 4, 6, 6})});
        }) == "freed: the model has been freed");
}

TEST_CASE("impossible fixed shapes are reported as an invalid model") {
  OnnxWriter writer;
  writer.input("x", {2, 3}).input("z", {4, 5}).output("y").node("MatMul", {"x", "z"}, {"y"});
  CHECK(failure([&] { load(writer); }) ==
        "invalid_model: MatMul (MatMul_1): a matrix product of {2, 3} and {4, 5}");
  OnnxWriter absurd;
  absurd.input("x", {1}).output("y");
  absurd.constant<int64_t>("shape", ElementType::i64, {2}, {int64_t{1} << 40, int64_t{1} << 40});
  absurd.node("Expand", {"x", "shape"}, {"y"});
  CHECK(failure([&] { load(absurd); }) ==
        "invalid_model: Expand (Expand_1): a shape of {1099511627776, 1099511627776} is beyond any "
        "memory");
}

TEST_CASE("a profile has the time of every layer in order") {
  const auto model = load(Block().writer("Relu"));
  const auto profiled = model->profile({zeros(DType::f32, {1, 4, 6, 6})});
  REQUIRE(profiled.layers.size() == 2);
  CHECK(profiled.layers[0].layer == "Conv (Conv_1)");
  CHECK(profiled.layers[1].layer == "Add (Add_4)");
  CHECK(profiled.outputs.size() == 1);
}

TEST_CASE("concurrent predictions give the same results as sequential ones") {
  const Block block;
  const auto model = load(block.writer("Relu"));
  std::vector<std::vector<float>> inputs;
  std::vector<std::vector<float>> expected;
  for (uint32_t i = 0; i < 8; ++i) {
    inputs.push_back(random_floats((i % 2 + 1) * 4 * 36, 100 + i));
    const Shape shape{static_cast<int64_t>(i % 2 + 1), 4, 6, 6};
    expected.push_back(read<float>(model->predict_now({buffer(inputs[i], shape)})[0]));
  }
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (uint32_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < (quick() ? 2 : 20); ++round) {
        const Shape shape{static_cast<int64_t>(i % 2 + 1), 4, 6, 6};
        const auto outputs = model->predict_now({buffer(inputs[i], shape)});
        if (read<float>(outputs[0]) != expected[i]) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace dala::test
