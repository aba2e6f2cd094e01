// Predictions of a model: values against loops, errors, profiles, several threads.
#include "model/model.hpp"

#include <atomic>
#include <thread>

#include "model/residual_block.hpp"

namespace dala::test {
namespace {

using model::ElementType;
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
        "invalid_model: Expand (Expand_1): a shape of {1099511627776, 1099511627776} exceeds 2^62 "
        "bytes");
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
