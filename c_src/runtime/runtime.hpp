// The runtime: one device with its memory, programs and scheduler. It includes no Erlang header;
// native tests use it directly.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/config.hpp"
#include "runtime/device/device.hpp"
#include "runtime/memory/buffer.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/memory/readback.hpp"
#include "runtime/process/process_setup.hpp"
#include "runtime/process/worker.hpp"
#include "runtime/program/compiler.hpp"
#include "runtime/program/program.hpp"
#include "runtime/schedule/scheduler.hpp"

namespace dala {

class DiskCache;
class KernelStore;

// Totals since the start, by which tests and users can see that work is not repeated.
struct Counters {
  uint64_t allocations = 0;  // not served from the pool
  uint64_t compiled = 0;     // programs built from source
  uint64_t reads = 0;        // of buffers, by the host
  uint64_t bytes_in = 0;     // copied from the host
  uint64_t bytes_out = 0;    // copied to the host
};

class Runtime {
 public:
  // Chooses and opens a device; throws `no_device`. Slow: for worker threads only. `on_lost` is
  // called once, from any thread, when the device stops responding.
  explicit Runtime(const Config& config, std::function<void(const Error&)> on_lost = nullptr);
  // Calls `stop`. A runtime whose device is lost must not be destroyed: kernels may still be
  // running on its memory.
  ~Runtime();

  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Waits for commands in flight and joins every thread; nothing can be submitted afterwards.
  void stop();

  // Whether a thread of the driver may be compiling.
  bool compiles() const;

  // The process is about to end: finishes running compilations and starts nothing more. Does not
  // wait for the device, nor for the driver's own threads if one of them is ending the process.
  void abandon();

  const Config& config() const { return config_; }
  // The folders for compiled kernels, and for the driver's files.
  const CacheFolders& folders() const { return folders_; }
  const Device& device() const { return device_; }
  ProgramCache& programs() { return programs_; }
  MemoryPool& memory() { return *memory_; }
  Scheduler& scheduler() { return scheduler_; }
  Worker& worker() { return worker_; }
  // For foreign sources, whose builds may take up to the time limit.
  Worker& builder() { return builder_; }

  // New buffers. None of these waits for the device: if the content does not reach it, reading the
  // buffer fails.
  BufferPtr zeros(const TensorType& type);
  // A buffer without memory, for the stages of a pipeline only.
  BufferPtr temporary(const TensorType& type) { return std::make_shared<Buffer>(type); }
  // Copies `type.bytes()` bytes of `data` before it returns, or, if the device can use them in
  // place, keeps `owner`, which keeps `owned` bytes alive.
  BufferPtr from_host(const TensorType& type, const void* data, std::shared_ptr<void> owner,
                      size_t owned = 0);

  // Replaces a buffer's content in the same way; commands submitted before still see the old
  // content. Throws `freed`.
  void write(const BufferPtr& buffer, const void* data, std::shared_ptr<void> owner,
             size_t owned = 0);

  // The bytes of a buffer after all commands submitted so far. The readback is valid once
  // `pending`, if set, has finished.
  struct Read {
    std::shared_ptr<Readback> readback;
    std::optional<CommandId> pending;
  };
  Read read(const BufferPtr& buffer, std::shared_ptr<Client> client);
  // Reads `bytes` bytes from `offset` on, which are within the buffer. They are copied, so that
  // they do not keep the rest of the buffer alive.
  Read read_part(const BufferPtr& buffer, size_t offset, size_t bytes,
                 std::shared_ptr<Client> client);

  Counters counters() const;

  // Blocking forms, for tests and native callers.
  void wait(CommandId id);  // throws the command's error
  std::vector<std::byte> read_now(const BufferPtr& buffer);

 private:
  // Memory that holds these bytes on return; null if a command has to copy them. With `replaces`,
  // it replaces memory of the same size.
  StoragePtr at_once(const TensorType& type, const void* data, std::shared_ptr<void>& owner,
                     size_t owned, bool replaces);
  // Copies bytes from the host into a buffer, as a command.
  void upload(const BufferPtr& buffer, const void* data, std::shared_ptr<void> owner);

  const Config config_;
  const CacheFolders folders_;
  Device device_;
  std::shared_ptr<MemoryPool> memory_;
  const std::shared_ptr<DiskCache> files_;
  const std::shared_ptr<KernelStore> kernels_;  // null unless the driver needs it
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
