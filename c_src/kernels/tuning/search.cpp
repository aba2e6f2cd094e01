#include "kernels/tuning/search.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/program/disk_cache.hpp"

namespace dala {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kWorthwhile = 0.97;  // of the vendor's time; less is noise
constexpr int kMostRuns = 7;
constexpr double kEnough = 100e3;  // microseconds of measuring per candidate
constexpr double kHopeless = 2;    // times the best: one run is enough

struct Sample {
  ShapeClass shape_class;
  std::string kernel;
  std::vector<Shape> inputs;
  Shape output;
  Params params;
};

// Sums of at most 2^20 small integers, which are exact in any order.
const std::vector<Sample>& samples() {
  static const auto* all = new std::vector<Sample>{
      {ShapeClass::matmul_few_rows, "matmul", {{8, 1024}, {1024, 1024}}, {8, 1024}, {}},
      {ShapeClass::matmul_small, "matmul", {{192, 192}, {192, 192}}, {192, 192}, {}},
      {ShapeClass::matmul_large, "matmul", {{1024, 1024}, {1024, 1024}}, {1024, 1024}, {}},
      {ShapeClass::conv_pointwise,
       "conv2d",
       {{1, 128, 28, 28}, {256, 128, 1, 1}},
       {1, 256, 28, 28},
       {}},
      {ShapeClass::conv_window,
       "conv2d",
       {{1, 64, 56, 56}, {64, 64, 3, 3}},
       {1, 64, 56, 56},
       {{"pad", int64_t{1}}}},
      {ShapeClass::reduce_rows, "reduce_sum", {{2048, 1024}}, {2048}, {{"axis", int64_t{1}}}},
      {ShapeClass::reduce_columns, "reduce_sum", {{2048, 1024}}, {1024}, {{"axis", int64_t{0}}}},
  };
  return *all;
}

std::string call_text(const Sample& sample) {
  std::string call = sample.kernel;
  for (const Shape& shape : sample.inputs) call += text(" ", to_string(shape));
  for (const auto& [name, value] : sample.params) call += text(" ", name, ": ", to_string(value));
  return call;
}

std::vector<TileChoice> candidates(ShapeClass shape_class) {
  std::vector<TileChoice> all;
  if (is_reduction(shape_class)) {
    for (int64_t items : {64, 128, 256, 512}) all.push_back({.items = items});
    return all;
  }
  const bool thin = shape_class == ShapeClass::matmul_few_rows;
  for (int64_t side : {16, 8}) {
    for (int64_t step : {16, 8, 32}) {
      for (int64_t edge : {8, 4}) {
        // Large register tiles need work-groups of 16 x 16; few rows have a tile of their own.
        if (edge == 8 && (side != 16 || thin)) continue;
        all.push_back({.side = side, .step = step, .edge = edge});
      }
    }
  }
  return all;
}

BufferPtr operand(Runtime& runtime, const Shape& shape, uint32_t seed) {
  const TensorType type = checked_type(DType::f32, shape);
  auto data = std::make_shared<std::vector<float>>(static_cast<size_t>(type.count()));
  for (float& element : *data) {
    seed = seed * 1664525u + 1013904223u;
    element = static_cast<float>(static_cast<int>(seed >> 24) % 9 - 4);
  }
  return runtime.from_host(type, data->data(), data, type.bytes());
}

struct Measured {
  double us = 0;
  std::vector<std::byte> result;
};

class Search {
 public:
  Search(Engine& engine, const Sample& sample) : engine_(engine), sample_(sample) {
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      inputs_.push_back(operand(engine.runtime(), sample.inputs[i], static_cast<uint32_t>(i + 1)));
    }
  }

  // Runs longer than `best` allows are not repeated.
  Measured measure(const TileChoice& choice, double best) {
    Runtime& runtime = engine_.runtime();
    const BufferPtr output = runtime.zeros(checked_type(DType::f32, sample_.output));
    const Stage stage = [&] {
      const TileTrial trial(choice);
      return engine_.stage(sample_.kernel, inputs_, output, sample_.params);
    }();
    Measured measured;
    double total = 0;
    // The first run compiles.
    for (int run = -1; run < kMostRuns; ++run) {
      const auto start = Clock::now();
      runtime.wait(runtime.scheduler().submit({stage}, nullptr, nullptr));
      const double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
      if (run < 0) {
        measured.result = runtime.read_now(output);
        continue;
      }
      measured.us = run == 0 ? us : std::min(measured.us, us);
      total += us;
      if (total > kEnough || (best > 0 && measured.us > kHopeless * best)) break;
    }
    return measured;
  }

  // None if it is `over` before all candidates were measured.
  std::optional<TuneResult> run(const std::function<bool()>& over) {
    const TileChoice usual = vendor_choice(engine_.runtime().device().info());
    const Measured reference = measure(usual, 0);
    TuneResult result{sample_.shape_class, call_text(sample_), usual, usual,
                      reference.us,        reference.us,       0,     0};
    double best = kWorthwhile * reference.us;
    for (const TileChoice& candidate : candidates(sample_.shape_class)) {
      if (describe(sample_.shape_class, candidate) == describe(sample_.shape_class, usual))
        continue;
      if (over()) return std::nullopt;
      try {
        const Measured measured = measure(candidate, best);
        ++result.tried;
        if (measured.result != reference.result) {
          ++result.rejected;
        } else if (measured.us < best) {
          best = measured.us;
          result.after = candidate;
          result.after_us = measured.us;
        }
      } catch (const Error&) {
        ++result.rejected;
      }
    }
    return result;
  }

 private:
  Engine& engine_;
  const Sample& sample_;
  std::vector<BufferPtr> inputs_;
};

}  // namespace

std::vector<TuneResult> tune(Engine& engine, std::chrono::milliseconds limit,
                             const std::function<void(const TuneStep&)>& tell,
                             const std::function<bool()>& cancelled) {
  Runtime& runtime = engine.runtime();
  const DeviceInfo& device = runtime.device().info();
  if (runtime.device().device_class() == DeviceClass::cpu) {
    throw Error(Reason::unsupported,
                text("tuning is for kernels of the GPU family; ", device.name,
                     " runs those of the CPU family (device_class: :gpu selects the other)"));
  }
  DiskCache files(runtime.folders().store.folder, 0);
  const auto over = [&, end = Clock::now() + limit] { return Clock::now() >= end || cancelled(); };
  std::vector<TuneResult> results;
  for (size_t i = 0; i < samples().size(); ++i) {
    const Sample& sample = samples()[i];
    tell({i, samples().size(), to_string(sample.shape_class)});
    if (over()) break;
    std::optional<TuneResult> result = Search(engine, sample).run(over);
    if (!result) break;
    set_winner(device, sample.shape_class, result->after);
    save_winners(device, files);
    results.push_back(std::move(*result));
  }
  return results;
}

}  // namespace dala
