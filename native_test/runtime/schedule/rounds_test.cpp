// Commands that run their stages in rounds.
#include "runtime/schedule/rounds.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <future>
#include <memory>

#include "runtime/schedule/scheduler.hpp"
#include "support/engine_fixture.hpp"

using namespace dala;
using test::buffer;
using test::engine;
using test::in_use;
using test::read;
using test::submit;

namespace {

Runtime& runtime() { return engine().runtime(); }
Scheduler& scheduler() { return runtime().scheduler(); }

using Numbers = std::vector<int32_t>;

struct FakeClient : Client {
  explicit FakeClient(uint64_t key) : key_(key) {}
  uint64_t key() const override { return key_; }
  bool wants_result() const override { return alive_.load(); }
  uint64_t key_;
  std::atomic<bool> alive_{true};
};

Stage twice(const BufferPtr& from, const BufferPtr& to) {
  return engine().stage("scalar_mul", {from}, to, {{"scalar", int64_t{2}}});
}

Stage more(const BufferPtr& from, const BufferPtr& to) {
  return engine().stage("elementwise_add", {from, buffer<int32_t>({1})}, to, {});
}

CommandId in_rounds(const std::vector<Stage>& stages, Scheduler::Repetition repetition,
                    std::shared_ptr<Client> client = nullptr, Listener listener = nullptr) {
  return scheduler().submit_rounds(stages, repetition, std::move(client), std::move(listener),
                                   nullptr, {});
}

// The content once all commands so far have left the order, whatever their outcome.
Numbers settled(const BufferPtr& of) {
  const BufferPtr copy = buffer(Numbers(static_cast<size_t>(of->type().count())));
  runtime().wait(scheduler().submit({engine().copy_stage(of, copy)}, nullptr, nullptr));
  return read<int32_t>(copy);
}

}  // namespace

TEST_CASE("rounds follow each other, and a shorter one ends them") {
  const BufferPtr x = buffer<int32_t>({1, 2});
  // Seven times x = 2 x + 1, and x = 2 x once more.
  runtime().wait(in_rounds({twice(x, x), more(x, x)}, {7, 1}));
  CHECK(read<int32_t>(x) == Numbers{2 * 255, 2 * 383});
}

TEST_CASE("one round is a command like any other") {
  const BufferPtr x = buffer<int32_t>({3});
  runtime().wait(in_rounds({more(x, x)}, {1, 0}));
  CHECK(read<int32_t>(x) == Numbers{4});
}

TEST_CASE("other commands on the buffers come before all rounds, or after them") {
  const BufferPtr x = buffer<int32_t>({5});
  const BufferPtr before = buffer<int32_t>({0});
  const BufferPtr after = buffer<int32_t>({0});
  submit("relu", {x}, before);
  const BufferPtr moment = scheduler().snapshot(*x, "x");
  in_rounds({more(x, x)}, {1000, 0});
  submit("relu", {x}, after);
  submit("fill", {}, x, {{"value", int64_t{-1}}});
  CHECK(read<int32_t>(before) == Numbers{5});
  CHECK(read<int32_t>(after) == Numbers{1005});
  CHECK(read<int32_t>(x) == Numbers{-1});
  CHECK(read<int32_t>(moment) == Numbers{5});
}

TEST_CASE("bytes that a reader has asked for are those after all rounds") {
  const BufferPtr x = buffer<int32_t>({0});
  const CommandId id = in_rounds({more(x, x)}, {500, 0});
  const Runtime::Read pending = runtime().read(x, nullptr);
  runtime().wait(id);
  in_rounds({more(x, x)}, {500, 0});
  if (pending.pending) runtime().wait(*pending.pending);
  int32_t value = 0;
  std::memcpy(&value, pending.readback->data(), sizeof(value));
  CHECK(value == 500);
  CHECK(read<int32_t>(x) == Numbers{1000});
}

TEST_CASE("buffers can change places at the end of the rounds") {
  const BufferPtr a = buffer<int32_t>({1});
  const BufferPtr b = buffer<int32_t>({0});
  // Four runs, of which every second one is from b to a.
  const CommandId id = in_rounds({twice(a, b), twice(b, a)}, {2, 0, {{a, b}}});
  runtime().wait(id);
  CHECK(read<int32_t>(b) == Numbers{16});
  CHECK(read<int32_t>(a) == Numbers{8});
}

