// Commands that are refused, cancelled or dropped, and a lost device.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "runtime/schedule/scheduler.hpp"
#include "support/slow_kernel.hpp"

using namespace dala;
using test::buffer;
using test::engine;
using test::in_use;
using test::read;
using test::run;

namespace {

constexpr auto kBound = std::chrono::seconds(60);

Scheduler& scheduler() { return engine().runtime().scheduler(); }

struct FakeClient : Client {
  FakeClient(uint64_t key, bool shared) : key_(key), shared_(shared) {}
  uint64_t key() const override { return key_; }
  bool wants_result() const override { return true; }
  bool shared() const override { return shared_; }
  const uint64_t key_;
  const bool shared_;
};

// Records the outcome that a listener gets.
struct Heard {
  Listener listener() {
    return [promise = promise](CommandId, const Error* error) {
      promise->set_value(error == nullptr ? std::nullopt : std::optional<Error>(*error));
    };
  }
  std::optional<Error> outcome() {
    REQUIRE(future.wait_for(kBound) == std::future_status::ready);
    return future.get();
  }
  std::shared_ptr<std::promise<std::optional<Error>>> promise =
      std::make_shared<std::promise<std::optional<Error>>>();
  std::future<std::optional<Error>> future = promise->get_future();
};

Stage slow_stage(const BufferPtr& from, const BufferPtr& to, int64_t rounds) {
  return engine().stage(test::slow_kernel(), {from}, to, {{"rounds", rounds}});
}

CommandId slow(const BufferPtr& from, const BufferPtr& to, int64_t rounds,
               const std::shared_ptr<Client>& client = nullptr,
               const Listener& listener = nullptr) {
  return scheduler().submit({slow_stage(from, to, rounds)}, client, listener);
}

// The stage with a last step that every driver refuses: a work-group size that does not divide the
// grid. It is preceded by `taken` valid steps of the same kernel.
Stage refused_stage(Stage stage, int taken) {
  auto launch = std::make_shared<Launch>(*stage.launch);
  const Step step = launch->steps.at(0);
  for (int i = 0; i < taken; ++i) launch->steps.push_back(step);
  auto& kernel = std::get<KernelStep>(launch->steps.back());
  kernel.range.global = {10, 1, 1};
  kernel.range.local = {7, 1, 1};
  stage.launch = launch;
  return stage;
}

// Enough long commands to fill every slot of the device.
std::vector<BufferPtr> fill_device(int64_t rounds) {
  auto from = buffer<int32_t>({1});
  std::vector<BufferPtr> outputs;
  for (int i = 0; i < 12; ++i) {
    outputs.push_back(buffer<int32_t>({0}));
    slow(from, outputs.back(), rounds, std::make_shared<FakeClient>(1, false));
  }
  return outputs;
}

double seconds(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("a launch that the driver refuses waits for nothing that is on the device") {
  auto from = buffer<int32_t>({1});
  auto blocked = buffer<int32_t>({0});
  auto other = buffer<int32_t>({3});
  run(test::slow_kernel(), {from}, other, {{"rounds", int64_t{1}}});
  const int64_t rounds = test::slow_rounds(400'000'000);
  const double alone = seconds([&] {
    slow(from, blocked, rounds);
    read<int32_t>(blocked);
  });
  slow(from, blocked, rounds);
  for (int taken : {0, 1}) {
    CAPTURE(taken);
    Heard heard;
    const double took = seconds([&] {
      scheduler().submit({refused_stage(slow_stage(from, other, 1), taken)}, nullptr,
                         heard.listener());
    });
    if (!test::quick()) CHECK(took < alone / 4);
    const auto error = heard.outcome();
    REQUIRE(error.has_value());
    CHECK(error->reason == Reason::device_error);
    CHECK(error->message.find("clEnqueueNDRangeKernel failed with CL_INVALID_WORK_GROUP_SIZE") ==
          0);
  }
  run(test::slow_kernel(), {from}, other, {{"rounds", int64_t{2}}});
  CHECK(read<int32_t>(other) == std::vector<int32_t>{test::slow_result(1, 2)});
  CHECK(read<int32_t>(blocked)[0] == test::slow_result(1, static_cast<int>(rounds)));
}

TEST_CASE("a launch that is refused half-way keeps its memory until its first half is done") {
  const uint64_t before = in_use();
  {
    auto from = buffer<int32_t>({1});
    auto kept = buffer(std::vector<int32_t>{5});
    const auto shown =
        engine().runtime().read(kept, nullptr);  // so that writing needs fresh memory
    Heard heard;
    scheduler().submit({refused_stage(slow_stage(from, kept, test::slow_rounds(20'000'000)), 1)},
                       nullptr, heard.listener());
    from.reset();
    CHECK(heard.outcome()->reason == Reason::device_error);
    // Without shared memory no binary exports the bytes, so the first half writes in place.
    const bool shared = engine().runtime().device().shares_host_memory();
    if (shared) CHECK(read<int32_t>(kept) == std::vector<int32_t>{5});
  }
  CHECK(in_use() == before);
}

TEST_CASE("a command that waits for its turn can be cancelled, and is told at once") {
  if (test::quick()) return;
  auto from = buffer<int32_t>({1});
  auto kept = buffer<int32_t>({5});
  auto after = buffer<int32_t>({0});
  const auto shown = engine().runtime().read(kept, nullptr);
  run(test::slow_kernel(), {from}, after, {{"rounds", int64_t{30'000'000}}});
  const std::vector<BufferPtr> outputs = fill_device(30'000'000);
  Heard heard;
  const CommandId id = slow(from, kept, 30'000'000, nullptr, heard.listener());
  const CommandId follower = slow(kept, after, 1);
  CHECK(scheduler().cancel(id) == Scheduler::Cancelled::yes);
  const auto error = heard.outcome();
  REQUIRE(error.has_value());
  CHECK(error->reason == Reason::cancelled);
  CHECK(error->message == text("command ", id, " was cancelled"));
  CHECK(scheduler().poll(id).error->reason == Reason::cancelled);
  CHECK(scheduler().cancel(id) == Scheduler::Cancelled::yes);
  engine().runtime().wait(follower);
  CHECK(read<int32_t>(after) == std::vector<int32_t>{test::slow_result(5, 1)});
  CHECK(read<int32_t>(kept) == std::vector<int32_t>{5});
  for (const BufferPtr& output : outputs) read<int32_t>(output);
  CHECK(scheduler().cancel(id) == Scheduler::Cancelled::yes);
}

TEST_CASE("a command that runs, has ended or never was cannot be cancelled") {
  auto from = buffer<int32_t>({1});
  auto to = buffer<int32_t>({0});
  run(test::slow_kernel(), {from}, to, {{"rounds", int64_t{1}}});
  const CommandId id = slow(from, to, test::slow_rounds(100'000'000));
  if (!test::quick()) CHECK(scheduler().cancel(id) == Scheduler::Cancelled::started);
  engine().runtime().wait(id);
  CHECK(scheduler().cancel(id) == Scheduler::Cancelled::ended);
  CHECK(scheduler().cancel(0) == Scheduler::Cancelled::unknown);
  CHECK(scheduler().cancel(id + 1'000'000) == Scheduler::Cancelled::unknown);
}

TEST_CASE("of a client that was killed, only what others listen to is done") {
  if (test::quick()) return;
  auto from = buffer<int32_t>({1});
  const std::vector<BufferPtr> outputs = fill_device(30'000'000);
  const auto own = std::make_shared<FakeClient>(2, false);
  const auto shared = std::make_shared<FakeClient>(2, true);
  std::vector<BufferPtr> results;
  std::vector<CommandId> ids;
  for (int i = 0; i < 6; ++i) {
    results.push_back(buffer<int32_t>({9}));
    ids.push_back(slow(from, results.back(), 1000, i % 2 == 0 ? own : shared));
  }
  Heard heard;
  CHECK(scheduler().watch(ids[0], 1, heard.listener(), 3).status == Scheduler::Status::pending);
  scheduler().drop_client(2);
  for (int i = 0; i < 6; ++i) {
    CAPTURE(i);
    const bool done = i % 2 == 1 || i == 0;
    const auto expected = done ? test::slow_result(1, 1000) : 9;
    CHECK(read<int32_t>(results[static_cast<size_t>(i)]) == std::vector<int32_t>{expected});
    const auto outcome = scheduler().poll(ids[static_cast<size_t>(i)]);
    CHECK((outcome.status == Scheduler::Status::completed) == done);
    if (!done) CHECK(outcome.error->reason == Reason::freed);
  }
  CHECK_FALSE(heard.outcome().has_value());
  for (const BufferPtr& output : outputs) read<int32_t>(output);
}

TEST_CASE("a snapshot keeps the content of its moment") {
  auto from = buffer<int32_t>({1});
  auto source = buffer(std::vector<int32_t>(5000, 1));
  const uint64_t before = in_use();
  {
    const BufferPtr snapshot = scheduler().snapshot(*source, "it");
    CHECK(in_use() == before);
    run("fill", {}, source, {{"value", int64_t{2}}});
    CHECK(read<int32_t>(snapshot) == std::vector<int32_t>(5000, 1));
    CHECK(read<int32_t>(source) == std::vector<int32_t>(5000, 2));
    scheduler().free(*source);
    CHECK(read<int32_t>(snapshot) == std::vector<int32_t>(5000, 1));
    CHECK_THROWS_AS(scheduler().snapshot(*source, "it"), Error);
  }
  CHECK(in_use() == before - 5000 * sizeof(int32_t));
}

TEST_CASE("a command beyond the kernel timeout makes the device lost") {
  if (test::quick()) return;
  Config config = with_environment(Config{});
  config.kernel_timeout = 50;
  Heard lost;
  // A lost runtime is never destroyed: a kernel is running on its memory.
  static Engine* other =
      new Engine(config, [tell = lost.listener()](const Error& error) { tell(0, &error); });
  CustomSource source;
  source.name = "test_long";
  source.source =
      "__kernel void test_long(__global const int* x, __global int* output, int rounds) {\n"
      "  uint value = (uint)x[0];\n"
      "  for (int r = 0; r < rounds; ++r) value = value * 1664525u + 1013904223u;\n"
      "  output[0] = (int)value;\n"
      "}\n";
  source.params = {"rounds"};
  other->registry().add(make_custom_kernel(source, other->planner()));
  Runtime& runtime = other->runtime();
  const auto a = runtime.zeros({DType::s32, {1}});
  const auto b = runtime.zeros({DType::s32, {1}});
  const auto stage = [&](int64_t rounds) {
    return other->stage("test_long", {a}, b, {{"rounds", rounds}});
  };
  Heard first;
  Heard second;
  runtime.scheduler().submit({stage(1'000'000'000)}, nullptr, first.listener());
  const CommandId waiting = runtime.scheduler().submit({stage(1)}, nullptr, second.listener());
  const auto error = lost.outcome();
  REQUIRE(error.has_value());
  CHECK(error->reason == Reason::device_error);
  CHECK(error->message.find("the device is lost: command ") == 0);
  CHECK(error->message.find("(test_long) has been on it for ") != std::string::npos);
  CHECK(first.outcome()->message == error->message);
  CHECK(second.outcome()->message == error->message);
  CHECK(runtime.scheduler().poll(waiting).status == Scheduler::Status::failed);
  CHECK_THROWS_AS(runtime.scheduler().submit({stage(1)}, nullptr, nullptr), Error);
  CHECK_THROWS_AS(runtime.read(a, nullptr), Error);
  runtime.scheduler().free(*a);
  runtime.scheduler().stop();  // does not wait
}

TEST_CASE("a command that has failed is told of, also when the device is lost before it leaves") {
  static Engine* other = new Engine(with_environment(Config{}));  // as above
  Runtime& runtime = other->runtime();
  Scheduler& scheduler = runtime.scheduler();
  auto launch = std::make_shared<Launch>();
  KernelStep step;
  step.program = runtime.programs().get("this is no OpenCL C", "");
  launch->steps.push_back(step);
  Heard heard;
  const auto lost = [&] {
    scheduler.alone([&] {
      const CommandId id = scheduler.submit({Stage{launch, {}, runtime.zeros({DType::s32, {1}})}},
                                            nullptr, heard.listener());
      // It has failed, and waits to leave the order.
      const auto until = std::chrono::steady_clock::now() + kBound;
      while (scheduler.poll(id).status == Scheduler::Status::pending &&
             std::chrono::steady_clock::now() < until) {
        std::this_thread::yield();
      }
      scheduler.lose_device(Error(Reason::device_error, "lost"));
    });
  };
  lost();
  CHECK(heard.outcome()->reason == Reason::build_failed);
}
