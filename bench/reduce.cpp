// Reductions along either axis, softmax and layer norm beside plain C++.
#include "bench/bench.hpp"
#include "bench/workload.hpp"

namespace dala::bench {
namespace {

constexpr int64_t kRows = 4096;
constexpr int64_t kColumns = 4096;
constexpr double kAtLeast = 0.9;

// A kernel on a matrix, 16M elements by default, and the same in C++.
Workload workload(const std::string& name, const std::string& kernel, const Shape& output,
                  const Params& params,
                  const std::function<void(const float*, float*, size_t, size_t)>& loop,
                  int64_t rows = kRows, int64_t columns = kColumns) {
  const auto prepare = [=](Bench& bench) {
    const auto x = random_array<float>(static_cast<size_t>(rows * columns));
    const BufferPtr out = bench.output<float>(output);
    const auto result = array<float>(static_cast<size_t>(out->type().count()));
    Trial trial;
    trial.ours = bench.call(kernel, {bench.input(x, {rows, columns})}, out, params);
    trial.peers = {{"C++", kAtLeast, [=] {
                      loop(x->data(), result->data(), static_cast<size_t>(rows),
                           static_cast<size_t>(columns));
                    }}};
    trial.difference = bench.compare(out, result);
    return trial;
  };
  return {name, prepare};
}

const Params kAxis0{{"axis", int64_t{0}}};
const Params kAxis1{{"axis", int64_t{1}}};

}  // namespace

Family reduce_family() {
  const auto whole = [](auto reduce) {
    return [reduce](const float* x, float* out, size_t rows, size_t columns) {
      *out = reduce(x, rows * columns);
    };
  };
  const auto norm = [](const float* x, float* out, size_t rows, size_t columns) {
    plain::layer_norm(x, out, rows, columns, 1e-5f);
  };
  return {
      "reduce",
      {
          workload("sum f32 16M", "reduce_sum", {1}, {}, whole(plain::sum)),
          workload("max f32 16M", "reduce_max", {1}, {}, whole(plain::max)),
          workload("sum f32 4096x4096 rows", "reduce_sum", {kRows}, kAxis1, plain::row_sums),
          workload("sum f32 4096x4096 columns", "reduce_sum", {kColumns}, kAxis0,
                   plain::column_sums),
          workload("sum f32 262144x64 columns", "reduce_sum", {64}, kAxis0, plain::column_sums,
                   262144, 64),
          workload("softmax f32 4096x4096", "softmax", {kRows, kColumns}, {}, plain::softmax),
          workload("softmax f32 16384x1000", "softmax", {16384, 1000}, {}, plain::softmax, 16384,
                   1000),
          workload("layer_norm f32 16384x1024", "layer_norm", {16384, 1024}, {}, norm, 16384, 1024),
      }};
}

}  // namespace dala::bench
