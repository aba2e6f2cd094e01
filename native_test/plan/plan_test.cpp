// Random graphs of stages on integers, planned into shared memory, compared with the host.
#include "plan/plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "model/build/primitives.hpp"
#include "support/engine_fixture.hpp"

namespace dala::test {
namespace {

using model::ElementType;
using model::Tensor;
using plan::Plan;
using Numbers = std::vector<uint32_t>;

constexpr size_t kLongest = 20'000;

// A graph that grows by sums, which may be computed in place, concatenations and slices.
struct RandomGraph {
  model::SharedConstants constants;
  model::Build build{engine(), constants, model::Build::Mode::plan};
  std::vector<Tensor> tensors;
  std::vector<Numbers> expected;

  explicit RandomGraph(Numbers input) {
    Tensor tensor;
    tensor.type = ElementType::u32;
    tensor.shape = {static_cast<int64_t>(input.size())};
    tensor.place = std::make_shared<model::Place>();
    tensor.place->type = tensor.storage();
    tensor.place->input = 0;
    add(tensor, std::move(input));
  }

  void add(const Tensor& tensor, Numbers numbers) {
    tensors.push_back(tensor);
    expected.push_back(std::move(numbers));
  }

  // Usually one of the latest values, so that most live ranges are short.
  size_t pick(std::mt19937& random) const {
    const size_t back = random() % 4 == 0 ? random() % tensors.size() : random() % 3;
    return tensors.size() - 1 - std::min(back, tensors.size() - 1);
  }

  void grow(std::mt19937& random) {
    const size_t a = pick(random);
    const size_t b = pick(random);
    Numbers numbers = expected[a];
    const uint32_t kind = random() % 3;
    if (kind == 0) {
      const size_t other = expected[b].size() == numbers.size() ? b : a;
      for (size_t i = 0; i < numbers.size(); ++i) numbers[i] += expected[other][i];
      const Tensor sum = build.kernel("elementwise_add", {tensors[a], tensors[other]},
                                      ElementType::u32, tensors[a].shape, {});
      add(sum, std::move(numbers));
    } else if (kind == 1 && numbers.size() + expected[b].size() <= kLongest) {
      numbers.insert(numbers.end(), expected[b].begin(), expected[b].end());
      add(concat(build, {tensors[a], tensors[b]}, 0), std::move(numbers));
    } else {
      const size_t from = random() % numbers.size();
      const size_t size = 1 + random() % (numbers.size() - from);
      const auto start = expected[a].begin() + static_cast<std::ptrdiff_t>(from);
      numbers.assign(start, start + static_cast<std::ptrdiff_t>(size));
      add(part(build, tensors[a], 0, static_cast<int64_t>(from), static_cast<int64_t>(size)),
          std::move(numbers));
    }
  }

  Plan plan_for(const Tensor& output) {
    output.place->output = 0;
    return Plan(engine().runtime(), std::move(build.nodes()), {{output.place, output.storage()}},
                Plan::Memory::kept);
  }

  // The bytes needed without aliasing.
  size_t apart() const {
    size_t sum = 0;
    for (const Tensor& tensor : tensors) sum += tensor.bytes();
    return sum;
  }
};

}  // namespace

TEST_CASE("tensors that share memory do not spoil each other") {
  std::mt19937 random(7);
  for (int round = 0; round < (quick() ? 2 : 12); ++round) {
    Numbers input(1 + random() % 300);
    for (uint32_t& each : input) each = static_cast<uint32_t>(random());
    RandomGraph graph(input);
    while (graph.tensors.size() < (quick() ? 15 : 60)) graph.grow(random);

    Tensor output = graph.build.fresh(ElementType::u32, graph.tensors.back().shape);
    graph.build.copy(graph.tensors.back(), output);
    const Plan plan = graph.plan_for(output);
    CHECK(plan.bytes() <= graph.apart());
    // Two runs at once: hazards order them wherever they use the same memory.
    Runtime& runtime = engine().runtime();
    const BufferPtr given = buffer(input);
    const Plan::Bound first = plan.bind(runtime, {given});
    const Plan::Bound second = plan.bind(runtime, {given});
    const CommandId one = runtime.scheduler().submit(first.stages, nullptr, nullptr);
    const CommandId two = runtime.scheduler().submit(second.stages, nullptr, nullptr);
    runtime.wait(one);
    runtime.wait(two);
    CAPTURE(round);
    CHECK(read<uint32_t>(first.outputs[0]) == graph.expected.back());
    CHECK(read<uint32_t>(second.outputs[0]) == graph.expected.back());
  }
}

TEST_CASE("what ends before a large output is written lies in its memory") {
  Numbers input(400'000);
  std::iota(input.begin(), input.end(), 0);
  RandomGraph graph(input);
  Tensor early = graph.tensors[0];
  for (int64_t at : {7, 5, 3, 1}) early = part(graph.build, early, 0, at, early.dim(0) - at);
  const Tensor output = concat(graph.build, {early, early, early}, 0);
  const Plan plan = graph.plan_for(output);
  // Only the last value is live while the output is written.
  CHECK(plan.bytes() == early.bytes());
  Runtime& runtime = engine().runtime();
  const Plan::Bound bound = plan.bind(runtime, {buffer(input)});
  runtime.wait(runtime.scheduler().submit(bound.stages, nullptr, nullptr));
  Numbers expected(input.begin() + 16, input.end());
  for (int i = 0; i < 2; ++i) {
    expected.insert(expected.end(), input.begin() + 16, input.end());
  }
  CHECK(read<uint32_t>(bound.outputs[0]) == expected);

  // No temporary aliases an output that the caller provides.
  const BufferPtr given = zeros(DType::u32, output.shape);
  for (Plan::Memory memory : {Plan::Memory::kept, Plan::Memory::fresh}) {
    runtime.wait(runtime.scheduler().submit(plan.bind(runtime, {buffer(input)}, {given}, memory),
                                            nullptr, nullptr));
    CHECK(read<uint32_t>(given) == expected);
    run("fill", {}, given, {{"value", 0.0}});
  }
}

TEST_CASE("a chain of sums is worked out in place") {
  const Numbers input(1000, 3);
  RandomGraph graph(input);
  Tensor sum = graph.tensors[0];
  for (int i = 0; i < 5; ++i) {
    sum = graph.build.kernel("elementwise_add", {sum, graph.tensors[0]}, ElementType::u32, {1000},
                             {});
  }
  Tensor output = graph.build.fresh(ElementType::u32, {1000});
  graph.build.copy(sum, output);
  const Plan plan = graph.plan_for(output);
  CHECK(plan.bytes() == 4000);
  Runtime& runtime = engine().runtime();
  const Plan::Bound bound = plan.bind(runtime, {buffer(input)});
  runtime.wait(runtime.scheduler().submit(bound.stages, nullptr, nullptr));
  CHECK(read<uint32_t>(bound.outputs[0]) == Numbers(1000, 18));
}

}  // namespace dala::test
