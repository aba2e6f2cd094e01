// GPU class: a search for the tile parameters that are fastest on the device at hand.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "kernels/engine.hpp"
#include "kernels/tuning/tuning.hpp"

namespace dala {

struct TuneStep {
  size_t done = 0;
  size_t total = 0;
  std::string name;  // of the next shape class
};

struct TuneResult {
  ShapeClass shape_class;
  std::string call;      // such as "matmul {1024, 1024} x {1024, 1024}"
  TileChoice before;     // the vendor's
  TileChoice after;      // the winner
  double before_us = 0;  // the shortest time of a call
  double after_us = 0;
  uint64_t tried = 0;     // candidates measured, besides the vendor's
  uint64_t rejected = 0;  // candidates that failed, or whose result differed
};

// Runs a call of each shape class with every candidate, compares the result with that of the
// vendor's parameters, and keeps the fastest one, in memory and on disk. What does not fit within
// `limit`, or is not done when `cancelled` returns true, keeps its parameters and has no result.
// For a thread of its own. Throws `unsupported` if the device uses the CPU family, which has no
// such parameters.
std::vector<TuneResult> tune(
    Engine& engine, std::chrono::milliseconds limit,
    const std::function<void(const TuneStep&)>& tell,
    const std::function<bool()>& cancelled = [] { return false; });

}  // namespace dala
