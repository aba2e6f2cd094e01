// Commands of very many stages: settled without the scheduler's lock and enqueued by a thread of
// their own, with the same observable behaviour as others.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "runtime/schedule/scheduler.hpp"
#include "support/pipeline.hpp"
#include "support/slow_kernel.hpp"

using namespace dala;
using test::buffer;
using test::engine;
using test::in_use;
using test::read;
using test::run;

namespace {

constexpr auto kBound = std::chrono::seconds(120);

Scheduler& scheduler() { return engine().runtime().scheduler(); }

size_t many() { return test::quick() ? 100 : 2000; }

struct FakeClient : Client {
  uint64_t key() const override { return 77; }
  bool wants_result() const override { return alive.load(); }
  std::atomic<bool> alive{true};
};

Stage add(const BufferPtr& a, const BufferPtr& b, const BufferPtr& to) {
  return engine().stage("elementwise_add", {a, b}, to, {});
}

// Adds `x` once per stage.
std::vector<Stage> sum(const BufferPtr& x, const BufferPtr& total, size_t count) {
  return std::vector<Stage>(count, add(total, x, total));
}

void wait(CommandId id) { engine().runtime().wait(id); }

// A command that keeps the buffer's memory busy for `rounds` steps.
CommandId occupy(const BufferPtr& buffer, int64_t rounds) {
  const Stage stage = engine().stage(test::slow_kernel(), {buffer}, buffer, {{"rounds", rounds}});
  return scheduler().submit({stage}, nullptr, nullptr);
}

}  // namespace

TEST_CASE("many stages take effect in their order") {
  const BufferPtr x = buffer<int32_t>({1, 2, 3});
  const BufferPtr total = buffer<int32_t>({0, 0, 0});
  const auto n = static_cast<int32_t>(many());
  const uint64_t before = in_use();
  for (int round = 1; round <= 3; ++round) {
    wait(scheduler().submit(sum(x, total, many()), nullptr, nullptr));
    CHECK(read<int32_t>(total) == std::vector<int32_t>{round * n, round * 2 * n, round * 3 * n});
  }
  CHECK(in_use() == before);
}

TEST_CASE("many stages follow what was submitted before, and others follow them") {
  const BufferPtr x = buffer<int32_t>({5});
  const BufferPtr total = buffer<int32_t>({0});
  const auto n = static_cast<int32_t>(many());
  int32_t expected = 0;
  for (int round = 0; round < 10; ++round) {
    scheduler().submit({add(total, x, total)}, nullptr, nullptr);
    scheduler().submit(sum(x, total, many()), nullptr, nullptr);
    expected += 5 * (n + 1);
  }
  CHECK(read<int32_t>(total) == std::vector<int32_t>{expected});
}

TEST_CASE("a binary that was read is not written to by many stages") {
  const BufferPtr x = buffer<int32_t>(std::vector<int32_t>(5000, 1));
  const BufferPtr total = buffer<int32_t>(std::vector<int32_t>(5000, 7));
  const Runtime::Read shown = engine().runtime().read(total, nullptr);
  if (shown.pending) wait(*shown.pending);
  wait(scheduler().submit(sum(x, total, 100), nullptr, nullptr));
  int32_t first = 0;
  std::memcpy(&first, shown.readback->data(), sizeof(first));
  CHECK(first == 7);
  CHECK(read<int32_t>(total).front() == 107);
}

TEST_CASE("a buffer that changes while many stages are settled") {
  // Concurrent writes, reads and frees: each submission sees one state of the buffer or the other.
  const BufferPtr x = buffer<int32_t>(std::vector<int32_t>(2000, 1));
  const BufferPtr total = buffer<int32_t>(std::vector<int32_t>(2000, 0));
  std::atomic<bool> done{false};
  std::thread others([&] {
    const std::vector<int32_t> zeros(2000, 0);
    while (!done) {
      engine().runtime().write(total, zeros.data(), nullptr);
      const Runtime::Read shown = engine().runtime().read(total, nullptr);
      if (shown.pending) wait(*shown.pending);
      int32_t first = -1;
      std::memcpy(&first, shown.readback->data(), sizeof(first));
      // Each command takes effect as a whole.
      CHECK(first % 100 == 0);
    }
  });
  for (int round = 0; round < (test::quick() ? 3 : 50); ++round) {
    wait(scheduler().submit(sum(x, total, 100), nullptr, nullptr));
  }
  done = true;
  others.join();
}

