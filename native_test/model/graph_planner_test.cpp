// Plans of graphs: constant folding, memory of temporaries, fusion, outputs.
#include "model/graph_planner.hpp"

#include "model/onnx_model.hpp"

namespace dala::test {
namespace {

using model::ElementType;
using model::Model;

constexpr int64_t kLength = 5000;

// y = sqrt(a) and z = a * row, which repeats, where a = relu(exp(x) - x).
OnnxWriter tail() {
  OnnxWriter writer;
  writer.input("x", {3, kLength}).input("row", {1, kLength});
  writer.output("y", {3, kLength}).output("z", {3, kLength});
  writer.node("Exp", {"x"}, {"e"}).node("Sub", {"e", "x"}, {"d"}).node("Relu", {"d"}, {"a"});
  writer.node("Sqrt", {"a"}, {"y"}).node("Mul", {"a", "row"}, {"z"});
  return writer;
}

}  // namespace

TEST_CASE("pointwise layers of a model are one launch with the same bits") {
  const auto model = load(tail());
  const BufferPtr x = buffer(random_floats(3 * kLength, 11, 3), {3, kLength});
  const BufferPtr row = buffer(random_floats(kLength, 11, 3), {1, kLength});
  const Model::Profiled profiled = model->profile({x, row});

  const auto between = [] { return zeros(DType::f32, {3, kLength}); };
  const BufferPtr e = between();
  const BufferPtr y = between();
  const BufferPtr z = between();
  run("exp", {x}, e);
  run("elementwise_sub", {e, x}, e);
  run("relu", {e}, e);
  run("sqrt", {e}, y);
  run("elementwise_mul", {e, row}, z);
  Runtime& runtime = engine().runtime();
  CHECK(runtime.read_now(profiled.outputs[0]) == runtime.read_now(y));
  CHECK(runtime.read_now(profiled.outputs[1]) == runtime.read_now(z));
  REQUIRE(profiled.layers.size() == 1);
  for (const char* op : {"Exp", "Sub", "Relu", "Sqrt", "Mul"}) {
    CHECK(profiled.layers[0].layer.find(op) != std::string::npos);
  }
  // There are no temporaries between its layers.
  CHECK(model->info().working_bytes == 0);
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
    writer.node("Softsign", {last}, {next});
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

}  // namespace dala::test
