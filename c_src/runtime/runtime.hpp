// The runtime as a whole: one device with its memory, programs and scheduler. It knows nothing of
// Erlang; native tests use it directly.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/buffer.hpp"
#include "runtime/compiler.hpp"
#include "runtime/config.hpp"
#include "runtime/device.hpp"
#include "runtime/memory_pool.hpp"
#include "runtime/process_setup.hpp"
#include "runtime/program.hpp"
#include "runtime/readback.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/worker.hpp"

namespace dala {

class DiskCache;
class KernelStore;

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
  // Chooses a device; throws `no_device`. Takes a while: for worker threads only. `on_lost` is told
  // once, from any thread, when the device does not come back from a command.
  explicit Runtime(const Config& config, std::function<void(const Error&)> on_lost = nullptr);
  // Waits for what is on the device and joins every thread. A runtime whose device is lost must not
  // be destroyed: kernels may still be running on its memory.
  ~Runtime();

  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Waits for what is on the device and joins every thread; nothing can be submitted from then on.
  void stop();

  // The process is about to end: finishes what is being compiled and starts nothing more. Does
  // not wait for the device, nor, where the driver itself ends the process, for its own threads.
  void abandon();

  const Config& config() const { return config_; }
  // Where compiled kernels are kept, and where the driver works.
  const CacheFolders& folders() const { return folders_; }
  const Device& device() const { return device_; }
  ProgramCache& programs() { return programs_; }
  MemoryPool& memory() { return *memory_; }
  Scheduler& scheduler() { return scheduler_; }
  Worker& worker() { return worker_; }
  // For sources that are not ours, which may take as long as a build may.
  Worker& builder() { return builder_; }

  // New buffers. None of these waits for the device: when the content does not reach it, the error
  // is that of whoever reads the buffer.
  BufferPtr zeros(const TensorType& type);
  // One that has no memory, for the stages of a pipeline only.
  BufferPtr temporary(const TensorType& type) { return std::make_shared<Buffer>(type); }
  // `data` is copied before the call returns, or kept alive by `owner` and then used in place
  // where the device can do that. `type.bytes()` bytes, of `owned` that the owner keeps alive.
  BufferPtr from_host(const TensorType& type, const void* data, std::shared_ptr<void> owner,
                      size_t owned = 0);

  // Gives a buffer new content, in the same way and without an effect on commands submitted
  // before. Throws `freed`.
  void write(const BufferPtr& buffer, const void* data, std::shared_ptr<void> owner,
             size_t owned = 0);

  // The bytes of a buffer as they are after everything submitted so far. The readback is good to
  // use once `pending`, if any, has finished.
  struct Read {
    std::shared_ptr<Readback> readback;
    std::optional<CommandId> pending;
  };
  Read read(const BufferPtr& buffer, std::shared_ptr<Client> client);
  // The same of `bytes` bytes from `offset` on, which are within the buffer. They are copied, so
  // that they keep no other bytes of the buffer alive.
  Read read_part(const BufferPtr& buffer, size_t offset, size_t bytes,
                 std::shared_ptr<Client> client);

  Counters counters() const;

  // Blocking forms, for tests and native callers.
  void wait(CommandId id);  // throws the command's error
  std::vector<std::byte> read_now(const BufferPtr& buffer);

 private:
  // Memory that holds these bytes already; null where the device has to be asked to copy them.
  // `replaces`: it takes the place of memory of the same size.
  StoragePtr at_once(const TensorType& type, const void* data, std::shared_ptr<void>& owner,
                     size_t owned, bool replaces);
  // Copies bytes from the host into a buffer, as a command.
  void upload(const BufferPtr& buffer, const void* data, std::shared_ptr<void> owner);

  const Config config_;
  const CacheFolders folders_;
  Device device_;
  std::shared_ptr<MemoryPool> memory_;
  const std::shared_ptr<DiskCache> files_;
  const std::shared_ptr<KernelStore> kernels_;  // null where the driver does not need it
  Compiler compiler_;
  ProgramCache programs_;
  Worker worker_;
  Worker builder_;
  Scheduler scheduler_;
  std::atomic<uint64_t> reads_{0};
  std::atomic<uint64_t> bytes_in_{0};
  std::atomic<uint64_t> bytes_out_{0};
};

}  // namespace dala
