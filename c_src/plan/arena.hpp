// One allocation for values whose live ranges differ: each gets an offset, apart from all values
// that are live at the same time.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

namespace dala::plan {

// The nodes of a plan from the first write of a value to its last use, both included.
struct LiveRange {
  size_t bytes = 0;
  size_t first = 0;
  size_t last = 0;
};

struct Arena {
  struct Spot {
    size_t piece = 0;
    size_t offset = 0;
  };
  std::vector<Spot> spots;     // of each live range
  std::vector<size_t> pieces;  // bytes of each

  size_t bytes() const { return std::accumulate(pieces.begin(), pieces.end(), size_t{0}); }
};

// Offsets are multiples of `alignment`. There is one piece of memory if it may be that large; a
// piece has more than `most` bytes only if a single value has.
Arena lay_out(const std::vector<LiveRange>& ranges, size_t alignment, size_t most);

}  // namespace dala::plan
