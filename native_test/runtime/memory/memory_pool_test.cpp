#include "runtime/memory/memory_pool.hpp"

#include <doctest/doctest.h>

#include "support/engine_fixture.hpp"

using namespace dala;

namespace {

std::shared_ptr<MemoryPool> pool_of(uint64_t limit) {
  return std::make_shared<MemoryPool>(test::engine().runtime().device(), limit);
}

}  // namespace

TEST_CASE("memory is counted to the byte") {
  const auto pool = pool_of(1 << 20);
  CHECK(pool->info().limit == 1 << 20);
  {
    const StoragePtr a = pool->allocate(1000);
    const StoragePtr b = pool->allocate(7);
    CHECK(pool->info().in_use == 1007);
  }
  CHECK(pool->info().in_use == 0);
  CHECK(pool->info().peak == 1007);
}

TEST_CASE("freed memory is used again") {
  const auto pool = pool_of(1 << 20);
  const cl_mem first = pool->allocate(100'000)->memory();
  CHECK(pool->info().pooled >= 100'000);
  const StoragePtr again = pool->allocate(99'000);  // the same size class
  CHECK(again->memory() == first);
  CHECK(pool->info().pooled == 0);
}

TEST_CASE("the limit holds, and what is kept makes room for what is needed") {
  const auto pool = pool_of(1 << 20);
  const StoragePtr half = pool->allocate(1 << 19);
  const Error error = test::must_fail([&] { pool->allocate((1 << 19) + 1); });
  CHECK(error.reason == Reason::out_of_memory);
  CHECK(error.message == "no room for 524289 bytes: 524288 of 1048576 bytes are in use");
  pool->allocate(200'000);  // pooled
  const StoragePtr rest = pool->allocate(1 << 19);
  CHECK(pool->info().in_use + pool->info().pooled <= pool->info().limit);
}

TEST_CASE("one allocation beyond the device is out of memory") {
  const auto pool = pool_of(uint64_t{1} << 60);
  const uint64_t beyond = test::engine().runtime().device().info().max_allocation + 1;
  CHECK(test::must_fail([&] { pool->allocate(beyond); }).reason == Reason::out_of_memory);
  CHECK(pool->allocate(16)->bytes() == 16);
  CHECK(pool->info().in_use == 0);
}

TEST_CASE("a collection is due each time the memory in use doubles") {
  const auto pool = pool_of(4'000'000);  // requested from a quarter of a small limit on
  std::vector<StoragePtr> held;
  held.push_back(pool->allocate(999'999));
  CHECK_FALSE(pool->should_collect());
  held.push_back(pool->allocate(1));
  CHECK(pool->should_collect());
  CHECK_FALSE(pool->should_collect());
  held.push_back(pool->allocate(999'999));
  CHECK_FALSE(pool->should_collect());
  held.push_back(pool->allocate(1));
  CHECK(pool->should_collect());
  // After an effective collection, the first threshold applies again.
  held.clear();
  CHECK_FALSE(pool->should_collect());
  held.push_back(pool->allocate(1'000'000));
  CHECK(pool->should_collect());
}

TEST_CASE("nothing is fine too") {
  const auto pool = pool_of(100);
  CHECK(pool->allocate(0)->memory() == nullptr);
}

TEST_CASE("borrowed memory counts, and its owner is let go") {
  if (!test::engine().runtime().device().shares_host_memory()) return;
  const auto pool = pool_of(10'000);
  auto owner = std::make_shared<std::vector<float>>(1000, 1.0f);
  const std::weak_ptr<std::vector<float>> watch = owner;
  StoragePtr storage = pool->borrow(owner->data(), 4000, owner);
  owner.reset();
  CHECK(pool->info().in_use == 4000);
  CHECK(storage->exported());
  storage.reset();
  CHECK(pool->info().in_use == 0);
  pool->close();  // waits for the reaper
  CHECK(watch.expired());
}

TEST_CASE("a part of memory keeps all of it, and does not count") {
  const auto pool = pool_of(1 << 20);
  const size_t step = test::engine().runtime().device().info().alignment;
  StoragePtr whole = pool->allocate(4 * step);
  StoragePtr part = pool->part(whole, step, 2 * step);
  CHECK(&part->whole() == whole.get());
  CHECK(&whole->whole() == whole.get());
  CHECK(part->offset() == step);
  CHECK(part->bytes() == 2 * step);
  if (whole->host() != nullptr) CHECK(part->host() == whole->host() + step);
  CHECK(pool->info().in_use == 4 * step);
  whole.reset();
  CHECK(pool->info().in_use == 4 * step);
  part.reset();
  CHECK(pool->info().in_use == 0);
}

TEST_CASE("borrowed memory is within the limit, together with all that its owner keeps") {
  if (!test::engine().runtime().device().shares_host_memory()) return;
  const auto pool = pool_of(10'000);
  const uint64_t before = pool->info().shared;
  const auto owner = std::make_shared<std::vector<float>>(2000, 1.0f);
  {
    const StoragePtr part = pool->borrow(owner->data(), 4000, owner, 5000);
    CHECK(pool->info().in_use == 4000);
    CHECK(pool->info().shared == before + 1000);
    const Error error = test::must_fail([&] { pool->borrow(owner->data(), 5001, owner); });
    CHECK(error.reason == Reason::out_of_memory);
    CHECK(error.message ==
          text("no room for 5001 bytes: 4000 of 10000 bytes are in use, binaries hold ",
               before + 1000));
    CHECK(test::must_fail([&] { pool->allocate(5001); }).reason == Reason::out_of_memory);
    // With `replaces`, only the additional bytes have to fit.
    const StoragePtr instead = pool->borrow(owner->data(), 6000, owner, 6000, true);
    CHECK(pool->info().in_use == 10'000);
  }
  CHECK(pool->info().in_use == 0);
  CHECK(pool->info().shared == before);
}

TEST_CASE("memory that only a binary shows counts as shared, and within the limit") {
  const auto pool = pool_of(10'000);
  const uint64_t before = pool->info().shared;
  StoragePtr storage = pool->allocate(6000);
  storage->disown();
  storage->disown();
  CHECK(pool->info().in_use == 0);
  CHECK(pool->info().shared == before + 6000);
  CHECK(test::must_fail([&] { pool->allocate(4001); }).message ==
        text("no room for 4001 bytes: 0 of 10000 bytes are in use, binaries hold ", before + 6000));
  CHECK(pool->allocate(4000)->bytes() == 4000);
  {
    const SharedHold held = pool->hold(4000);
    CHECK(pool->info().shared == before + 10'000);
    CHECK(test::must_fail([&] { pool->hold(1); }).reason == Reason::out_of_memory);
  }
  storage.reset();
  CHECK(pool->info().shared == before);
  CHECK(pool->info().in_use == 0);
}

TEST_CASE("what is kept for reuse makes room for binaries") {
  const auto pool = pool_of(1 << 20);
  pool->allocate(200'000);
  CHECK(pool->info().pooled >= 200'000);
  const SharedHold held = pool->hold((1 << 20) - 100);
  CHECK(pool->info().pooled == 0);
}

TEST_CASE("memory that is held without a pool has a limit, too") {
  const uint64_t before = shared_bytes();
  {
    const SharedHold held = hold_shared(1000, before + 1500);
    CHECK(shared_bytes() == before + 1000);
    CHECK(test::must_fail([&] { hold_shared(501, before + 1500); }).reason ==
          Reason::out_of_memory);
    const SharedHold unlimited = hold_shared(5000, 0);
    CHECK(shared_bytes() == before + 6000);
  }
  CHECK(shared_bytes() == before);
}
