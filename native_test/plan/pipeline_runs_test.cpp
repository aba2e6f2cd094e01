// Pipelines that run many times, are called with ports, or get other parameters.
#include <doctest/doctest.h>

#include "plan/pipeline.hpp"
#include "support/pipeline.hpp"

using namespace dala;
using namespace dala::test;
using plan::Pipeline;
using plan::Plan;

namespace {

using Numbers = std::vector<float>;

void run_times(const PipelinePlan& plan, uint64_t times, const Plan::Swaps& swaps = {}) {
  Runtime& runtime = engine().runtime();
  const PipelinePlan::Runs runs = plan.bind(runtime, times, swaps);
  runtime.wait(runtime.scheduler().submit_rounds(runs.stages, runs.repetition, nullptr, nullptr,
                                                 nullptr, plan.uses()));
}

Error refusal(const PipelinePlan& plan, const Plan::Swaps& swaps) {
  try {
    plan.bind(engine().runtime(), 2, swaps);
  } catch (const Error& error) {
    return error;
  }
  return Error(Reason::device_error, "nothing was thrown");
}

Pipeline::Kernel kernel(const std::string& name, const BufferPtr& from, const BufferPtr& to,
                        const Params& params) {
  return {name, {from}, to, params};
}

void run(Pipeline& pipeline) { TestPipeline::run(*pipeline.plan(engine(), Expansion::in_full)); }

}  // namespace

TEST_CASE("any number of runs gives what as many single runs give") {
  for (uint64_t times : {1, 2, 3, 63, 64, 65, 128, 129, 1000}) {
    CAPTURE(times);
    const BufferPtr one = buffer<float>({1}, {1, 1});
    const BufferPtr x = buffer<float>({1}, {1, 1});
    const BufferPtr between = temporary(DType::f32, {1, 1});
    const BufferPtr sum = buffer<float>({0}, {1, 1});
    TestPipeline pipeline;
    pipeline.add("elementwise_add", {x, one}, x);
    pipeline.add("matmul", {x, one}, between);
    pipeline.add("elementwise_add", {sum, between}, sum);
    run_times(pipeline.plan(), times);
    const auto n = static_cast<float>(times);
    CHECK(read<float>(x) == Numbers{1 + n});
    CHECK(read<float>(sum) == Numbers{n * (n + 3) / 2});
  }
}

TEST_CASE("swapped buffers exchange their contents between runs") {
  for (uint64_t times : {1, 2, 3, 64, 65, 66, 129, 1000, 1001}) {
    CAPTURE(times);
    const BufferPtr a = buffer<float>({0});
    const BufferPtr b = buffer<float>({-100});
    TestPipeline pipeline;
    pipeline.add("elementwise_add", {a, buffer<float>({1})}, b);
    run_times(pipeline.plan(), times, {{a, b}});
    const auto n = static_cast<float>(times);
    CHECK(read<float>(b) == Numbers{n});
    CHECK(read<float>(a) == Numbers{n - 1});
  }
}

TEST_CASE("a binary that shows a swapped buffer stays as it is") {
  const BufferPtr a = buffer<float>({1, 2});
  const BufferPtr b = buffer<float>({3, 4});
  const BufferPtr moment_a = engine().runtime().scheduler().snapshot(*a, "a");
  const BufferPtr moment_b = engine().runtime().scheduler().snapshot(*b, "b");
  TestPipeline pipeline;
  pipeline.add("scalar_mul", {a}, b, {{"scalar", 2.0}});
  run_times(pipeline.plan(), 10, {{a, b}});
  CHECK(read<float>(b) == Numbers{1024, 2048});
  CHECK(read<float>(moment_a) == Numbers{1, 2});
  CHECK(read<float>(moment_b) == Numbers{3, 4});
}

