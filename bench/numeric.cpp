// Sorting, counting, random numbers and transforms beside C++, FFTW and numpy.
#include "bench/bench.hpp"
#include "bench/numeric_peers.hpp"
#include "bench/peer_process.hpp"
#include "bench/workload.hpp"

namespace dala::bench {
namespace {

constexpr double kOfPlain = 0.9;
constexpr double kOfSort = 1.0;
constexpr double kOfFftw = 0.7;
constexpr double kOfNumpy = 1.0;
constexpr int64_t kSorted = 10'000'000;
constexpr int64_t kMany = 16 << 20;
constexpr int64_t kRows = 4 << 20;
constexpr int64_t kPlaces = 1 << 20;
constexpr int64_t kWidth = 16;

// A kernel of one input, and the same in C++. Integers are compared exactly.
template <typename From, typename To>
Workload plain_workload(const std::string& name, const std::string& kernel, int64_t count,
                        const Shape& output, double at_least,
                        void (*peer)(const From*, To*, size_t), double tolerance = 1e-4) {
  const auto prepare = [=](Bench& bench) {
    const auto x = random_array<From>(static_cast<size_t>(count));
    const BufferPtr out = bench.output<To>(output);
    const auto result = array<To>(static_cast<size_t>(out->type().count()));
    Trial trial;
    trial.ours = bench.call(kernel, {bench.input(x, {count})}, out);
    trial.peers = {
        {"C++", at_least, [=] { peer(x->data(), result->data(), static_cast<size_t>(count)); }}};
    trial.difference = bench.compare(out, result);
    trial.tolerance = tolerance;
    return trial;
  };
  return {name, prepare};
}

Workload fft_workload(const std::string& name, const Shape& shape, const Params& params,
                      const std::vector<int>& dimensions, int batch) {
  const auto prepare = [=](Bench& bench) {
    Shape pairs = shape;
    pairs.push_back(2);
    const BufferPtr out = bench.output<float>(pairs);
    const auto count = static_cast<size_t>(out->type().count());
    const auto x = random_array<float>(count);
    const auto result = array<float>(count);
    Trial trial;
    trial.ours = bench.call("fft", {bench.input(x, pairs)}, out, params);
    const std::function<void()> fftw = fftw_transform(dimensions, batch, x->data(), result->data());
    // What the functions work on lives as long as they do.
    trial.peers = {{"FFTW", kOfFftw, {}}};
    if (fftw) {
      trial.peers[0].run = [fftw, x, result] { fftw(); };
      trial.difference = bench.compare(out, result);
    }
    return trial;
  };
  return {name, prepare};
}

// Numbers of the same kind: what can be compared is their mean and deviation.
Workload normal_workload() {
  const auto prepare = [](Bench& bench) {
    const BufferPtr out = bench.output<float>({kMany});
    Trial trial;
    trial.ours = bench.call("random_normal", {}, out, {{"seed", int64_t{1}}});
    trial.peers = {{"numpy", kOfNumpy, {}}};
    if (const auto numpy = PeerProcess::numpy()) {
      numpy->load("normal", "", {kMany});
      trial.peers[0].name = numpy->name();
      trial.peers[0].timed = [numpy](int calls) { return numpy->time_of(calls); };
    }
    trial.difference = [&bench, out] {
      const std::vector<std::byte> bytes = bench.engine().runtime().read_now(out);
      const auto* x = reinterpret_cast<const float*>(bytes.data());
      double sum = 0;
      double squares = 0;
      for (int64_t i = 0; i < kMany; ++i) {
        sum += x[i];
        squares += static_cast<double>(x[i]) * x[i];
      }
      const auto count = static_cast<double>(kMany);
      return std::abs(sum / count) + std::abs(squares / count - 1);
    };
    trial.tolerance = 2e-3;
    return trial;
  };
  return {"random normal f32 16M", prepare};
}

// Numbers below `most`, without a pattern.
ArrayPtr<int32_t> random_places(size_t count, int64_t most) {
  auto places = std::make_shared<Array<int32_t>>(count);
  uint64_t state = 99;
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    (*places)[i] = static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(most));
  }
  return places;
}

Workload take_workload() {
  const auto prepare = [](Bench& bench) {
    const auto table = random_array<float>(static_cast<size_t>(kPlaces * kWidth));
    const auto rows = random_places(static_cast<size_t>(kRows), kPlaces);
    const BufferPtr out = bench.output<float>({kRows, kWidth});
    const auto result = array<float>(static_cast<size_t>(kRows * kWidth));
    Trial trial;
    trial.ours =
        bench.call("take", {bench.input(table, {kPlaces, kWidth}), bench.input(rows, {kRows})}, out,
                   {{"axis", int64_t{0}}});
    trial.peers = {{"C++", kOfPlain, [=] {
                      plain::take_rows(table->data(), rows->data(), result->data(),
                                       static_cast<size_t>(kRows), static_cast<size_t>(kWidth));
                    }}};
    trial.difference = bench.compare(out, result);
    return trial;
  };
  return {"take f32 4M rows of 16", prepare};
}

Workload scatter_workload() {
  const auto prepare = [](Bench& bench) {
    const auto places = random_places(static_cast<size_t>(kMany), kPlaces);
    const auto x = random_array<float>(static_cast<size_t>(kMany));
    const auto zeros = array<float>(static_cast<size_t>(kPlaces));
    const BufferPtr out = bench.output<float>({kPlaces});
    const auto result = array<float>(static_cast<size_t>(kPlaces));
    Trial trial;
    trial.ours = bench.call(
        "scatter_add",
        {bench.input(zeros, {kPlaces}), bench.input(places, {kMany, 1}), bench.input(x, {kMany})},
        out);
    trial.peers = {{"C++", kOfPlain, [=] {
                      plain::scatter_add(places->data(), x->data(), result->data(),
                                         static_cast<size_t>(kMany), static_cast<size_t>(kPlaces));
                    }}};
    trial.difference = bench.compare(out, result);
    return trial;
  };
  return {"scatter_add f32 16M to 1M", prepare};
}

}  // namespace

Family numeric_family() {
  return {"numeric",
          {
              plain_workload<float, float>("sort f32 10M", "sort", kSorted, {kSorted}, kOfSort,
                                           plain::sort, 0),
              plain_workload<float, int32_t>("argsort f32 10M", "argsort", kSorted, {kSorted},
                                             kOfSort, plain::argsort, 0),
              plain_workload<float, float>("cumulative sum f32 16M", "cumulative_sum", kMany,
                                           {kMany}, kOfPlain, plain::cumulative_sum),
              plain_workload<uint8_t, uint32_t>("bincount u8 16M, 256 bins", "bincount", kMany,
                                                {256}, kOfPlain, plain::bincount, 0),
              fft_workload("fft c64 1024 x 4096", {4096, 1024}, {}, {1024}, 4096),
              fft_workload("fft c64 2^20", {1 << 20}, {}, {1 << 20}, 1),
              fft_workload("fft c64 1000x1000, both axes", {1000, 1000},
                           {{"axes", std::vector<double>{0, 1}}}, {1000, 1000}, 1),
              normal_workload(),
              take_workload(),
              scatter_workload(),
          }};
}

}  // namespace dala::bench
