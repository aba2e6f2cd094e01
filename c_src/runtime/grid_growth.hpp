// Keeps launches of a kernel apart while it meets its widest grid so far. PoCL loads a kernel again
// for a grid wider than all before; a narrower launch that is on the device at that time then gives
// back the wrong copy, which ends the process.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/cl_api.hpp"

namespace dala {

// Of one kernel with work-groups of one size. Not safe from several threads.
class GridGrowth {
 public:
  // The width of a grid, as PoCL has it: of the third dimension it looks at the work-group only.
  static size_t width_of(const std::array<size_t, 3>& global, const std::array<size_t, 3>& local) {
    return std::max({global[0], global[1], local[2] * local[2]});
  }

  // Wider than all before: the driver may compile the kernel for it.
  bool grows(size_t width) const { return width > widest_; }

  // Adds what a launch this wide has to wait for: the widest so far for all that are on the device,
  // others as wide for those before it, narrower ones for it. The events stay good until
  // `launched`.
  void wait_for_others(size_t width, std::vector<cl_event>& wait_for);
  // The launch that was asked about is on the queue.
  void launched(size_t width, cl_event event);

 private:
  size_t widest_ = 0;
  ClEvent growth_;                  // the first launch that wide, unless it is done
  std::vector<ClEvent> preceding_;  // what was on the device then
  std::vector<ClEvent> since_;      // launches from that one on, some of which may be done
};

}  // namespace dala
