// Models as kernels: planned when they are first used, part of other commands, gone with the model.
#include "model/model_kernel.hpp"

#include <doctest/doctest.h>

#include "runtime/schedule/reservation.hpp"
#include "support/engine_fixture.hpp"
#include "support/onnx_writer.hpp"
#include "support/pipeline.hpp"

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
  return engine().stages(kernel, inputs, output, params, Expansion::in_full).value();
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
  CHECK_FALSE(engine().stages("two_outputs", {x}, y, {{"output", "y"}}));
  run_model("two_outputs", {x}, y, {{"output", "y"}});
  CHECK(read<float>(y) == std::vector<float>{3, 5, 7});
  // Planned by now, for any output, and in place.
  CHECK(engine().stages("two_outputs", {x}, y, {{"output", "z"}}));
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
  TestPipeline pipeline;
  pipeline.add("neg", {x}, x).add("two_outputs", {x}, between, params);
  pipeline.add("two_outputs", {between}, between, params).add("abs", {between}, y);
  const PipelinePlan plan = pipeline.plan();
  REQUIRE(plan.steps().size() == 4);
  CHECK(plan.steps()[1].kernels == std::vector<std::string>{"two_outputs"});
  CHECK(plan.steps()[1].stages == std::vector<size_t>{1});
  for (int run = 0; run < 2; ++run) TestPipeline::run(plan);
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

TEST_CASE("a model that cannot be planned for its inputs is an error, and can be asked again") {
  OnnxWriter writer;
  writer.input("x", {"n"}).output("y", {2, 3});
  writer.constant<int64_t>("shape", ElementType::i64, {2}, {2, 3});
  writer.node("Reshape", {"x", "shape"}, {"y"});
  const auto reshape = Model::load(engine(), as_bytes(writer.str()), "");
  const auto x = buffer<float>({1, 2, 3});
  const auto y = zeros(DType::f32, {2, 3});
  for (int i = 0; i < 2; ++i) {
    CHECK(reshape->stages({x}, 0, y, Expansion::at_once) == std::nullopt);
    CHECK(must_fail([&] { reshape->stages({x}, 0, y, Expansion::in_full); }).reason ==
          Reason::shape_mismatch);
  }
}

TEST_CASE("a command of a model that is not planned has its place in the order at once") {
  engine().registry().add(model::model_kernel("two_outputs", two_outputs(), true));
  Runtime& runtime = engine().runtime();
  Scheduler& scheduler = runtime.scheduler();
  const Params params{{"output", "y"}};  // 2 x + 1
  for (int64_t length : {5, 6}) {
    // The second time another command with the same shapes, which waits for the first, is submitted
    // before the first has its stages, and uses the arena of the plan.
    const bool overtaken = length == 6;
    const auto x = buffer(std::vector<float>(static_cast<size_t>(length), 1));
    const auto y = zeros(DType::f32, {length});
    const auto z = zeros(DType::f32, {length});
    run("neg", {x}, x);
    const auto reserved = scheduler.reserve({x}, y, nullptr, nullptr);
    CHECK(scheduler.poll(reserved->id()).status == Scheduler::Status::pending);
    CommandId second = 0;
    if (overtaken) {
      second = scheduler.submit(ready_stages("two_outputs", {y}, z, params), nullptr, nullptr);
    }
    // These take effect after it.
    const CommandId after = submit("neg", {y}, y);
    submit("fill", {}, x, {{"value", 100.0}});
    runtime.write(x, std::vector<float>(static_cast<size_t>(length), 7).data(), nullptr);
    engine().complete(*reserved, "two_outputs", params);
    runtime.wait(reserved->id());
    runtime.wait(after);
    CHECK(read<float>(y) == std::vector<float>(static_cast<size_t>(length), 1));
    if (!overtaken) continue;
    runtime.wait(second);
    CHECK(read<float>(z) == std::vector<float>(static_cast<size_t>(length), -1));
  }
  CHECK(engine().registry().remove("two_outputs"));
}

TEST_CASE("a command whose model cannot be planned fails alone") {
  engine().registry().add(model::model_kernel("two_outputs", two_outputs(), true));
  Runtime& runtime = engine().runtime();
  const auto x = buffer<float>({1, 2, 3, 4});
  const auto y = buffer<float>({9, 9, 9, 9});
  read<float>(y);  // a binary may show it, so that the command writes elsewhere
  const auto reserved = runtime.scheduler().reserve({x}, y, nullptr, nullptr);
  const CommandId after = submit("neg", {y}, x);
  engine().complete(*reserved, "two_outputs", {{"output", "nothing"}});
  CHECK(must_fail([&] { runtime.wait(reserved->id()); }).reason == Reason::invalid_param);
  runtime.wait(after);
  CHECK(read<float>(x) == std::vector<float>(4, -9));
  CHECK(engine().registry().remove("two_outputs"));
}

}  // namespace dala::test
