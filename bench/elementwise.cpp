// Elementwise kernels, casts and fill beside plain C++: all of them are bound by memory, but for
// pow.
#include "bench/bench.hpp"
#include "bench/workload.hpp"

namespace dala::bench {
namespace {

constexpr int64_t kMillion = 1024 * 1024;
constexpr double kAtLeast = 1.0;

std::string title(const std::string& what, int64_t count) {
  return what + " " + std::to_string(count / kMillion) + "M";
}

// A kernel of one or two inputs of type From, and the same as a plain loop.
template <typename From, typename To>
Workload workload(const std::string& title, const std::string& kernel, int inputs, int64_t count,
                  const Params& params,
                  const std::function<void(const From*, const From*, To*, size_t)>& loop,
                  bool quick) {
  const auto prepare = [=](Bench& bench) {
    const auto n = static_cast<size_t>(count);
    const auto a = random_array<From>(n);
    const auto b = inputs == 2 ? random_array<From>(n) : a;
    const auto result = array<To>(n);
    const BufferPtr out = bench.output<To>({count});
    std::vector<BufferPtr> sources;
    if (inputs > 0) sources.push_back(bench.input(a, {count}));
    if (inputs > 1) sources.push_back(bench.input(b, {count}));
    Trial trial;
    trial.ours = bench.call(kernel, sources, out, params);
    trial.peers = {
        {"C++", kAtLeast, [=] { loop(a->data(), b->data(), result->data(), result->size()); }}};
    trial.difference = bench.compare(out, result);
    return trial;
  };
  return {title, prepare, quick};
}

template <typename T>
Workload add(int64_t count, bool quick) {
  return workload<T, T>(
      title(std::is_same_v<T, float> ? "add f32" : "add u8", count), "elementwise_add", 2, count,
      {}, [](const T* a, const T* b, T* out, size_t n) { plain::add(a, b, out, n); }, quick);
}

template <typename T>
Workload relu(int64_t count, bool quick) {
  return workload<T, T>(
      title(std::is_same_v<T, float> ? "relu f32" : "relu u8", count), "relu", 1, count, {},
      [](const T* x, const T*, T* out, size_t n) { plain::relu(x, out, n); }, quick);
}

template <typename T>
Workload scale(int64_t count, bool quick) {
  return workload<T, T>(
      title(std::is_same_v<T, float> ? "scale f32" : "scale u8", count), "scalar_mul", 1, count,
      {{"scalar", int64_t{3}}},
      [](const T* x, const T*, T* out, size_t n) { plain::scale(x, T{3}, out, n); }, quick);
}

Workload fill() {
  return workload<float, float>(
      title("fill f32", 16 * kMillion), "fill", 0, 16 * kMillion, {{"value", 1.5}},
      [](const float*, const float*, float* out, size_t n) { plain::fill(1.5f, out, n); }, true);
}

Workload power() {
  return workload<float, float>(
      title("pow f32", kMillion), "elementwise_pow", 2, kMillion, {},
      [](const float* a, const float* b, float* out, size_t n) { plain::power(a, b, out, n); },
      true);
}

Workload to_float() {
  return workload<uint8_t, float>(
      title("cast u8 to f32", 16 * kMillion), "cast", 1, 16 * kMillion, {},
      [](const uint8_t* x, const uint8_t*, float* out, size_t n) { plain::to_float(x, out, n); },
      true);
}

Workload to_byte() {
  return workload<float, uint8_t>(
      title("cast f32 to u8", 16 * kMillion), "cast", 1, 16 * kMillion, {},
      [](const float* x, const float*, uint8_t* out, size_t n) { plain::to_byte(x, out, n); },
      true);
}

}  // namespace

Family elementwise_family() {
  Family family{"elementwise", {}};
  for (int64_t count : {16 * kMillion, 64 * kMillion}) {
    const bool small = count == 16 * kMillion;
    family.workloads.insert(
        family.workloads.end(),
        {add<float>(count, true), relu<float>(count, small), scale<float>(count, small),
         add<uint8_t>(count, small), relu<uint8_t>(count, small), scale<uint8_t>(count, true)});
  }
  family.workloads.insert(family.workloads.end(), {fill(), to_float(), to_byte(), power()});
  return family;
}

}  // namespace dala::bench
