// One allocation for values whose live ranges differ: values that are live at the same time get
// disjoint offsets.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

namespace dala::plan {

// From the node that first writes a value to the last that uses it, inclusive.
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

// Offsets are multiples of `alignment`. The arena is one piece if `most` bytes suffice; a piece is
// larger than `most` only if a single value is.
Arena lay_out(const std::vector<LiveRange>& ranges, size_t alignment, size_t most);

}  // namespace dala::plan
