// Commands that are accepted before their stages are known.
#include "runtime/schedule/reservation.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <memory>

#include "support/engine_fixture.hpp"

using namespace dala;
using test::buffer;
using test::engine;
using test::must_fail;
using test::read;
using test::run;
using test::submit;

namespace {

Runtime& runtime() { return engine().runtime(); }
Scheduler& scheduler() { return runtime().scheduler(); }

using Numbers = std::vector<float>;

struct FakeClient : Client {
  uint64_t key() const override { return 4711; }
  bool wants_result() const override { return alive.load(); }
  std::atomic<bool> alive{true};
};

// The stages of a command that negates its input.
std::vector<Stage> negation(const Reservation& reserved) {
  return {engine().stage("neg", {reserved.inputs()[0]}, reserved.output(), {})};
}

// The content once all commands so far have left the order, whatever their outcome.
Numbers settled(const BufferPtr& of) {
  const BufferPtr copy = buffer(Numbers(static_cast<size_t>(of->type().count())));
  runtime().wait(scheduler().submit({engine().copy_stage(of, copy)}, nullptr, nullptr));
  return read<float>(copy);
}

bool pending(CommandId id) { return scheduler().poll(id).status == Scheduler::Status::pending; }

}  // namespace

TEST_CASE("a reserved command reads and writes at its place in the order") {
  const BufferPtr a = buffer<float>({1, 2});
  const BufferPtr b = buffer<float>({0, 0});
  const BufferPtr c = buffer<float>({0, 0});
  submit("exp", {c}, a);
  const auto reserved = scheduler().reserve({a}, b, nullptr, nullptr);
  const CommandId reader = submit("neg", {b}, c);
  const CommandId writer = submit("fill", {}, a, {{"value", 5.0}});
  const BufferPtr moment = scheduler().snapshot(*b, "b");
  CHECK(pending(reserved->id()));
  CHECK(pending(reader));
  CHECK(pending(writer));
  // New content for the output of a command that was submitted before.
  const Numbers later{3, 4};
  runtime().write(b, later.data(), nullptr);

  CHECK(reserved->wanted());
  CHECK(reserved->resolve(negation(*reserved), false));
  runtime().wait(reader);
  runtime().wait(writer);
  CHECK(read<float>(c) == Numbers{1, 1});
  CHECK(read<float>(a) == Numbers{5, 5});
  CHECK(read<float>(b) == later);
  CHECK(read<float>(moment) == Numbers{-1, -1});
}

TEST_CASE("a reserved command may write to its own input, and to what a binary shows") {
  const BufferPtr a = buffer(Numbers(5000, 3));
  const Numbers before = read<float>(a);
  const auto reserved = scheduler().reserve({a}, a, nullptr, nullptr);
  const auto shown = runtime().read(a, nullptr);
  CHECK(reserved->resolve(negation(*reserved), false));
  runtime().wait(reserved->id());
  CHECK(before == Numbers(5000, 3));
  CHECK(read<float>(a) == Numbers(5000, -3));
  if (shown.pending) runtime().wait(*shown.pending);
  const auto* bytes = reinterpret_cast<const float*>(shown.readback->data());
  CHECK(Numbers(bytes, bytes + 5000) == Numbers(5000, -3));
}

TEST_CASE("a reserved command that fails leaves its output as it was, and the order too") {
  const BufferPtr a = buffer(Numbers(5000, 3));
  const BufferPtr b = buffer(Numbers(5000, 4));
  read<float>(b);
  const auto reserved = scheduler().reserve({a}, b, nullptr, nullptr);
  const CommandId after = submit("neg", {b}, a);
  reserved->fail(std::make_shared<const Error>(Reason::unsupported, "no such plan"));
  CHECK(must_fail([&] { runtime().wait(reserved->id()); }).message == "no such plan");
  runtime().wait(after);
  CHECK(read<float>(a) == Numbers(5000, -4));
  CHECK(read<float>(b) == Numbers(5000, 4));
}

TEST_CASE("a reserved command that nobody completes is dropped") {
  const BufferPtr a = buffer<float>({1});
  auto reserved = scheduler().reserve({a}, a, nullptr, nullptr);
  const CommandId id = reserved->id();
  reserved.reset();
  CHECK(must_fail([&] { runtime().wait(id); }).reason == Reason::freed);
  CHECK(settled(a) == Numbers{1});
}

