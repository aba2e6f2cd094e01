// What workloads are made with: an engine, data that both sides read, commands, and results to
// compare.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bench/plain.hpp"
#include "kernels/engine.hpp"
#include "runtime/config.hpp"
#include "runtime/memory/host_memory.hpp"

namespace dala::bench {

// Memory of the kind that buffers have, huge pages included: a peer is not to lose for its pages.
template <typename T>
class Array {
 public:
  explicit Array(size_t count)
      : count_(count), data_(reinterpret_cast<T*>(allocate_host(bytes()).data)) {}
  ~Array() { free_host(reinterpret_cast<std::byte*>(data_), bytes()); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* data() const { return data_; }
  size_t size() const { return count_; }
  T& operator[](size_t i) const { return data_[i]; }

 private:
  size_t bytes() const { return (count_ * sizeof(T) + 4095) / 4096 * 4096; }

  const size_t count_;
  T* const data_;
};
template <typename T>
using ArrayPtr = std::shared_ptr<Array<T>>;

template <typename T>
ArrayPtr<T> array(size_t count) {
  auto result = std::make_shared<Array<T>>(count);
  std::memset(result->data(), 0, count * sizeof(T));
  return result;
}

// Numbers without a pattern: floats of [-1, 1), bytes of any value.
template <typename T>
ArrayPtr<T> random_array(size_t count) {
  auto result = std::make_shared<Array<T>>(count);
  uint32_t state = 12345;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    if constexpr (std::is_floating_point_v<T>) {
      (*result)[i] = static_cast<T>(static_cast<int32_t>(state)) / static_cast<T>(2147483648.0);
    } else {
      (*result)[i] = static_cast<T>(state >> 24);
    }
  }
  return result;
}

template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, double>) return DType::f64;
  if constexpr (std::is_same_v<T, int32_t>) return DType::s32;
  if constexpr (std::is_same_v<T, uint32_t>) return DType::u32;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::u8;
}

class Bench {
 public:
  explicit Bench(const Config& config) : engine_(config) {}

  Engine& engine() { return engine_; }
  MemoryInfo memory() { return engine_.runtime().memory().info(); }

  // A buffer on the very bytes that the peer reads.
  template <typename T>
  BufferPtr input(const ArrayPtr<T>& data, Shape shape) {
    return engine_.runtime().from_host(checked_type(dtype_of<T>(), std::move(shape)), data->data(),
                                       data);
  }
  template <typename T>
  BufferPtr output(Shape shape) {
    return engine_.runtime().zeros(checked_type(dtype_of<T>(), std::move(shape)));
  }

  // A call as any native caller makes it: validated, planned, submitted, waited for.
  std::function<void()> call(const std::string& kernel, const std::vector<BufferPtr>& inputs,
                             const BufferPtr& output, const Params& params = {}) {
    return [this, kernel, inputs, output, params] {
      run({engine_.stage(kernel, inputs, output, params)});
    };
  }
  void run(const std::vector<Stage>& stages) {
    engine_.runtime().wait(engine_.runtime().scheduler().submit(stages, nullptr, nullptr));
  }

  // The largest difference between our elements and the peer's, relative to the largest of them.
  template <typename T>
  std::function<double()> compare(const BufferPtr& ours, const ArrayPtr<T>& theirs) {
    return [this, ours, theirs] {
      const std::vector<std::byte> bytes = engine_.runtime().read_now(ours);
      const T* data = reinterpret_cast<const T*>(bytes.data());
      double apart = 0;
      double largest = 1e-30;
      for (size_t i = 0; i < theirs->size(); ++i) {
        apart = std::max(apart, std::abs(static_cast<double>(data[i]) - (*theirs)[i]));
        largest = std::max(largest, std::abs(static_cast<double>((*theirs)[i])));
      }
      return apart / largest;
    };
  }

 private:
  Engine engine_;
};

}  // namespace dala::bench
