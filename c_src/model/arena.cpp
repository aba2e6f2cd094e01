#include "model/arena.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace dala::model {
namespace {

using Ranks = std::vector<size_t>;  // lodgers in the order in which they are placed

// Offsets into all pieces in a row, each as if it had the size that it may have.
struct Row {
  std::vector<size_t> offsets;
  size_t end = 0;
};

size_t up(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

// How many bytes are needed at each step.
std::vector<size_t> needed_at(const std::vector<Lodger>& lodgers) {
  std::vector<size_t> needed;
  for (const Lodger& each : lodgers) {
    if (needed.size() <= each.last) needed.resize(each.last + 1, 0);
    for (size_t step = each.first; step <= each.last; ++step) needed[step] += each.bytes;
  }
  return needed;
}

Ranks by_size(const std::vector<Lodger>& lodgers) {
  Ranks ranks(lodgers.size());
  std::iota(ranks.begin(), ranks.end(), size_t{0});
  std::stable_sort(ranks.begin(), ranks.end(),
                   [&](size_t a, size_t b) { return lodgers[a].bytes > lodgers[b].bytes; });
  return ranks;
}

// Those of the step that needs most come first, then those of the next, each by size.
Ranks by_need(const std::vector<Lodger>& lodgers, const std::vector<size_t>& needed) {
  std::vector<size_t> most(lodgers.size(), 0);
  for (size_t i = 0; i < lodgers.size(); ++i) {
    const auto first = needed.begin() + static_cast<std::ptrdiff_t>(lodgers[i].first);
    const auto last = needed.begin() + static_cast<std::ptrdiff_t>(lodgers[i].last);
    most[i] = *std::max_element(first, last + 1);
  }
  Ranks ranks = by_size(lodgers);
  std::stable_sort(ranks.begin(), ranks.end(),
                   [&](size_t a, size_t b) { return most[a] > most[b]; });
  return ranks;
}

Ranks by_time(const std::vector<Lodger>& lodgers) {
  Ranks ranks = by_size(lodgers);
  std::stable_sort(ranks.begin(), ranks.end(),
                   [&](size_t a, size_t b) { return lodgers[a].first < lodgers[b].first; });
  return ranks;
}

// One after the other, each into a gap between those there already: the lowest that holds it, or
// the smallest.
Row placed(const std::vector<Lodger>& lodgers, const Ranks& ranks, size_t alignment, size_t most,
           bool smallest) {
  Row row;
  row.offsets.resize(lodgers.size(), 0);
  Ranks there;  // by offset
  for (size_t rank : ranks) {
    const Lodger& own = lodgers[rank];
    if (own.bytes == 0) continue;
    // Nothing lies across the end of a piece.
    const auto start = [&](size_t offset) {
      offset = up(offset, alignment);
      const size_t into = offset % most;
      return into > 0 && own.bytes > most - into ? offset - into + most : offset;
    };
    size_t best = 0;
    size_t best_gap = 0;
    size_t end = 0;  // of those passed so far
    for (size_t other : there) {
      const Lodger& each = lodgers[other];
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

}  // namespace

// The best order is hard to find, and which of the simple ones is best differs from graph to graph.
Arena lay_out(const std::vector<Lodger>& lodgers, size_t alignment, size_t most) {
  most = std::max(alignment, most / alignment * alignment);
  const std::vector<size_t> needed = needed_at(lodgers);
  Row best;
  best.end = std::numeric_limits<size_t>::max();
  for (const Ranks& ranks : {by_need(lodgers, needed), by_size(lodgers), by_time(lodgers)}) {
    for (bool smallest : {false, true}) {
      Row row = placed(lodgers, ranks, alignment, most, smallest);
      if (row.end < best.end) best = std::move(row);
    }
  }
  Arena arena;
  for (size_t i = 0; i < lodgers.size(); ++i) {
    const Arena::Spot spot{best.offsets[i] / most, best.offsets[i] % most};
    if (arena.pieces.size() <= spot.piece) arena.pieces.resize(spot.piece + 1, 0);
    arena.pieces[spot.piece] = std::max(arena.pieces[spot.piece], spot.offset + lodgers[i].bytes);
    arena.spots.push_back(spot);
  }
  return arena;
}

}  // namespace dala::model
