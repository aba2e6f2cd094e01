#include "runtime/schedule/part_order.hpp"

#include <doctest/doctest.h>

#include "runtime/memory/memory_pool.hpp"
#include "support/engine_fixture.hpp"

using namespace dala;

namespace {

using Indices = std::vector<size_t>;

// Records the earlier parts that each part follows.
class Order {
 public:
  Indices after(std::vector<StoragePtr> inputs, const StoragePtr& output) {
    BoundStage part;
    part.launch = launch_;
    part.inputs = std::move(inputs);
    if (output != nullptr) part.outputs.push_back({output, nullptr});
    order_.place(part, count_++);
    return part.after;
  }

 private:
  std::shared_ptr<const Launch> launch_ = std::make_shared<Launch>();
  PartOrder order_;
  size_t count_ = 0;
};

MemoryPool& memory() { return test::engine().runtime().memory(); }

}  // namespace

TEST_CASE("a part follows those that wrote what it reads, and used what it writes") {
  const StoragePtr a = memory().allocate(100);
  const StoragePtr b = memory().allocate(100);
  Order order;
  CHECK(order.after({}, a).empty());
  CHECK(order.after({a}, b) == Indices{0});
  CHECK(order.after({a}, nullptr) == Indices{0});
  CHECK(order.after({b}, a) == Indices{0, 1, 2});
  CHECK(order.after({a}, nullptr) == Indices{3});
}

TEST_CASE("parts of the same memory are apart unless they overlap") {
  const size_t step = test::engine().runtime().device().info().alignment;
  const StoragePtr whole = memory().allocate(4 * step);
  const auto part = [&](size_t from, size_t steps) {
    return memory().part(whole, from * step, steps * step);
  };
  const StoragePtr left = part(0, 2);
  const StoragePtr middle = part(1, 2);
  const StoragePtr right = part(2, 2);
  const StoragePtr same = part(2, 2);
  Order order;
  CHECK(order.after({}, left).empty());
  CHECK(order.after({}, right).empty());
  CHECK(order.after({left}, nullptr) == Indices{0});
  CHECK(order.after({}, middle) == Indices{0, 1, 2});
  CHECK(order.after({right}, nullptr) == Indices{1, 3});
  CHECK(order.after({}, same) == Indices{1, 3, 4});
  CHECK(order.after({right}, nullptr) == Indices{3, 5});
  CHECK(order.after({}, whole) == Indices{0, 2, 3, 5, 6});  // which follow 1 and 4
  CHECK(order.after({left}, nullptr) == Indices{7});
}
