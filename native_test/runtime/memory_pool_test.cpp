#include "runtime/memory_pool.hpp"

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
  pool->allocate(200'000);  // is kept
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

TEST_CASE("nothing is fine too") {
  const auto pool = pool_of(100);
  CHECK(pool->allocate(0)->memory() == nullptr);
}

TEST_CASE("borrowed memory counts, and its owner is let go") {
  if (!test::engine().runtime().device().shares_host_memory()) return;
  const auto pool = pool_of(100);
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