TEST_CASE("a command is cancelled between two rounds") {
  const BufferPtr x = buffer<int32_t>({0});
  std::promise<Reason> told;
  const CommandId id =
      in_rounds({more(x, x)}, {uint64_t{1} << 40, 0}, std::make_shared<FakeClient>(81),
                [&told](CommandId, const Error* error) {
                  told.set_value(error == nullptr ? Reason::unsupported : error->reason);
                });
  CHECK(scheduler().cancel(id) == Scheduler::Cancelled::yes);
  CHECK(told.get_future().get() == Reason::cancelled);
  CHECK(scheduler().cancel(id) == Scheduler::Cancelled::yes);
  CHECK(scheduler().poll(id).error->reason == Reason::cancelled);
  // Commands that wait for its buffers proceed.
  submit("fill", {}, x, {{"value", int64_t{7}}});
  CHECK(read<int32_t>(x) == Numbers{7});
}

TEST_CASE("a command that is cancelled before its first round leaves its buffers alone") {
  const BufferPtr x = buffer<int32_t>({1});
  const BufferPtr y = buffer<int32_t>({9});
  // Nothing starts during this call.
  scheduler().alone([&] {
    const CommandId id = in_rounds({more(x, y)}, {1000, 0});
    CHECK(scheduler().cancel(id) == Scheduler::Cancelled::yes);
  });
  CHECK(settled(y) == Numbers{9});
  CHECK(settled(x) == Numbers{1});
}

TEST_CASE("the rounds of a client that is gone end") {
  const auto client = std::make_shared<FakeClient>(82);
  const BufferPtr x = buffer<int32_t>({0});
  const CommandId id = in_rounds({more(x, x)}, {uint64_t{1} << 40, 0}, client);
  client->alive_ = false;
  CHECK_THROWS_AS(runtime().wait(id), Error);
  CHECK(scheduler().poll(id).error->reason == Reason::freed);

  const CommandId other =
      in_rounds({more(x, x)}, {uint64_t{1} << 40, 0}, std::make_shared<FakeClient>(83));
  CHECK(scheduler().drop_client(83) == 0);
  CHECK(scheduler().poll(other).error->reason == Reason::freed);
}

TEST_CASE("other clients have their turns between rounds") {
  const BufferPtr x = buffer<int32_t>({0});
  const BufferPtr y = buffer<int32_t>({0});
  const CommandId id =
      in_rounds({more(x, x)}, {uint64_t{1} << 40, 0}, std::make_shared<FakeClient>(84));
  const auto other = std::make_shared<FakeClient>(85);
  for (int i = 0; i < 100; ++i) {
    runtime().wait(scheduler().submit({more(y, y)}, other, nullptr));
  }
  CHECK(read<int32_t>(y) == Numbers{100});
  CHECK(scheduler().poll(id).status == Scheduler::Status::pending);
  CHECK(scheduler().cancel(id) == Scheduler::Cancelled::yes);
  CHECK(settled(x).front() > 0);
}

TEST_CASE("rounds take no more memory the more there are") {
  const BufferPtr x = buffer(Numbers(1000, 0));
  runtime().wait(in_rounds({more(x, x)}, {2, 0}));
  read<int32_t>(x);
  const uint64_t before = in_use();
  runtime().wait(in_rounds({more(x, x), more(x, x)}, {5000, 1}));
  CHECK(read<int32_t>(x) == Numbers(1000, 10'003));
  CHECK(in_use() == before);
}

TEST_CASE("rounds of very many stages go to the device from another thread") {
  const BufferPtr x = buffer<int32_t>({0});
  std::vector<Stage> stages;
  for (size_t i = 0; i < 3 * Scheduler::kLengthy; ++i) stages.push_back(more(x, x));
  runtime().wait(in_rounds(stages, {10, 5}));
  CHECK(read<int32_t>(x) == Numbers{30 * static_cast<int32_t>(Scheduler::kLengthy) + 5});
}

TEST_CASE("a profile counts every round") {
  const BufferPtr x = buffer<int32_t>({0});
  const auto profile = std::make_shared<Profile>();
  runtime().wait(scheduler().submit_rounds({more(x, x)}, {20, 0}, nullptr, nullptr, profile, {}));
  read<int32_t>(x);
  CHECK(profile->kernels().at("elementwise_add").count == 20);
}