TEST_CASE("many stages on a buffer that has been freed do nothing") {
  const BufferPtr x = buffer<int32_t>({1});
  const BufferPtr total = buffer<int32_t>({0});
  const BufferPtr gone = buffer<int32_t>({0});
  std::vector<Stage> stages = sum(x, total, 100);
  stages.push_back(add(x, x, gone));
  scheduler().free(*gone);
  const Error error = test::must_fail([&] { scheduler().submit(stages, nullptr, nullptr); });
  CHECK(error.reason == Reason::freed);
  CHECK(error.message == "the output has been freed");
  CHECK(read<int32_t>(total) == std::vector<int32_t>{0});
}

TEST_CASE("many stages of a client that is gone leave buffers as they were") {
  const uint64_t before = in_use();
  {
    const BufferPtr x = buffer<int32_t>(std::vector<int32_t>(3000, 1));
    const BufferPtr total = buffer<int32_t>(std::vector<int32_t>(3000, 9));
    // A dependency, so that the command does not start at once.
    const CommandId busy = occupy(total, test::quick() ? 1000 : 1'000'000);
    const Runtime::Read shown = engine().runtime().read(total, nullptr);
    const auto client = std::make_shared<FakeClient>();
    std::promise<std::optional<Error>> told;
    client->alive = false;
    scheduler().submit(sum(x, total, many()), client, [&told](CommandId, const Error* error) {
      told.set_value(error == nullptr ? std::nullopt : std::optional<Error>(*error));
    });
    auto outcome = told.get_future();
    REQUIRE(outcome.wait_for(kBound) == std::future_status::ready);
    const std::optional<Error> error = outcome.get();
    REQUIRE(error);
    CHECK(error->reason == Reason::freed);
    wait(busy);
    if (shown.pending) wait(*shown.pending);
    const int32_t expected = test::slow_result(9, test::quick() ? 1000 : 1'000'000);
    CHECK(read<int32_t>(total) == std::vector<int32_t>(3000, expected));
  }
  CHECK(in_use() == before);
}

TEST_CASE("many stages that the driver refuses leave buffers as they were") {
  const uint64_t before = in_use();
  {
    const BufferPtr x = buffer<int32_t>(std::vector<int32_t>(3000, 1));
    const BufferPtr total = buffer<int32_t>(std::vector<int32_t>(3000, 4));
    const Runtime::Read shown = engine().runtime().read(total, nullptr);
    if (shown.pending) wait(*shown.pending);
    std::vector<Stage> stages = sum(x, total, 100);
    auto launch = std::make_shared<Launch>(*stages.back().launch);
    auto& kernel = std::get<KernelStep>(launch->steps.back());
    kernel.range.global = {10, 1, 1};
    kernel.range.local = {7, 1, 1};
    stages.back().launch = launch;
    const CommandId id = scheduler().submit(stages, nullptr, nullptr);
    CHECK(test::must_fail([&] { wait(id); }).reason == Reason::device_error);
    // Without shared memory no binary exports the bytes, so the earlier stages write in place.
    const bool shared = engine().runtime().device().shares_host_memory();
    if (shared) CHECK(read<int32_t>(total) == std::vector<int32_t>(3000, 4));
  }
  CHECK(in_use() == before);
}

TEST_CASE("very many listeners hear of a command") {
  const BufferPtr x = buffer<int32_t>({1});
  const CommandId id = occupy(x, test::quick() ? 1000 : 50'000'000);
  auto heard = std::make_shared<std::atomic<int>>(0);
  auto all = std::make_shared<std::promise<void>>();
  int listeners = 0;
  for (int i = 0; i < 500; ++i) {
    const auto outcome = scheduler().watch(id, static_cast<Token>(i), [=](CommandId, const Error*) {
      if (++*heard == 500) all->set_value();
    });
    if (outcome.status == Scheduler::Status::pending) ++listeners;
  }
  wait(id);
  if (listeners == 500) {
    CHECK(all->get_future().wait_for(kBound) == std::future_status::ready);
  }
}

TEST_CASE("a plan names each buffer once") {
  const BufferPtr x = buffer<int32_t>({1});
  const BufferPtr y = buffer<int32_t>({1});
  test::TestPipeline pipeline;
  for (int i = 0; i < 50; ++i) pipeline.add("elementwise_add", {x, y}, y);
  const plan::PipelinePlan plan = pipeline.plan();
  REQUIRE(plan.uses().size() == 2);
  CHECK(plan.uses()[0].buffer == x);
  CHECK(plan.uses()[1].buffer == y);
  CHECK(plan.uses()[1].input == 1);
}
