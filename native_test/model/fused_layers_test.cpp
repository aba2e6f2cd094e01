// Pointwise layers that follow each other run as one generated kernel, with the bits of the layers
// one by one.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "model/model.hpp"
#include "support/engine_fixture.hpp"
#include "support/onnx_writer.hpp"

namespace dala::test {
namespace {

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

std::vector<float> random_floats(size_t count) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> range(-3, 3);
  std::vector<float> values(count);
  for (float& value : values) value = range(random);
  return values;
}

}  // namespace

TEST_CASE("pointwise layers of a model are one launch with the same bits") {
  const auto model = Model::load(engine(), as_bytes(tail().str()), "");
  const BufferPtr x = buffer(random_floats(3 * kLength), {3, kLength});
  const BufferPtr row = buffer(random_floats(kLength), {1, kLength});
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
  // Nothing lies between its layers.
  CHECK(model->info().working_bytes == 0);
}

}  // namespace dala::test