TEST_CASE("a kernel that does not work in place writes to its input in every run") {
  const BufferPtr x = buffer<float>({1, 2, 3, 4}, {2, 2});
  TestPipeline pipeline;
  pipeline.add("matmul", {x, x}, x);
  CHECK_FALSE(pipeline.plan().nodes().front().launch->in_place);
  // Repeated squaring stays exact for a few runs only.
  run_times(pipeline.plan(), 2);
  CHECK(read<float>(x) == Numbers{199, 290, 435, 634});

  const BufferPtr y = buffer<float>({0, 1, 1, 0}, {2, 2});
  const BufferPtr z = buffer<float>({1, 2, 3, 4}, {2, 2});
  TestPipeline permutation;
  permutation.add("matmul", {z, y}, z);
  run_times(permutation.plan(), 1001);
  CHECK(read<float>(z) == Numbers{2, 1, 4, 3});
}

TEST_CASE("buffers that cannot be swapped are refused") {
  const BufferPtr a = buffer<float>({1});
  const BufferPtr b = buffer<float>({1});
  const BufferPtr longer = buffer<float>({1, 2});
  const BufferPtr whole = buffer<int32_t>({1});
  const BufferPtr between = temporary(DType::f32, {1});
  TestPipeline pipeline;
  pipeline.add("exp", {a}, between).add("neg", {between}, b);
  pipeline.add("neg", {longer}, longer).add("neg", {whole}, whole);
  const PipelinePlan plan = pipeline.plan();
  CHECK(refusal(plan, {{a, longer}}).message ==
        "buffers to swap have one type, got f32 {1} and f32 {2}");
  CHECK(refusal(plan, {{a, whole}}).reason == Reason::dtype_mismatch);
  CHECK(refusal(plan, {{a, buffer<float>({1})}}).message ==
        "a buffer to swap is used by no stage of the pipeline");
  CHECK(refusal(plan, {{between, b}}).message ==
        "a temporary buffer cannot be swapped: a run that reads it has written to it before");
  CHECK(refusal(plan, {{a, b}, {b, a}}).message == "a buffer can be swapped with one other buffer");
  CHECK(refusal(plan, {{a, a}}).message == "a buffer can be swapped with one other buffer");
}

TEST_CASE("other parameters of a stage need no new plan") {
  const BufferPtr x = buffer<float>({1, 2});
  const BufferPtr between = temporary(DType::f32, {2});
  const BufferPtr y = zeros(DType::f32, {2});
  Pipeline pipeline;
  pipeline.add(kernel("scalar_mul", x, between, {{"scalar", 3.0}}));
  pipeline.add(kernel("clamp", between, y, {{"min", 0.0}, {"max", 100.0}}));
  run(pipeline);
  CHECK(read<float>(y) == Numbers{3, 6});
  const auto first = pipeline.plan(engine(), Expansion::at_once);
  pipeline.change(0, kernel("scalar_mul", x, between, {{"scalar", 10.0}}));
  pipeline.change(1, kernel("clamp", between, y, {{"min", 0.0}, {"max", 15.0}}));
  run(pipeline);
  CHECK(read<float>(y) == Numbers{10, 15});
  const auto second = pipeline.plan(engine(), Expansion::at_once);
  CHECK(first != second);
  // Fused, with the same program.
  REQUIRE(second->nodes().size() == 1);
  const auto program = [](const PipelinePlan& plan) {
    return std::get<KernelStep>(plan.nodes().front().launch->steps.front()).program;
  };
  CHECK(program(*first) == program(*second));
  // The plan of a run in flight is not changed.
  TestPipeline::run(*first);
  CHECK(read<float>(y) == Numbers{3, 6});
}

TEST_CASE("parameters that change the launch itself are planned as well") {
  const BufferPtr x = buffer<float>({1, 2, 3, 4}, {2, 2});
  const BufferPtr y = zeros(DType::f32, {2});
  Pipeline pipeline;
  pipeline.add(kernel("reduce_sum", x, y, {{"axis", int64_t{0}}}));
  run(pipeline);
  CHECK(read<float>(y) == Numbers{4, 6});
  pipeline.change(0, kernel("reduce_sum", x, y, {{"axis", int64_t{1}}}));
  run(pipeline);
  CHECK(read<float>(y) == Numbers{3, 7});
}

