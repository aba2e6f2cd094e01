// One engine for the whole test process, and shorthands for calling kernels on it.
#pragma once

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kernels/engine.hpp"
#include "runtime/config.hpp"
#include "runtime/error.hpp"

namespace dala::test {

// Created at first use, with the settings of the environment. `main` destroys it: when statics are
// destroyed, the thread-local data of drivers is already gone, and Oclgrind still writes to it.
inline std::unique_ptr<Engine>& engine_of_process() {
  static std::unique_ptr<Engine> instance;
  return instance;
}

inline Engine& engine() {
  static std::once_flag once;
  std::call_once(
      once, [] { engine_of_process() = std::make_unique<Engine>(with_environment(Config{})); });
  return *engine_of_process();
}

// Small sizes only: for interpreters such as Oclgrind.
inline bool quick() {
  const char* value = std::getenv("DALA_TEST_QUICK");
  return value != nullptr && std::string(value) == "1";
}

template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, double>) return DType::f64;
  if constexpr (std::is_same_v<T, int32_t>) return DType::s32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::s64;
  if constexpr (std::is_same_v<T, uint32_t>) return DType::u32;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::u8;
  if constexpr (std::is_same_v<T, int8_t>) return DType::s8;
  if constexpr (std::is_same_v<T, int16_t>) return DType::s16;
  if constexpr (std::is_same_v<T, uint16_t>) return DType::u16;
  if constexpr (std::is_same_v<T, uint64_t>) return DType::u64;
}

inline BufferPtr buffer_of_bytes(const TensorType& type, std::vector<std::byte> bytes) {
  auto owner = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  return engine().runtime().from_host(type, owner->data(), owner);
}

template <typename T>
BufferPtr buffer(const std::vector<T>& elements, Shape shape) {
  std::vector<std::byte> bytes(elements.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  return buffer_of_bytes(checked_type(dtype_of<T>(), std::move(shape)), std::move(bytes));
}

template <typename T>
BufferPtr buffer(const std::vector<T>& elements) {
  return buffer(elements, {static_cast<int64_t>(elements.size())});
}

inline BufferPtr zeros(DType dtype, Shape shape) {
  return engine().runtime().zeros(checked_type(dtype, std::move(shape)));
}

template <typename T>
std::vector<T> read(const BufferPtr& buffer) {
  const std::vector<std::byte> bytes = engine().runtime().read_now(buffer);
  std::vector<T> elements(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

// Submits a kernel call.
inline CommandId submit(const std::string& kernel, const std::vector<BufferPtr>& inputs,
                        const BufferPtr& output, const Params& params = {}) {
  const Stage stage = engine().stage(kernel, inputs, output, params);
  return engine().runtime().scheduler().submit({stage}, nullptr, nullptr);
}

// Runs a kernel and waits for it; throws its error.
inline void run(const std::string& kernel, const std::vector<BufferPtr>& inputs,
                const BufferPtr& output, const Params& params = {}) {
  engine().runtime().wait(submit(kernel, inputs, output, params));
}

// Bytes of device memory in use, once that number stays the same for some milliseconds: memory of
// commands that have just ended is freed on other threads.
inline uint64_t in_use() {
  const auto bytes = [] { return engine().runtime().memory().info().in_use; };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  uint64_t seen = bytes();
  for (int same = 0; same < 3 && std::chrono::steady_clock::now() < end;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    same = bytes() == seen ? same + 1 : 0;
    seen = bytes();
  }
  return seen;
}

// The error that an action throws, if any.
inline std::optional<Error> error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

// The error of an action that must throw one.
inline Error must_fail(const std::function<void()>& action) {
  const std::optional<Error> error = error_of(action);
  if (!error) throw std::logic_error("expected an Error");
  return *error;
}

// The error as "reason: message", or "no error".
inline std::string failure(const std::function<void()>& action) {
  const std::optional<Error> error = error_of(action);
  return error ? text(to_string(error->reason), ": ", error->message) : "no error";
}

}  // namespace dala::test
