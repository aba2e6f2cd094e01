// Commands on the executor: same results as on the driver's queue, from any number of clients.
#include "runtime/executor/executor.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <numeric>
#include <random>
#include <thread>

#include "support/engine_fixture.hpp"

namespace dala::test {
namespace {

bool has_executor() { return engine().planner().device().executor_threads() > 0; }

std::vector<float> numbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> between(-1, 1);
  std::vector<float> elements(count);
  for (float& element : elements) element = between(random);
  return elements;
}

// A part that fills one storage and copies it to another.
struct Moves {
  explicit Moves(size_t bytes)
      : from(engine().runtime().memory().allocate(bytes)),
        to(engine().runtime().memory().allocate(bytes)) {
    auto launch = std::make_shared<Launch>();
    launch->steps.push_back(FillStep{output(0), value(uint32_t{0x01020304}), bytes});
    launch->steps.push_back(CopyStep{output(0), output(1), bytes});
    BoundStage part;
    part.launch = std::move(launch);
    part.outputs = {{from, nullptr}, {to, nullptr}};
    parts.push_back(std::move(part));
  }

  bool moved() const {
    const auto* words = reinterpret_cast<const uint32_t*>(to->host());
    return std::all_of(words, words + to->bytes() / 4,
                       [](uint32_t word) { return word == 0x01020304; });
  }

  StoragePtr from;
  StoragePtr to;
  std::vector<BoundStage> parts;
};

}  // namespace

TEST_CASE("an executor completes each run once") {
  if (!engine().planner().device().shares_host_memory()) return;
  std::atomic<int> completed{0};
  std::vector<Moves> moves;
  for (size_t i = 0; i < 40; ++i) moves.emplace_back(4 * (i % 7 == 0 ? 300'000 : 1 + i));
  {
    Executor executor(3, 1024, false, [&](CpuRun& run) {
      CHECK(run.complete());
      ++completed;
    });
    for (size_t i = 0; i < moves.size(); ++i) {
      auto run = executor.prepare(moves[i].parts, nullptr);
      REQUIRE(run != nullptr);
      executor.post(std::move(run), i % 2 == 0);
    }
    while (completed < 40) std::this_thread::yield();
  }
  CHECK(completed == 40);
  for (const Moves& each : moves) CHECK(each.moved());
}

TEST_CASE("a run that is executed by its caller is not told") {
  if (!engine().planner().device().shares_host_memory()) return;
  Executor executor(1, 1024, false, [](CpuRun&) { FAIL("told"); });
  const Moves moves(4 * 1000);
  const auto run = executor.prepare(moves.parts, nullptr);
  REQUIRE(run != nullptr);
  CHECK(executor.run_here(*run));
  CHECK(run->complete());
  CHECK(moves.moved());
  std::vector<size_t> told;
  run->each_part([&](size_t part, double took) {
    told.push_back(part);
    CHECK(took > 0);
  });
  CHECK(told == std::vector<size_t>{0});
}

TEST_CASE("threads sleep, and wake for what comes later") {
  if (!engine().planner().device().shares_host_memory()) return;
  std::atomic<int> completed{0};
  Executor executor(2, 1024, true, [&](CpuRun&) { ++completed; });
  for (int round = 1; round <= 20; ++round) {
    // Longer than an idle thread spins.
    if (round % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const Moves moves(4 * 200'000);
    executor.post(executor.prepare(moves.parts, nullptr), false);
    while (completed < round) std::this_thread::yield();
    CHECK(moves.moved());
  }
}

TEST_CASE("a kernel is called directly once it is compiled, with the same result") {
  if (!has_executor()) return;
  Runtime& runtime = engine().runtime();
  for (const size_t count : {size_t{1}, size_t{1000}, size_t{100'003}}) {
    const BufferPtr in = buffer(numbers(count, 3));
    std::vector<float> first;
    for (int round = 0; round < 4; ++round) {
      const BufferPtr out = zeros(DType::f32, {static_cast<int64_t>(count)});
      run("sigmoid", {in}, out, {});
      const std::vector<float> result = read<float>(out);
      if (round == 0) first = result;
      CHECK(result == first);
    }
    const Stage stage = engine().stage("sigmoid", {in}, zeros(DType::f32, in->type().shape), {});
    const auto& step = std::get<KernelStep>(stage.launch->steps.front());
    // The worker that looks it up may be busy.
    for (int i = 0; i < 10'000 && step.program->group_function(step.entry, step.range) == nullptr;
         ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const bool found = step.program->group_function(step.entry, step.range) != nullptr;
    CHECK(found);
  }
  CHECK(!runtime.scheduler().lost());
}

// Chains of dependent commands from many threads, beside long ones. Each chain counts up, which
// reveals a command that ran too early, twice or not at all.
TEST_CASE("dependent commands of many clients keep their order") {
  constexpr int kClients = 8;
  constexpr int kLinks = 200;
  const size_t large = quick() ? 10'000 : 1'000'000;
  const BufferPtr one = buffer(std::vector<float>{1});
  const BufferPtr many = buffer(numbers(large, 5));
  std::vector<std::thread> clients;
  std::atomic<int> wrong{0};
  for (int client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      Runtime& runtime = engine().runtime();
      const int64_t width = client % 2 == 0 ? 100 : 50'000;
      const BufferPtr counter = zeros(DType::f32, {width});
      const BufferPtr other = zeros(DType::f32, {static_cast<int64_t>(large)});
      CommandId last = 0;
      for (int link = 0; link < kLinks; ++link) {
        last = runtime.scheduler().submit(
            {engine().stage("elementwise_add", {counter, one}, counter, {})}, nullptr, nullptr);
        if (link % 50 == client) {
          runtime.scheduler().submit({engine().stage("tanh", {many}, other, {})}, nullptr, nullptr);
        }
      }
      runtime.wait(last);
      for (const float element : read<float>(counter)) wrong += element != kLinks;
    });
  }
  for (std::thread& client : clients) client.join();
  CHECK(wrong == 0);
}

TEST_CASE("a profile has the times of commands on the executor") {
  if (!has_executor()) return;
  const BufferPtr in = buffer(numbers(100'000, 9));
  const BufferPtr out = zeros(DType::f32, in->type().shape);
  run("relu", {in}, out, {});
  run("relu", {in}, out, {});
  const auto profile = engine().runtime().scheduler().start_profile();
  run("relu", {in}, out, {});
  // Reported outside of the lock, possibly after the result.
  for (int i = 0; i < 1000 && profile->kernels().empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const auto kernels = profile->kernels();
  REQUIRE(kernels.contains("relu"));
  CHECK(kernels.at("relu").count == 1);
  CHECK(kernels.at("relu").device_ns > 0);
}

}  // namespace dala::test
