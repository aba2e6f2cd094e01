#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "kernels/custom/custom_kernel.hpp"
#include "kernels/elementwise/expression.hpp"
#include "support/host_tensor.hpp"
#include "support/pipeline.hpp"

using namespace dala;
using namespace dala::test;

namespace {

Params scalar(double factor) { return {{"scalar", factor}}; }

std::vector<float> floats(size_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(-2.0F, 2.0F);
  std::vector<float> result(count);
  for (float& each : result) each = values(random);
  return result;
}

const Program* program_of(const PipelinePlan& plan, size_t stage) {
  return std::get<KernelStep>(plan.nodes().at(stage).launch->steps.at(0)).program.get();
}

std::vector<BufferPtr> buffers(const std::vector<plan::ValuePtr>& values) {
  std::vector<BufferPtr> result;
  for (const plan::ValuePtr& value : values) result.push_back(value->buffer);
  return result;
}

// A kernel that only writes elements with an even index.
const char* every_other() {
  static const bool registered = [] {
    CustomSource source;
    source.name = "test_every_other";
    source.source =
        "__kernel void test_every_other(__global const int* x, __global int* output, int n) {\n"
        "  int i = get_global_id(0);\n"
        "  if (i < n && i % 2 == 0) output[i] = x[i];\n"
        "}\n";
    engine().registry().add(make_custom_kernel(source, engine().planner()));
    return true;
  }();
  return registered ? "test_every_other" : "";
}

}  // namespace

TEST_CASE("a chain in place becomes one kernel that writes once") {
  const std::vector<float> x = floats(5000);
  auto a = buffer(x);
  TestPipeline pipeline;
  pipeline.add("scalar_mul", {a}, a, scalar(3)).add("relu", {a}, a).add("neg", {a}, a);
  const PipelinePlan plan = pipeline.plan();
  CHECK(groups(plan) == "0 1 2");
  REQUIRE(plan.nodes().size() == 1);
  CHECK(plan.nodes()[0].launch->name == "scalar_mul+relu+neg");
  CHECK(plan.steps()[0].bytes == 2 * 5000 * 4);
  CHECK(plan.steps()[0].unfused_bytes == 6 * 5000 * 4);
  TestPipeline::run(plan);
  const std::vector<float> got = read<float>(a);
  for (size_t i = 0; i < x.size(); ++i) CHECK_MESSAGE(got[i] == -std::max(3 * x[i], 0.0F), i);
  // Again, on memory that was read meanwhile and must not be written: no element is above 0.
  TestPipeline::run(plan);
  for (float each : read<float>(a)) CHECK(each == 0.0F);
}

// x * x - round(x * x) would reveal a product of higher precision than the type's: the difference
// is the rounding error.
TEST_CASE("values between stages are rounded as if they had been written") {
  const size_t count = 10'000;
  const std::vector<float> x = floats(count);
  auto a = buffer(x);
  auto squares = zeros(DType::f32, {static_cast<int64_t>(count)});
  run("elementwise_mul", {a, a}, squares);
  auto rest = zeros(DType::f32, {static_cast<int64_t>(count)});
  auto between = temporary(DType::f32, {static_cast<int64_t>(count)});
  TestPipeline pipeline;
  pipeline.add("elementwise_mul", {a, a}, between).add("elementwise_sub", {between, squares}, rest);
  CHECK(groups(pipeline.plan()) == "0 1");
  pipeline.run();
  const std::vector<float> got = read<float>(rest);
  for (size_t i = 0; i < count; ++i) CHECK_MESSAGE(got[i] == 0.0F, i);
}

// On CPUs these run in sections, block by block, with values that cross several sections.
TEST_CASE("long functions share a kernel") {
  const Shape shape{5, 1300};
  const std::vector<float> x = floats(6500);
  std::vector<std::vector<float>> results;
  for (bool fuse : {false, true}) {
    auto a = buffer(x, shape);
    auto row = buffer(floats(1300, 2), {1300});
    auto column = buffer(floats(5, 3), {5, 1});
    auto first = zeros(DType::f32, shape);
    auto t = temporary(DType::f32, shape);
    auto u = temporary(DType::f32, shape);
    TestPipeline pipeline;
    pipeline.add("exp", {a}, first).add("elementwise_add", {first, row}, t);
    pipeline.add("sigmoid", {t}, u).add("elementwise_mul", {u, column}, u);
    pipeline.add("tanh", {u}, t).add("elementwise_sub", {t, first}, t);
    pipeline.add("elementwise_add", {t, u}, t).add("elementwise_max", {t, row}, a);
    const PipelinePlan plan = pipeline.plan(fuse);
    CHECK(plan.nodes().size() == (fuse ? 1 : 8));
    TestPipeline::run(plan);
    results.push_back(read<float>(a));
    results.push_back(read<float>(first));
  }
  CHECK(results[2] == results[0]);
  CHECK(results[3] == results[1]);
  for (size_t i = 0; i < x.size(); ++i) {
    CHECK_MESSAGE(results[1][i] == doctest::Approx(std::exp(x[i])).epsilon(1e-5), i);
  }
}