TEST_CASE("a reserved command can be cancelled, and is told at once") {
  const BufferPtr a = buffer<float>({1});
  const BufferPtr b = buffer<float>({2});
  std::atomic<int> told{0};
  const auto reserved =
      scheduler().reserve({a}, b, nullptr, [&told](CommandId, const Error* error) {
        told += error != nullptr && error->reason == Reason::cancelled ? 1 : 100;
      });
  const CommandId after = submit("neg", {b}, a);
  CHECK(scheduler().cancel(reserved->id()) == Scheduler::Cancelled::yes);
  CHECK(told == 1);
  CHECK_FALSE(reserved->wanted());
  CHECK(pending(after));
  CHECK(reserved->resolve(negation(*reserved), false));
  runtime().wait(after);
  CHECK(read<float>(a) == Numbers{-2});
  CHECK(read<float>(b) == Numbers{2});
  CHECK(told == 1);
}

TEST_CASE("a reserved command of a client that is gone does not run") {
  const BufferPtr a = buffer<float>({1});
  const auto client = std::make_shared<FakeClient>();
  const auto reserved = scheduler().reserve({a}, a, client, nullptr);
  CHECK(reserved->wanted());
  client->alive = false;
  CHECK_FALSE(reserved->wanted());
  CHECK(reserved->resolve(negation(*reserved), false));
  CHECK(must_fail([&] { runtime().wait(reserved->id()); }).reason == Reason::freed);
  CHECK(settled(a) == Numbers{1});

  const auto killed = scheduler().reserve({a}, a, std::make_shared<FakeClient>(), nullptr);
  CHECK(scheduler().drop_client(4711) == 0);
  CHECK_FALSE(killed->wanted());
  CHECK(must_fail([&] { runtime().wait(killed->id()); }).reason == Reason::freed);
}

TEST_CASE("a reserved command does not wait for a later one that waits for it") {
  const BufferPtr a = buffer<float>({1, 2});
  const BufferPtr b = buffer<float>({0, 0});
  const BufferPtr c = buffer<float>({0, 0});
  const auto arena = [] { return engine().runtime().zeros({DType::f32, {2}}); };
  const BufferPtr shared = arena();
  const auto by_way_of = [](const BufferPtr& from, const BufferPtr& between, const BufferPtr& to) {
    return std::vector<Stage>{engine().stage("neg", {from}, between, {}),
                              engine().stage("exp", {between}, to, {})};
  };
  const auto reserved = scheduler().reserve({a}, b, nullptr, nullptr);
  // Reads the output of the reserved command, and uses memory that the latter will use.
  const CommandId later = scheduler().submit(by_way_of(b, shared, c), nullptr, nullptr);
  const auto stages = [&](const BufferPtr& between) {
    return by_way_of(reserved->inputs()[0], between, reserved->output());
  };
  CHECK_FALSE(reserved->resolve(stages(shared), false));
  CHECK(pending(later));
  CHECK(reserved->resolve(stages(arena()), true));
  runtime().wait(later);
  const Numbers got = read<float>(c);
  CHECK(got[0] == doctest::Approx(std::exp(-std::exp(-1.0))));
  CHECK(got[1] == doctest::Approx(std::exp(-std::exp(-2.0))));
}

TEST_CASE("what cannot be used is refused before anything is reserved") {
  const BufferPtr a = buffer<float>({1});
  const BufferPtr gone = buffer<float>({1});
  scheduler().free(*gone);
  const BufferPtr temporary = runtime().temporary({DType::f32, {1}});
  const auto reserve = [&](const BufferPtr& input, const BufferPtr& output) {
    return test::failure([&] { scheduler().reserve({input}, output, nullptr, nullptr); });
  };
  CHECK(reserve(gone, a) == "freed: input 0 has been freed");
  CHECK(reserve(a, gone) == "freed: the output has been freed");
  CHECK(reserve(temporary, a) ==
        "unsupported: input 0 is temporary: only the stages of a pipeline may use it");
  CHECK(reserve(a, temporary) ==
        "unsupported: the output is temporary: only the stages of a pipeline may use it");
}
