// Models as kernels: planned when they are first used, part of other commands, gone with the model.
#include "model/model_kernel.hpp"

#include <doctest/doctest.h>

#include "support/engine_fixture.hpp"
#include "support/onnx_writer.hpp"

namespace dala::test {
namespace {

using model::ElementType;
using model::Model;

// y = 2 x + 1, z = 3 x, of any length.
std::shared_ptr<Model> two_outputs() {
  OnnxWriter writer;
  writer.input("x", {"n"}).output("y", {"n"}).output("z", {"n"});
  writer.constant<float>("one", ElementType::f32, {1}, {1});
  writer.constant<float>("two", ElementType::f32, {1}, {2});
  writer.constant<float>("three", ElementType::f32, {1}, {3});
  writer.node("Mul", {"x", "two"}, {"d"}).node("Add", {"d", "one"}, {"y"});
  writer.node("Mul", {"x", "three"}, {"z"});
  return Model::load(engine(), as_bytes(writer.str()), "");
}

std::vector<Stage> ready_stages(const std::string& kernel, const std::vector<BufferPtr>& inputs,
                                const BufferPtr& output, const Params& params) {
  try {
    return engine().stages(kernel, inputs, output, params);
  } catch (const NotReady& missing) {
    missing.prepare();
    return engine().stages(kernel, inputs, output, params);
  }
}

void run_model(const std::string& kernel, const std::vector<BufferPtr>& inputs,
               const BufferPtr& output, const Params& params) {
  Runtime& runtime = engine().runtime();
  runtime.wait(
      runtime.scheduler().submit(ready_stages(kernel, inputs, output, params), nullptr, nullptr));
}

}  // namespace

TEST_CASE("a model is planned when it is first used as a kernel") {
  engine().registry().add(model::model_kernel("two_outputs", two_outputs(), true));
  const auto x = buffer<float>({1, 2, 3});
  const auto y = zeros(DType::f32, {3});
  CHECK_THROWS_AS(engine().stages("two_outputs", {x}, y, {{"output", "y"}}), NotReady);
  run_model("two_outputs", {x}, y, {{"output", "y"}});
  CHECK(read<float>(y) == std::vector<float>{3, 5, 7});
  // Planned by now, for any output, and in place.
  CHECK_NOTHROW(engine().stages("two_outputs", {x}, y, {{"output", "z"}}));
  run_model("two_outputs", {x}, x, {{"output", "z"}});
  CHECK(read<float>(x) == std::vector<float>{3, 6, 9});
  CHECK(engine().registry().remove("two_outputs"));
}

TEST_CASE("a model is one stage of a pipeline, and fuses with nothing") {
  engine().registry().add(model::model_kernel("two_outputs", two_outputs(), true));
  const auto x = buffer<float>({1, 2, 3});
  const auto y = zeros(DType::f32, {3});
  const auto between = std::make_shared<Buffer>(TensorType{DType::f32, {3}});  // temporary
  const Params params{{"output", "y"}};
  ready_stages("two_outputs", {x}, y, params);
  const PipelinePlan plan =
      engine().plan({engine().pipeline_stage("neg", {x}, x, {}),
                     engine().pipeline_stage("two_outputs", {x}, between, params),
                     engine().pipeline_stage("two_outputs", {between}, between, params),
                     engine().pipeline_stage("abs", {between}, y, {})});
  REQUIRE(plan.steps.size() == 4);
  CHECK(plan.steps[1].kernels == std::vector<std::string>{"two_outputs"});
  CHECK(plan.steps[1].stages == std::vector<size_t>{1});
  Runtime& runtime = engine().runtime();
  for (int run = 0; run < 2; ++run) {
    runtime.wait(runtime.scheduler().submit(plan.stages, nullptr, nullptr, nullptr, plan.uses));
  }
  // Negated twice by now: |2 (2 x + 1) + 1| of x itself.
  CHECK(read<float>(y) == std::vector<float>{7, 11, 15});
  CHECK(engine().registry().remove("two_outputs"));
}

TEST_CASE("a kernel that does not keep its model goes with it") {
  auto kept = two_outputs();
  engine().registry().add(model::model_kernel("weak", kept, false));
  CHECK(engine().registry().has("weak"));
  const uint64_t generation = engine().registry().generation();
  kept.reset();
  CHECK_FALSE(engine().registry().has("weak"));
  CHECK(must_fail([] { engine().registry().find("weak"); }).reason == Reason::unknown_kernel);
  engine().registry().remove_gone();
  CHECK(engine().registry().generation() == generation + 1);

  const auto freed = two_outputs();
  engine().registry().add(model::model_kernel("freed", freed, true));
  freed->free();
  CHECK_FALSE(engine().registry().has("freed"));
  engine().registry().remove_gone();
}

TEST_CASE("what went wrong with a plan is said once") {
  OnnxWriter writer;
  writer.input("x", {"n"}).output("y", {2, 3});
  writer.constant<int64_t>("shape", ElementType::i64, {2}, {2, 3});
  writer.node("Reshape", {"x", "shape"}, {"y"});
  const auto reshape = Model::load(engine(), as_bytes(writer.str()), "");
  const auto x = buffer<float>({1, 2, 3});
  const auto y = zeros(DType::f32, {2, 3});
  CHECK(reshape->stages({x}, 0, y) == std::nullopt);
  CHECK(must_fail([&] { reshape->prepare({x}); }).reason == Reason::shape_mismatch);
  CHECK(must_fail([&] { reshape->stages({x}, 0, y); }).reason == Reason::shape_mismatch);
  CHECK(reshape->stages({x}, 0, y) == std::nullopt);
}

}  // namespace dala::test
