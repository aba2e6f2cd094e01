// Permutations of dimensions beside C++ in blocks.
#include "bench/bench.hpp"
#include "bench/workload.hpp"

namespace dala::bench {
namespace {

constexpr double kAtLeast = 0.9;

Workload workload(const std::string& name, const Shape& from, const Shape& to,
                  std::vector<double> axes, const std::function<void(const float*, float*)>& loop) {
  const auto prepare = [=](Bench& bench) {
    const BufferPtr out = bench.output<float>(to);
    const auto count = static_cast<size_t>(out->type().count());
    const auto x = random_array<float>(count);
    const auto result = array<float>(count);
    Trial trial;
    trial.ours = bench.call("transpose", {bench.input(x, from)}, out, {{"axes", axes}});
    trial.peers = {{"C++", kAtLeast, [=] { loop(x->data(), result->data()); }}};
    trial.difference = bench.compare(out, result);
    return trial;
  };
  return {name, prepare};
}

}  // namespace

Family transpose_family() {
  return {
      "transpose",
      {
          workload("f32 4096x4096", {4096, 4096}, {4096, 4096}, {1, 0},
                   [](const float* x, float* out) { plain::transpose(x, out, 4096, 4096); }),
          workload("f32 3000x5000", {3000, 5000}, {5000, 3000}, {1, 0},
                   [](const float* x, float* out) { plain::transpose(x, out, 3000, 5000); }),
          workload("f32 image to planes", {1080, 1920, 3}, {3, 1080, 1920}, {2, 0, 1},
                   [](const float* x, float* out) { plain::transpose(x, out, 1080 * 1920, 3); }),
          workload("f32 64x512x512 to 512x64x512", {64, 512, 512}, {512, 64, 512}, {1, 0, 2},
                   [](const float* x, float* out) { plain::swap_outer(x, out, 64, 512, 512); }),
          workload("f32 64x512x512 reversed", {64, 512, 512}, {512, 512, 64}, {2, 1, 0},
                   [](const float* x, float* out) { plain::reverse(x, out, 64, 512, 512); }),
      }};
}

}  // namespace dala::bench
