// Where tensors lie that are needed at different times, so that all of them take little room: each
// at an offset, apart from those that are needed while it is.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

namespace dala::model {

// What has to lie somewhere: from one step on, up to and including another.
struct Lodger {
  size_t bytes = 0;
  size_t first = 0;
  size_t last = 0;
};

struct Arena {
  struct Spot {
    size_t piece = 0;
    size_t offset = 0;
  };
  std::vector<Spot> spots;     // of each lodger
  std::vector<size_t> pieces;  // bytes of each

  size_t bytes() const { return std::accumulate(pieces.begin(), pieces.end(), size_t{0}); }
};

// Offsets are multiples of `alignment`. There is one piece of memory if it may be that large; one
// of more than `most` bytes is there only for a lodger that has as many.
Arena lay_out(const std::vector<Lodger>& lodgers, size_t alignment, size_t most);

}  // namespace dala::model
