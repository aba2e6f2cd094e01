// A workload: the same work done by this library and by its peers. Each family of workloads is a
// file with one list; adding a workload is adding an entry to it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace dala::bench {

class Bench;

struct Peer {
  std::string name;
  double at_least = 0;        // the part of its speed to reach
  std::function<void()> run;  // empty, as `timed` is: it is not installed here
  // In place of `run` for one in another process: nanoseconds per call, measured there.
  std::function<double(int calls)> timed = {};

  bool installed() const { return run || timed; }
};

// Both sides, set up and ready to run. What they need is owned by the functions.
struct Trial {
  std::function<void()> ours;
  std::vector<Peer> peers;
  // How far the two results are apart, relative to their size; called once after all runs.
  std::function<double()> difference;
  double tolerance = 1e-4;
};

struct Workload {
  std::string name;
  std::function<Trial(Bench&)> prepare;
  bool quick = true;  // also part of a quick run
};

struct Family {
  std::string name;
  std::vector<Workload> workloads;
};

Family conv_family();
Family elementwise_family();
Family image_family();
Family matmul_family();
Family model_family();
Family numeric_family();
Family reduce_family();
Family transpose_family();
// Further families are declared here and listed in main.cpp.

}  // namespace dala::bench