TEST_CASE("what can be seen is written, what is overwritten unseen is not") {
  auto a = buffer<float>({1, 2, 3});
  auto b = zeros(DType::f32, {3});
  TestPipeline pipeline;
  // b is written three times, a twice; the last value of each must remain.
  pipeline.add("scalar_mul", {a}, b, scalar(2))
      .add("neg", {b}, a)
      .add("elementwise_add", {a, b}, b);
  pipeline.add("elementwise_mul", {a, b}, b);
  const PipelinePlan plan = pipeline.plan();
  REQUIRE(plan.nodes().size() == 1);
  CHECK(buffers(plan.nodes()[0].inputs) == std::vector{a});
  CHECK(buffers(plan.nodes()[0].outputs) == std::vector{a, b});
  pipeline.run();
  CHECK(read<float>(a) == std::vector<float>{-2, -4, -6});
  CHECK(read<float>(b) == std::vector<float>{0, 0, 0});

  SUBCASE("unless a kernel of its own reads it in between") {
    auto x = buffer<float>({1, 2, 3});
    auto y = zeros(DType::f32, {3});
    auto soft = zeros(DType::f32, {3});
    TestPipeline other;
    other.add("neg", {x}, y).add("scalar_mul", {y}, y, scalar(2)).add("softmax", {y}, soft);
    other.add("neg", {x}, y).add("abs", {y}, x);
    const PipelinePlan split = other.plan();
    CHECK(groups(split) == "0 1 | 2 | 3 4");
    CHECK(buffers(split.nodes()[0].outputs) == std::vector{y});
    other.run();
    CHECK(read<float>(x) == std::vector<float>{1, 2, 3});
    CHECK(read<float>(y) == std::vector<float>{-1, -2, -3});
    CHECK(read<float>(soft)[0] == doctest::Approx(1 / (1 + std::exp(-2.0) + std::exp(-4.0))));
  }

  SUBCASE("and one that leaves elements as they are has seen them") {
    auto x = buffer<int32_t>({1, 2, 3});
    auto y = zeros(DType::s32, {3});
    auto z = buffer<int32_t>({7, 8, 9});
    TestPipeline other;
    other.add("neg", {x}, y).add("scalar_mul", {y}, y, scalar(2)).add(every_other(), {z}, y);
    other.run();
    CHECK(read<int32_t>(y) == std::vector<int32_t>{7, -4, 9});
  }
}

TEST_CASE("groups end at barriers, other kernels, other shapes and full kernels") {
  auto a = zeros(DType::f32, {4, 3});
  auto b = zeros(DType::f32, {4, 3});
  auto row = zeros(DType::f32, {3});
  auto turned = zeros(DType::f32, {3, 4});
  TestPipeline pipeline;
  pipeline.add("neg", {a}, a).barrier().add("neg", {a}, a).add("elementwise_add", {a, row}, b);
  pipeline.add("exp", {row}, row).add("neg", {row}, row).add("elementwise_add", {a, row}, b);
  pipeline.add("transpose", {b}, turned).add("neg", {turned}, turned);
  CHECK(groups(pipeline.plan()) == "0 | 1 | 2 3 | 4 5 | 6 | 7 | 8");
  CHECK(groups(pipeline.plan(false)) == "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8");

  SUBCASE("stages that share nothing stay apart") {
    auto c = zeros(DType::f32, {4, 3});
    auto d = zeros(DType::f32, {4, 3});
    TestPipeline other;
    other.add("neg", {a}, b).add("exp", {c}, d).add("neg", {b}, a).add("abs", {d}, c);
    CHECK(groups(other.plan()) == "0 2 | 1 3");
    other.add("elementwise_add", {a, c}, a);
    CHECK(groups(other.plan()) == "0 1 2 3 4");
  }

  SUBCASE("long ones are cut") {
    auto x = buffer<int32_t>({1, 2, 3});
    auto one = buffer<int32_t>({1}, {});
    TestPipeline many;
    for (int i = 0; i < 70; ++i) many.add("elementwise_add", {x, one}, x);
    const PipelinePlan plan = many.plan();
    REQUIRE(plan.nodes().size() == 3);
    CHECK(program_of(plan, 0) == program_of(plan, 1));
    many.run();
    CHECK(read<int32_t>(x) == std::vector<int32_t>{71, 72, 73});
  }

  SUBCASE("and those with many buffers") {
    auto sum = zeros(DType::s64, {2});
    TestPipeline many;
    for (int64_t i = 1; i <= 40; ++i) {
      many.add("elementwise_add", {sum, buffer<int64_t>({i, -i})}, sum);
    }
    CHECK(many.plan().nodes().size() == 2);
    many.run();
    CHECK(read<int64_t>(sum) == std::vector<int64_t>{820, -820});
  }

  SUBCASE("and those with many parameters") {
    auto x = buffer<int64_t>({3});
    TestPipeline many;
    for (int i = 0; i < 20; ++i) many.add("scalar_mul", {x}, x, scalar(2));
    CHECK(groups(many.plan()) == "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 | 16 17 18 19");
    many.run();
    CHECK(read<int64_t>(x) == std::vector<int64_t>{3 << 20});
  }
}

