// Layouts over random live ranges: ranges that overlap in time do not alias, and little memory is
// wasted.
#include "plan/arena.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace dala::test {
namespace {

using plan::Arena;
using plan::lay_out;
using plan::LiveRange;

size_t most_needed(const std::vector<LiveRange>& ranges) {
  size_t most = 0;
  for (const LiveRange& at : ranges) {
    size_t needed = 0;
    for (const LiveRange& each : ranges) {
      if (each.first <= at.first && at.first <= each.last) needed += each.bytes;
    }
    most = std::max(most, needed);
  }
  return most;
}

void check_apart(const std::vector<LiveRange>& ranges, const Arena& arena, size_t alignment) {
  REQUIRE(arena.spots.size() == ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    const Arena::Spot& a = arena.spots[i];
    CHECK(a.offset % alignment == 0);
    REQUIRE(a.piece < arena.pieces.size());
    CHECK(a.offset + ranges[i].bytes <= arena.pieces[a.piece]);
    for (size_t j = 0; j < i; ++j) {
      const Arena::Spot& b = arena.spots[j];
      const bool together = ranges[i].first <= ranges[j].last &&
                            ranges[j].first <= ranges[i].last && a.piece == b.piece;
      CAPTURE(i);
      CAPTURE(j);
      CHECK((!together || a.offset + ranges[i].bytes <= b.offset ||
             b.offset + ranges[j].bytes <= a.offset));
    }
  }
}

std::vector<LiveRange> random_ranges(std::mt19937& random, size_t count) {
  std::vector<LiveRange> ranges;
  for (size_t i = 0; i < count; ++i) {
    // Most values are used by the next step only, some for long; sizes differ by orders of
    // magnitude.
    const size_t life = random() % 4 == 0 ? random() % count : random() % 3;
    const size_t bytes = random() % (size_t{1} << (1 + random() % 16));
    ranges.push_back({bytes, i, std::min(i + life, count - 1)});
  }
  return ranges;
}

}  // namespace

TEST_CASE("what is needed at the same time lies apart") {
  std::mt19937 random(1);
  for (size_t count : {1, 2, 3, 10, 40, 40, 40}) {
    for (size_t alignment : {1, 128}) {
      const std::vector<LiveRange> ranges = random_ranges(random, count);
      const Arena arena = lay_out(ranges, alignment, size_t{1} << 40);
      check_apart(ranges, arena, alignment);
      CHECK(arena.pieces.size() <= 1);
      CHECK(arena.bytes() >= most_needed(ranges));
      CHECK(static_cast<double>(arena.bytes()) <=
            1.25 * static_cast<double>(most_needed(ranges) + count * alignment));
    }
  }
}

TEST_CASE("a chain of layers takes what its largest one does") {
  // Reusing whole blocks would take 100 + 60 + 60.
  const std::vector<LiveRange> chain{{60, 0, 1}, {100, 1, 2}, {60, 2, 4}, {10, 3, 4}, {50, 4, 5}};
  const Arena arena = lay_out(chain, 1, 1000);
  check_apart(chain, arena, 1);
  CHECK(arena.bytes() == 160);
}

TEST_CASE("pieces are no larger than the device allows") {
  std::mt19937 random(2);
  const std::vector<LiveRange> ranges = random_ranges(random, 30);
  const size_t most = 1 << 16;
  const Arena arena = lay_out(ranges, 64, most + 5);
  check_apart(ranges, arena, 64);
  CHECK(arena.pieces.size() > 1);
  for (size_t bytes : arena.pieces) CHECK(bytes <= most);

  // A value larger than a piece gets a piece of its own.
  const Arena beyond = lay_out({{10, 0, 2}, {250, 0, 2}, {20, 1, 2}}, 1, 100);
  check_apart({{10, 0, 2}, {250, 0, 2}, {20, 1, 2}}, beyond, 1);
  CHECK(std::count_if(beyond.pieces.begin(), beyond.pieces.end(),
                      [](size_t bytes) { return bytes > 100; }) == 1);
}

TEST_CASE("the memory of dead values is used again, however many values there are") {
  std::vector<LiveRange> ranges;
  for (size_t i = 0; i < 3000; ++i) ranges.push_back({i % 3 == 0 ? 100U : 60U, i, i + 1 + i % 2});
  const Arena arena = lay_out(ranges, 64, 1000);
  check_apart(ranges, arena, 64);
  CHECK(arena.bytes() <= 800);
}

TEST_CASE("nothing takes no room") {
  CHECK(lay_out({}, 128, 1000).pieces.empty());
  CHECK(lay_out({{0, 0, 1}, {0, 1, 2}}, 128, 1000).bytes() == 0);
}

}  // namespace dala::test
