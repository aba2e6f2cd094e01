// Separates the launches of a kernel around its widest grid so far. PoCL reloads a kernel for a
// grid wider than all before; a narrower launch in flight at that time then releases the wrong
// copy, which crashes the process.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/device/cl_api.hpp"

namespace dala {

// For one kernel with one work-group size. Not thread-safe.
class GridGrowth {
 public:
  // The width of a grid as PoCL defines it, which ignores the number of groups in the third
  // dimension.
  static size_t width_of(const std::array<size_t, 3>& global, const std::array<size_t, 3>& local) {
    return std::max({global[0], global[1], local[2] * local[2]});
  }

  // The driver may compile the kernel again for a grid wider than all before.
  bool grows(size_t width) const { return width > widest_; }

  // Adds the events that a launch of this width must wait for: the widest so far waits for every
  // launch in flight, equally wide ones for those before it, narrower ones for it. The events are
  // valid until `launched`.
  void wait_for_others(size_t width, std::vector<cl_event>& wait_for);
  // The launch has been enqueued.
  void launched(size_t width, cl_event event);

 private:
  size_t widest_ = 0;
  ClEvent growth_;                  // the first launch of the widest grid, until it ends
  std::vector<ClEvent> preceding_;  // launches in flight before it
  std::vector<ClEvent> since_;      // that launch and later ones, some of which may have ended
};

}  // namespace dala