TEST_CASE("a parameter that does not fit is an error of the next run, and can be changed again") {
  const BufferPtr x = buffer<float>({1});
  Pipeline pipeline;
  pipeline.add(kernel("neg", x, x, {}));
  pipeline.add(kernel("scalar_mul", x, x, {{"scalar", 2.0}}));
  run(pipeline);
  pipeline.change(1, kernel("scalar_mul", x, x, {{"scalar", std::string("two")}}));
  CHECK_THROWS_WITH_AS(run(pipeline), doctest::Contains("stage 1: "), Error);
  pipeline.change(1, kernel("scalar_mul", x, x, {{"scalar", 5.0}}));
  run(pipeline);
  CHECK(read<float>(x) == Numbers{10});
}

TEST_CASE("each call of a pipeline with ports brings its inputs and gets its outputs") {
  const BufferPtr in = temporary(DType::f32, {2});
  const BufferPtr out = temporary(DType::f32, {2});
  const BufferPtr constant = buffer<float>({1, 1});
  Pipeline pipeline;
  pipeline.set_ports({{in}, {out}});
  pipeline.add(Pipeline::Kernel{"elementwise_add", {in, constant}, out, {}});
  const auto plan = pipeline.plan(engine(), Expansion::in_full);
  Runtime& runtime = engine().runtime();
  const auto call = [&](const BufferPtr& given) {
    const PipelinePlan::Called called = plan->call(runtime, {given});
    runtime.wait(
        runtime.scheduler().submit(called.stages, nullptr, nullptr, nullptr, called.uses, true));
    return called.outputs.front();
  };
  const BufferPtr first = call(buffer<float>({1, 2}));
  const BufferPtr second = call(buffer<float>({10, 20}));
  CHECK(read<float>(first) == Numbers{2, 3});
  CHECK(read<float>(second) == Numbers{11, 21});
  CHECK_THROWS_WITH_AS(plan->call(runtime, {}), "the pipeline has 1 inputs, got 0", Error);
  CHECK_THROWS_WITH_AS(plan->call(runtime, {buffer<float>({1})}),
                       "input 0 is f32 {1}, expected f32 {2}", Error);
  const BufferPtr freed = buffer<float>({1, 2});
  runtime.scheduler().free(*freed);
  CHECK_THROWS_WITH_AS(call(freed), doctest::Contains("input 0 has been freed"), Error);
  CHECK_THROWS_WITH_AS(call(in), doctest::Contains("input 0 is temporary"), Error);
  CHECK_THROWS_WITH_AS(run(pipeline), doctest::Contains("it can be called but not run"), Error);
  CHECK_THROWS_WITH_AS(plan->bind(runtime, 2, {}), doctest::Contains("called but not run"), Error);
}

TEST_CASE("ports are temporary buffers, each with one place, and every output is written") {
  const BufferPtr in = temporary(DType::f32, {2});
  const BufferPtr out = temporary(DType::f32, {2});
  Pipeline pipeline;
  const BufferPtr own = buffer<float>({1, 2});
  CHECK_THROWS_WITH_AS(pipeline.set_ports({{own}, {out}}), "a port has memory of its own", Error);
  CHECK_THROWS_WITH_AS(pipeline.set_ports({{in}, {in}}), "a port is named twice", Error);
  pipeline.set_ports({{in}, {out}});
  const auto plan = [&] { return pipeline.plan(engine(), Expansion::in_full); };
  CHECK_THROWS_WITH_AS(plan(), doctest::Contains("is written by no stage"), Error);
  pipeline.add(Pipeline::Kernel{"elementwise_add", {in, temporary(DType::f32, {2})}, out, {}});
  CHECK_THROWS_WITH_AS(plan(), doctest::Contains("input 1 is temporary"), Error);
}

TEST_CASE("a pipeline runs at least once") {
  const BufferPtr x = buffer<float>({1});
  Pipeline pipeline;
  pipeline.add(kernel("neg", x, x, {}));
  const auto plan = pipeline.plan(engine(), Expansion::in_full);
  CHECK_THROWS_WITH_AS(plan->bind(engine().runtime(), 0, {}),
                       "a pipeline runs at least once, got 0 times", Error);
}
