#include "plan/arena.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace dala::plan {
namespace {

constexpr size_t kMostTried =
    2048;  // the number of live ranges up to which several orders are tried

using Ranks = std::vector<size_t>;  // live ranges in the order of placement

// Offsets into all pieces laid end to end, each with the largest size a piece may have.
struct Row {
  std::vector<size_t> offsets;
  size_t end = 0;
};

size_t up(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

// The offset itself, or that of the next piece if the value would cross the end of a piece.
size_t inside_piece(size_t offset, size_t bytes, size_t most) {
  const size_t into = offset % most;
  return into > 0 && bytes > most - into ? offset - into + most : offset;
}

// The number of live bytes at each step.
std::vector<size_t> needed_at(const std::vector<LiveRange>& ranges) {
  std::vector<size_t> needed;
  for (const LiveRange& each : ranges) {
    if (needed.size() <= each.last) needed.resize(each.last + 1, 0);
    for (size_t step = each.first; step <= each.last; ++step) needed[step] += each.bytes;
  }
  return needed;
}

Ranks by_size(const std::vector<LiveRange>& ranges) {
  Ranks ranks(ranges.size());
  std::iota(ranks.begin(), ranks.end(), size_t{0});
  std::stable_sort(ranks.begin(), ranks.end(),
                   [&](size_t a, size_t b) { return ranges[a].bytes > ranges[b].bytes; });
  return ranks;
}

// Orders live ranges by the peak of the steps at which they are live, then by size.
Ranks by_need(const std::vector<LiveRange>& ranges, const std::vector<size_t>& needed) {
  std::vector<size_t> most(ranges.size(), 0);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto first = needed.begin() + static_cast<std::ptrdiff_t>(ranges[i].first);
    const auto last = needed.begin() + static_cast<std::ptrdiff_t>(ranges[i].last);
    most[i] = *std::max_element(first, last + 1);
  }
  Ranks ranks = by_size(ranges);
  std::stable_sort(ranks.begin(), ranks.end(),
                   [&](size_t a, size_t b) { return most[a] > most[b]; });
  return ranks;
}

Ranks by_time(const std::vector<LiveRange>& ranges) {
  Ranks ranks = by_size(ranges);
  std::stable_sort(ranks.begin(), ranks.end(),
                   [&](size_t a, size_t b) { return ranges[a].first < ranges[b].first; });
  return ranks;
}

// Places the live ranges one by one, each into a gap between placed ranges that overlap it in time:
// the first gap that fits, or the smallest.
Row placed(const std::vector<LiveRange>& ranges, const Ranks& ranks, size_t alignment, size_t most,
           bool smallest) {
  Row row;
  row.offsets.resize(ranges.size(), 0);
  Ranks there;  // placed, by offset
  for (size_t rank : ranks) {
    const LiveRange& own = ranges[rank];
    if (own.bytes == 0) continue;
    const auto start = [&](size_t offset) {
      return inside_piece(up(offset, alignment), own.bytes, most);
    };
    size_t best = 0;
    size_t best_gap = 0;
    size_t end = 0;  // of the ranges visited so far
    for (size_t other : there) {
      const LiveRange& each = ranges[other];
      if (each.last < own.first || own.last < each.first) continue;
      const size_t from = start(end);
      const size_t until = row.offsets[other];
      if (from + own.bytes <= until && (best_gap == 0 || (smallest && until - end < best_gap))) {
        best = from;
        best_gap = until - end;
      }
      end = std::max(end, until + each.bytes);
    }
    const size_t offset = best_gap == 0 ? start(end) : best;
    row.offsets[rank] = offset;
    row.end = std::max(row.end, offset + own.bytes);
    const auto after =
        std::upper_bound(there.begin(), there.end(), offset,
                         [&](size_t value, size_t other) { return value < row.offsets[other]; });
    there.insert(after, rank);
  }
  return row;
}

// For very many live ranges, for which `placed` would take quadratic time: an offset is reused for
// a value of the same size as soon as its value is dead.
Row reused(const std::vector<LiveRange>& ranges, size_t alignment, size_t most) {
  Row row;
  row.offsets.resize(ranges.size(), 0);
  std::multimap<size_t, size_t> dead;                     // offsets by size
  std::multimap<size_t, std::pair<size_t, size_t>> live;  // size and offset by last use
  for (size_t index : by_time(ranges)) {
    const LiveRange& own = ranges[index];
    if (own.bytes == 0) continue;
    while (!live.empty() && live.begin()->first < own.first) {
      dead.insert(live.begin()->second);
      live.erase(live.begin());
    }
    const auto found = dead.find(own.bytes);
    size_t& offset = row.offsets[index];
    if (found != dead.end()) {
      offset = found->second;
      dead.erase(found);
    } else {
      offset = inside_piece(up(row.end, alignment), own.bytes, most);
      row.end = offset + own.bytes;
    }
    live.emplace(own.last, std::make_pair(own.bytes, offset));
  }
  return row;
}

}  // namespace

// The optimal order is hard to find, and the best of the simple ones depends on the graph.
Arena lay_out(const std::vector<LiveRange>& ranges, size_t alignment, size_t most) {
  most = std::max(alignment, most / alignment * alignment);
  Row best;
  best.end = std::numeric_limits<size_t>::max();
  if (ranges.size() > kMostTried) {
    best = reused(ranges, alignment, most);
  } else {
    const std::vector<size_t> needed = needed_at(ranges);
    for (const Ranks& ranks : {by_need(ranges, needed), by_size(ranges), by_time(ranges)}) {
      for (bool smallest : {false, true}) {
        Row row = placed(ranges, ranks, alignment, most, smallest);
        if (row.end < best.end) best = std::move(row);
      }
    }
  }
  Arena arena;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const Arena::Spot spot{best.offsets[i] / most, best.offsets[i] % most};
    if (arena.pieces.size() <= spot.piece) arena.pieces.resize(spot.piece + 1, 0);
    arena.pieces[spot.piece] = std::max(arena.pieces[spot.piece], spot.offset + ranges[i].bytes);
    arena.spots.push_back(spot);
  }
  return arena;
}

}  // namespace dala::plan
