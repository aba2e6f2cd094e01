// The runtime as a whole: one device with its memory, programs and scheduler. It knows nothing of
// Erlang; native tests use it directly.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/buffer.hpp"
#include "runtime/config.hpp"
#include "runtime/device.hpp"
#include "runtime/memory_pool.hpp"
#include "runtime/program.hpp"
#include "runtime/readback.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/worker.hpp"

namespace dala {

// What was done since the start, for those who want to see that something is not done again.
struct Counters {
  uint64_t allocations = 0;  // of memory that the pool did not have
  uint64_t compiled = 0;     // programs, from source
  uint64_t reads = 0;        // of buffers by the host
  uint64_t bytes_in = 0;     // copied from the host
  uint64_t bytes_out = 0;    // copied to the host
};

class Runtime {
 public:
  // Chooses a device; throws `no_device`. Takes a while: for worker threads only.
  explicit Runtime(const Config& config);
  ~Runtime();  // waits for what is on the device, joins every thread

  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // The process is about to end: finishes what is being compiled and starts nothing more. Does
  // not wait for the device.
  void abandon();

  const Config& config() const { return config_; }
  const Device& device() const { return device_; }
  ProgramCache& programs() { return programs_; }
  MemoryPool& memory() { return *memory_; }
  Scheduler& scheduler() { return scheduler_; }
  Worker& worker() { return worker_; }

  // New buffers. None of these waits for the device.
  BufferPtr zeros(const TensorType& type);
  // One that has no memory, for the stages of a pipeline only.
  BufferPtr temporary(const TensorType& type) { return std::make_shared<Buffer>(type); }
  // `data` is copied before the call returns, or kept alive by `owner` and then used in place
  // where the device can do that. `type.bytes()` bytes.
  BufferPtr from_host(const TensorType& type, const void* data, std::shared_ptr<void> owner);

  // Gives a buffer new content, in the same way and without an effect on commands submitted
  // before. Throws `freed`.
  void write(const BufferPtr& buffer, const void* data, std::shared_ptr<void> owner);

  // The bytes of a buffer as they are after everything submitted so far. The readback is good to
  // use once `pending`, if any, has finished.
  struct Read {
    std::shared_ptr<Readback> readback;
    std::optional<CommandId> pending;
  };
  Read read(const BufferPtr& buffer, std::shared_ptr<Client> client);

  Counters counters() const;

  // Blocking forms, for tests and native callers.
  void wait(CommandId id);  // throws the command's error
  std::vector<std::byte> read_now(const BufferPtr& buffer);

 private:
  // Memory that holds these bytes already; null where the device has to be asked to copy them.
  StoragePtr at_once(const TensorType& type, const void* data, std::shared_ptr<void>& owner);
  // Copies bytes from the host into a buffer, as a command.
  void upload(const BufferPtr& buffer, const void* data, std::shared_ptr<void> owner);

  const Config config_;
  Device device_;
  std::shared_ptr<MemoryPool> memory_;
  ProgramCache programs_;
  Worker worker_;
  Scheduler scheduler_;
  std::atomic<uint64_t> reads_{0};
  std::atomic<uint64_t> bytes_in_{0};
  std::atomic<uint64_t> bytes_out_{0};
};

}  // namespace dala