TEST_CASE("programs are shared: parameters are no part of them") {
  auto a = buffer<float>({1, 2});
  auto b = buffer<float>({1, 2, 3});
  TestPipeline first;
  first.add("scalar_mul", {a}, a, scalar(2)).add("clamp", {a}, a, {{"max", 3.0}});
  TestPipeline second;
  second.add("scalar_mul", {b}, b, scalar(-1)).add("clamp", {b}, b, {{"min", -2.0}});
  CHECK(program_of(first.plan(), 0) == program_of(second.plan(), 0));
  first.run();
  second.run();
  CHECK(read<float>(a) == std::vector<float>{2, 3});
  CHECK(read<float>(b) == std::vector<float>{-1, -2, -2});
}

TEST_CASE("temporary buffers") {
  Runtime& runtime = engine().runtime();
  const Shape shape{1000};

  SUBCASE("take no memory inside a kernel") {
    auto a = buffer(floats(1000));
    auto t = temporary(DType::f32, shape);
    TestPipeline pipeline;
    pipeline.add("neg", {a}, t).add("exp", {t}, t).add("log", {t}, t).add("neg", {t}, a);
    const PipelinePlan plan = pipeline.plan();
    CHECK(plan.temporary_bytes() == 0);
    REQUIRE(plan.nodes().size() == 1);
    CHECK(plan.nodes()[0].outputs.size() == 1);
  }

  SUBCASE("take memory between kernels, and share it") {
    auto a = buffer(floats(1000));
    std::vector<BufferPtr> t;
    for (int i = 0; i < 4; ++i) t.push_back(temporary(DType::f32, shape));
    TestPipeline pipeline;
    pipeline.add("softmax", {a}, t[0]).add("neg", {t[0]}, t[1]).add("softmax", {t[1]}, t[2]);
    pipeline.barrier().add("neg", {t[2]}, t[3]).barrier().add("exp", {t[3]}, a);
    const PipelinePlan plan = pipeline.plan();
    // All of these kernels work in place, so each takes over the memory of its input.
    CHECK(plan.temporary_bytes() == 4000);
    const uint64_t before = runtime.memory().info().in_use;
    TestPipeline::run(plan);
    CHECK(runtime.memory().info().in_use == before);
    CHECK(runtime.memory().info().peak >= before + 4000);
    // 1000 numbers that add up to 1, and the same for exp(-x).
    double sum = 0;
    for (float each : read<float>(a)) sum += -std::log(each);
    CHECK(sum == doctest::Approx(1.0));
  }

  SUBCASE("of different sizes share one arena, apart from those that are live at the same time") {
    auto a = buffer(floats(1000));
    auto b = zeros(DType::f32, {1000});
    auto wide = temporary(DType::f32, {10, 1000});
    auto sum = temporary(DType::f32, {1000});
    auto soft = temporary(DType::f32, {1000});
    TestPipeline pipeline;
    pipeline.add("elementwise_add", {a, zeros(DType::f32, {10, 1})}, wide);
    pipeline.add("reduce_sum", {wide}, sum, {{"axis", int64_t{0}}});  // live together with `wide`
    pipeline.add("softmax", {a}, soft).add("elementwise_mul", {sum, soft}, b);
    const PipelinePlan plan = pipeline.plan(false);
    // `soft` aliases `wide`: 40000 bytes, rounded up, and `sum`.
    CHECK(plan.temporary_bytes() >= 44'000);
    CHECK(plan.temporary_bytes() < 45'000);
    for (int i = 0; i < 2; ++i) TestPipeline::run(plan);
    auto expected = zeros(DType::f32, {1000});
    run("softmax", {a}, expected);
    const std::vector<float> x = read<float>(a);
    const std::vector<float> likelihoods = read<float>(expected);
    const std::vector<float> got = read<float>(b);
    for (size_t i = 0; i < x.size(); ++i) {
      CHECK(got[i] == doctest::Approx(10 * x[i] * likelihoods[i]));
    }
  }

  SUBCASE("work without fusion, and begin as zeros where a kernel leaves elements out") {
    for (bool fuse : {false, true}) {
      auto x = buffer<int32_t>({1, 2, 3});
      auto y = zeros(DType::s32, {3});
      auto t = temporary(DType::s32, {3});
      TestPipeline pipeline;
      pipeline.add(every_other(), {x}, t).add("neg", {t}, t).copy(t, y);
      pipeline.run(fuse);
      CHECK(read<int32_t>(y) == std::vector<int32_t>{-1, 0, -3});
    }
  }

  SUBCASE("that nobody reads are not computed") {
    auto a = buffer<float>({1});
    auto t = temporary(DType::f32, {1});
    TestPipeline pipeline;
    pipeline.add("neg", {a}, t).add("exp", {t}, t);
    CHECK(groups(pipeline.plan()) == "0 1");
    CHECK(pipeline.plan().nodes().empty());
    pipeline.run();
    pipeline.run(false);
  }

  SUBCASE("have to be written first") {
    auto a = buffer<float>({1});
    auto t = temporary(DType::f32, {1});
    TestPipeline pipeline;
    pipeline.add("neg", {a}, a).add("elementwise_add", {a, t}, t);
    const Error error = must_fail([&] { pipeline.run(); });
    CHECK(text(to_string(error.reason), ": ", error.message) ==
          "invalid_param: input 1 is temporary, and no stage before this one writes to it");
    CHECK(error.details == decltype(error.details){{"stage", int64_t{1}}});
  }

  SUBCASE("are for stages only") {
    auto a = buffer<float>({1});
    auto t = temporary(DType::f32, {1});
    CHECK(failure([&] { run("neg", {t}, a); }) ==
          "unsupported: input 0 is temporary: only the stages of a pipeline may use it");
    CHECK(failure([&] { run("neg", {a}, t); }) ==
          "unsupported: the output is temporary: only the stages of a pipeline may use it");
    CHECK(failure([&] { read<float>(t); }) ==
          "unsupported: the buffer is temporary: only the stages of a pipeline may use it");
    CHECK(runtime.scheduler().valid(*t));
    runtime.scheduler().free(*t);
    CHECK_FALSE(runtime.scheduler().valid(*t));
    TestPipeline pipeline;
    pipeline.add("neg", {a}, t).add("neg", {t}, a);
    CHECK(failure([&] { pipeline.run(); }) == "freed: the output has been freed");
  }
}

TEST_CASE("a buffer that is freed between runs is reported with its stage, though never touched") {
  auto a = buffer<float>({1, 2});
  auto b = zeros(DType::f32, {2});
  TestPipeline pipeline;
  pipeline.add("neg", {a}, a)
      .add("neg", {a}, b)
      .add("exp", {b}, b)
      .add("fill", {}, b, {{"value", 1.0}});
  const PipelinePlan plan = pipeline.plan();
  TestPipeline::run(plan);
  engine().runtime().scheduler().free(*b);
  const Error error = must_fail([&] { TestPipeline::run(plan); });
  CHECK(error.reason == Reason::freed);
  CHECK(error.message == "the output has been freed");
  CHECK(error.details == decltype(error.details){{"stage", int64_t{1}}});
  CHECK(read<float>(a) == std::vector<float>{-1, -2});
}

TEST_CASE("a command that does not run leaves all outputs as they were") {
  struct Gone : Client {
    uint64_t key() const override { return 77; }
    bool wants_result() const override { return false; }
  };
  std::vector<float> x = floats(5000);
  auto a = buffer(x);
  auto b = buffer(x);
  read<float>(b);  // exported, so the pipeline writes to fresh memory
  TestPipeline pipeline;
  pipeline.add("neg", {a}, a).add("exp", {a}, b).add("softmax", {a}, a).add("softmax", {b}, b);
  const PipelinePlan plan = pipeline.plan();
  const CommandId id = TestPipeline::submit(plan, std::make_shared<Gone>());
  CHECK(failure([&] { engine().runtime().wait(id); }) ==
        text("freed: command ", id, " was dropped: the process that submitted it has ended"));
  CHECK(read<float>(a) == x);
  CHECK(read<float>(b) == x);
}
