// Measures workloads and writes one line per peer.
#pragma once

#include <functional>
#include <string>

#include "bench/workload.hpp"

namespace dala::bench {

struct Options {
  bool quick = false;
  std::string only;  // part of "family name"; empty is everything
};

// Sides take turns, round by round, and each begins every other round. A sample is as many calls as
// take a few milliseconds, after one that does not count. The line has, between tabs: family, name,
// peer, our median and the peer's in nanoseconds ("-" without a peer), the median of the rounds'
// ratios, the ratio to reach, bytes of scratch, and "ok" or what is wrong with the result.
void measure(const Family& family, const Options& options);

// The median time of one call in nanoseconds.
double median_time(const std::function<void()>& call, int rounds);

}  // namespace dala::bench
