#include "runtime/memory/segment.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <vector>

#include "runtime/error.hpp"

using namespace dala;

TEST_CASE("a segment is found by any of its bytes, until it is freed") {
  std::byte* data = allocate_segment(8192);
  REQUIRE(data != nullptr);
  CHECK(data[8191] == std::byte{0});
  const auto place = segment_at(data + 5000, 3192);
  REQUIRE(place.has_value());
  CHECK(place->os_pid == getpid());
  CHECK(place->offset == 5000);
  CHECK(!segment_at(data + 5000, 3193).has_value());
  CHECK(!segment_at(data + 8192, 1).has_value());
  CHECK(free_segment(data));
  CHECK(!segment_at(data, 1).has_value());
}

TEST_CASE("memory that is no segment is not freed as one") {
  std::vector<std::byte> other(8192);
  CHECK(!free_segment(other.data()));
  CHECK(!segment_at(other.data(), 1).has_value());
}

TEST_CASE("a mapped segment shows the bytes, from any offset, and is found itself") {
  std::byte* data = allocate_segment(12288);
  REQUIRE(data != nullptr);
  std::memcpy(data + 5000, "bytes", 5);
  const SegmentPlace place = *segment_at(data + 5000, 5);
  {
    const MappedSegment mapped(place, 5);
    CHECK(std::memcmp(mapped.data(), "bytes", 5) == 0);
    const auto again = segment_at(mapped.data() + 2, 3);
    REQUIRE(again.has_value());
    CHECK(again->fd == place.fd);
    CHECK(again->offset == 5002);
    std::memcpy(data + 5000, "BYTES", 5);
    CHECK(std::memcmp(mapped.data(), "BYTES", 5) == 0);
  }
  CHECK(free_segment(data));
}

TEST_CASE("a mapped segment outlives the memory that it was made from") {
  std::byte* data = allocate_segment(4096);
  REQUIRE(data != nullptr);
  std::memcpy(data, "bytes", 5);
  const MappedSegment mapped(*segment_at(data, 5), 5);
  CHECK(free_segment(data));
  CHECK(std::memcmp(mapped.data(), "bytes", 5) == 0);
}

TEST_CASE("places that are not there, or of another file, are errors") {
  std::byte* data = allocate_segment(4096);
  REQUIRE(data != nullptr);
  const SegmentPlace place = *segment_at(data, 1);
  SegmentPlace other = place;
  other.inode += 1;
  CHECK_THROWS_AS(MappedSegment(other, 1), Error);
  other = place;
  other.fd = 100'000;
  CHECK_THROWS_AS(MappedSegment(other, 1), Error);
  CHECK_THROWS_AS(MappedSegment(place, 4097), Error);
  CHECK_THROWS_AS(MappedSegment(place, 0), Error);
  other = place;
  other.fd = 0;  // something else
  CHECK_THROWS_AS(MappedSegment(other, 1), Error);
  other = place;
  other.offset = UINT64_MAX;
  CHECK_THROWS_AS(MappedSegment(other, 1), Error);
  CHECK(free_segment(data));
}

TEST_CASE("copies use the same memory again, and count as shared while they live") {
  trim_segments();
  const uint64_t before = shared_bytes();
  const std::vector<std::byte> bytes(100'000, std::byte{7});
  const std::byte* first = nullptr;
  {
    const SegmentCopy copy(bytes.data(), bytes.size());
    first = copy.data();
    CHECK(std::memcmp(copy.data(), bytes.data(), bytes.size()) == 0);
    CHECK(shared_bytes() >= before + bytes.size());
  }
  CHECK(shared_bytes() == before);
  const auto again = std::make_unique<SegmentCopy>(bytes.data(), bytes.size());
  CHECK(again->data() == first);
  trim_segments();
  CHECK(segment_at(again->data(), 1).has_value());
}
