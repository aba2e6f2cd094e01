#include "bench/harness.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "bench/bench.hpp"
#include "bench/peers.hpp"

namespace dala::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;

double time_of(const std::function<void()>& call, int calls) {
  const auto start = Clock::now();
  for (int i = 0; i < calls; ++i) call();
  return Nanoseconds(Clock::now() - start).count() / calls;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

struct Side {
  std::function<double(int calls)> time;  // of one call
  bool is_peer = false;
  int calls = 1;
  double once = 0;
  std::vector<double> times = {};

  void sample() {
    // Threads of the other side look for more work for a while before they sleep.
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
    const auto take = [this] {
      time(1);
      times.push_back(time(calls));
    };
    if (is_peer) {
      on_peer_thread(take);
    } else {
      take();
    }
  }
};

// The first call, which may compile or start threads, and how many calls make a sample.
void warm_up(Side& side, double sample_time) {
  const auto try_out = [&] {
    side.time(1);
    side.once = side.time(1);
  };
  if (side.is_peer) {
    on_peer_thread_with_helpers(try_out);
  } else {
    try_out();
  }
  side.calls = static_cast<int>(std::clamp(sample_time / side.once, 1.0, 1000.0));
}

std::function<double(int)> timed(const std::function<void()>& call) {
  return [call](int calls) { return time_of(call, calls); };
}

// As many as usual, or as fit into a time when calls are long.
int rounds_of(const std::vector<Side>& sides, bool quick) {
  double round = 1;
  for (const Side& side : sides) round += (1 + side.calls) * side.once;
  const double fitting = (quick ? 3e9 : 8e9) / round;
  return quick ? std::clamp(static_cast<int>(fitting), 3, 5)
               : std::clamp(static_cast<int>(fitting), 5, 15);
}

std::vector<double> ratios(const Side& ours, const Side& theirs) {
  std::vector<double> result;
  for (size_t i = 0; i < ours.times.size(); ++i) {
    result.push_back(theirs.times[i] / ours.times[i]);
  }
  return result;
}

void print_no_peer(const std::string& family, const std::string& name, const Peer& peer,
                   double ours, long long scratch) {
  std::printf("%s\t%s\t%s\t%.0f\t-\t-\t%.2f\t%lld\tok\n", family.c_str(), name.c_str(),
              peer.name.c_str(), ours, peer.at_least, scratch);
}

void measure(const std::string& family, const Workload& workload, bool quick) {
  // An engine of its own, so that the peak of its memory is this workload's.
  Bench bench(with_environment(Config{}));
  Trial trial = workload.prepare(bench);
  const auto buffers = bench.memory().in_use;

  std::vector<Side> sides{{timed(trial.ours)}};
  for (const Peer& peer : trial.peers) {
    if (peer.installed()) sides.push_back({peer.timed ? peer.timed : timed(peer.run), true});
  }
  for (Side& side : sides) warm_up(side, quick ? 4e6 : 1e7);
  const int rounds = rounds_of(sides, quick);
  for (int round = 0; round < rounds; ++round) {
    if (round % 2 == 1) std::reverse(sides.begin(), sides.end());
    for (Side& side : sides) side.sample();
    if (round % 2 == 1) std::reverse(sides.begin(), sides.end());
  }

  const auto scratch = static_cast<long long>(bench.memory().peak - buffers);
  const double apart = trial.difference && sides.size() > 1 ? trial.difference() : 0;
  const bool agree = apart <= trial.tolerance;
  const double ours = median(sides.front().times);
  auto side = sides.begin() + 1;
  for (const Peer& peer : trial.peers) {
    if (!peer.installed()) {
      print_no_peer(family, workload.name, peer, ours, scratch);
      continue;
    }
    std::printf("%s\t%s\t%s\t%.0f\t%.0f\t%.4f\t%.2f\t%lld\t", family.c_str(), workload.name.c_str(),
                peer.name.c_str(), ours, median(side->times), median(ratios(sides.front(), *side)),
                peer.at_least, scratch);
    if (agree) {
      std::printf("ok\n");
    } else {
      std::printf("the results are %.1e apart\n", apart);
    }
    ++side;
  }
}

}  // namespace

void measure(const Family& family, const Options& options) {
  for (const Workload& workload : family.workloads) {
    if (options.quick && !workload.quick) continue;
    if ((family.name + " " + workload.name).find(options.only) == std::string::npos) continue;
    try {
      measure(family.name, workload, options.quick);
    } catch (const std::exception& error) {
      std::string problem = error.what();
      std::replace_if(
          problem.begin(), problem.end(), [](char c) { return c < ' '; }, ' ');
      std::printf("%s\t%s\t-\t-\t-\t-\t0\t0\t%s\n", family.name.c_str(), workload.name.c_str(),
                  problem.c_str());
    }
    std::fflush(stdout);
  }
}

double median_time(const std::function<void()>& call, int rounds) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) times.push_back(time_of(call, 1));
  return median(std::move(times));
}

}  // namespace dala::bench
