#include "runtime/runtime.hpp"

#include <future>
#include <utility>

#include "runtime/device/thread_placement.hpp"
#include "runtime/error.hpp"
#include "runtime/process/signals.hpp"
#include "runtime/program/disk_cache.hpp"
#include "runtime/program/kernel_store.hpp"

namespace dala {
namespace {

constexpr size_t kSmall = 64 * 1024;  // cheaper to copy or clear at once than to enqueue
constexpr size_t kMostBuilders = 8;   // concurrent compiler processes
constexpr size_t kBorrowFrom =
    4 * 1024;  // smaller binaries are copied, which costs less than tracking

Device open_device(const Config& config, const CacheFolders& folders) {
  try {
    Device device(choose(survey(), config.device), config);
    restore_signal_handlers();
    return device;
  } catch (Error& error) {
    restore_signal_handlers();
    // PoCL then has no device, and gives no reason.
    if (folders.work.path().empty()) error.message += text(" ", folders.note());
    throw;
  }
}

std::shared_ptr<KernelStore> open_store(const Device& device, const CacheFolders& folders,
                                        const std::shared_ptr<DiskCache>& files) {
  if (!device.loads_kernels_from_files()) return nullptr;
  return std::make_shared<KernelStore>(files, folders.work);
}

std::shared_ptr<const Launch> single_step(Step step, size_t bytes, bool fills) {
  auto launch = std::make_shared<Launch>();
  launch->fills = fills;
  launch->steps.push_back(std::move(step));
  launch->work = static_cast<double>(bytes);
  return launch;
}

}  // namespace

Runtime::Runtime(const Config& config, std::function<void(const Error&)> on_lost)
    : config_(config),
      folders_(prepare_process(config)),
      device_(open_device(config, folders_)),
      memory_(std::make_shared<MemoryPool>(device_, config.memory_limit)),
      files_(std::make_shared<DiskCache>(folders_.store.folder, config.cache_limit)),
      kernels_(open_store(device_, folders_, files_)),
      compiler_(device_, std::chrono::milliseconds(config.build_timeout)),
      programs_(device_, {files_, kernels_}, &compiler_),
      worker_("dala_worker", 2),
      builder_("dala_builder", 0, kMostBuilders),
      scheduler_(device_, *memory_, worker_, builder_,
                 std::chrono::milliseconds(config.kernel_timeout), std::move(on_lost), kernels_) {}

Runtime::~Runtime() {
  stop();
  memory_->close();
}

void Runtime::stop() {
  // The order matters: running commands may need the worker, and jobs refer to the scheduler.
  compiler_.stop();
  scheduler_.stop();
  builder_.stop();
  worker_.stop();
  if (kernels_ == nullptr) return;
  kernels_->stop();
  kernels_->leave();
}

bool Runtime::compiles() const { return kernels_ != nullptr && kernels_->compiles(); }

void Runtime::abandon() {
  compiler_.stop();
  // A driver that aborts calls exit() in the middle of a build, while it holds its locks.
  if (is_this_thread_among(device_.info().threads)) return;
  scheduler_.abandon();
  const bool built = builder_.abandon();
  if (!worker_.abandon() || !built || kernels_ == nullptr) return;
  kernels_->stop();
  if (scheduler_.idle()) kernels_->leave();
}

BufferPtr Runtime::zeros(const TensorType& type) {
  const size_t bytes = type.bytes();
  StoragePtr storage = memory_->allocate(bytes);
  auto buffer = std::make_shared<Buffer>(type, storage);
  if (bytes == 0 || storage->zeroed()) return buffer;
  if (storage->host() != nullptr && bytes <= kSmall) {
    std::memset(storage->host(), 0, bytes);
    return buffer;
  }
  scheduler_.submit(
      {Stage{single_step(FillStep{output(), value(uint8_t{0}), bytes}, bytes, true), {}, buffer}},
      nullptr, nullptr);
  return buffer;
}

StoragePtr Runtime::at_once(const TensorType& type, const void* data, std::shared_ptr<void>& owner,
                            size_t owned, bool replaces) {
  const size_t bytes = type.bytes();
  const bool shares = device_.shares_host_memory();
  const bool aligned = reinterpret_cast<uintptr_t>(data) % size_of(type.dtype) == 0;
  if (shares && aligned && owner != nullptr && bytes >= kBorrowFrom) {
    return memory_->borrow(data, bytes, std::move(owner), owned, replaces);
  }
  if (bytes == 0) return memory_->allocate(0);
  if (!shares || (owner != nullptr && bytes > kSmall)) return nullptr;
  StoragePtr storage = memory_->allocate(bytes);
  std::memcpy(storage->host(), data, bytes);
  bytes_in_ += bytes;
  return storage;
}

void Runtime::upload(const BufferPtr& buffer, const void* data, std::shared_ptr<void> owner) {
  const size_t bytes = buffer->type().bytes();
  bytes_in_ += bytes;
  if (owner == nullptr) {
    auto copy = std::make_shared<std::vector<std::byte>>(bytes);
    std::memcpy(copy->data(), data, bytes);
    data = copy->data();
    owner = std::move(copy);
  }
  HostCopyStep write{HostCopyStep::Direction::to_device, output(), const_cast<void*>(data), bytes,
                     std::move(owner)};
  scheduler_.submit({Stage{single_step(std::move(write), bytes, true), {}, buffer}}, nullptr,
                    nullptr);
}

BufferPtr Runtime::from_host(const TensorType& type, const void* data, std::shared_ptr<void> owner,
                             size_t owned) {
  if (StoragePtr storage = at_once(type, data, owner, owned, false)) {
    return std::make_shared<Buffer>(type, std::move(storage));
  }
  auto buffer = std::make_shared<Buffer>(type, memory_->allocate(type.bytes()));
  upload(buffer, data, std::move(owner));
  return buffer;
}

void Runtime::write(const BufferPtr& buffer, const void* data, std::shared_ptr<void> owner,
                    size_t owned) {
  if (!scheduler_.valid(*buffer)) throw Error(Reason::freed, "the buffer has been freed");
  const bool replaces = scheduler_.sole_owner(*buffer);
  if (StoragePtr storage = at_once(buffer->type(), data, owner, owned, replaces)) {
    scheduler_.replace(*buffer, std::move(storage));
  } else {
    upload(buffer, data, std::move(owner));
  }
}

Runtime::Read Runtime::read(const BufferPtr& buffer, std::shared_ptr<Client> client) {
  if (device_.shares_host_memory()) {
    auto readback = std::make_shared<Readback>();
    auto [storage, writer] = scheduler_.share(*buffer);
    if (storage != nullptr) {
      ++reads_;
      readback->show(std::move(storage));
      return {std::move(readback), writer};
    }
  }
  return read_part(buffer, 0, buffer->type().bytes(), std::move(client));
}

Runtime::Read Runtime::read_part(const BufferPtr& buffer, size_t offset, size_t bytes,
                                 std::shared_ptr<Client> client) {
  ++reads_;
  if (buffer->temporary()) throw temporary_error("the buffer");
  if (bytes == 0) {
    if (!scheduler_.valid(*buffer)) throw Error(Reason::freed, "the buffer has been freed");
    return {std::make_shared<Readback>(), std::nullopt};
  }
  const std::shared_ptr<Readback> readback = Readback::on_host(bytes, memory_->hold(bytes));
  bytes_out_ += bytes;
  HostCopyStep step{
      HostCopyStep::Direction::to_host, input(0), readback->data(), bytes, readback, offset};
  const CommandId id =
      scheduler_.submit({Stage{single_step(std::move(step), bytes, false), {buffer}, nullptr}},
                        std::move(client), nullptr);
  return {readback, id};
}

Counters Runtime::counters() const {
  return {memory_->info().allocations, programs_.compiled(), reads_, bytes_in_, bytes_out_};
}

void Runtime::wait(CommandId id) {
  // Shared with the listener, which may outlive this call briefly.
  auto result = std::make_shared<std::promise<std::optional<Error>>>();
  auto ended = result->get_future();
  const auto outcome = scheduler_.watch(id, Token{0}, [result](CommandId, const Error* error) {
    try {
      result->set_value(error == nullptr ? std::nullopt : std::optional<Error>(*error));
    } catch (...) {
      result->set_exception(std::current_exception());
    }
  });
  if (outcome.status == Scheduler::Status::failed) throw *outcome.error;
  if (outcome.status == Scheduler::Status::completed) return;
  if (const std::optional<Error> error = ended.get()) throw *error;
}

std::vector<std::byte> Runtime::read_now(const BufferPtr& buffer) {
  const Read read = this->read(buffer, nullptr);
  if (read.pending) {
    auto ended = std::make_shared<std::promise<void>>();
    const auto outcome = scheduler_.watch_end(
        *read.pending, [ended](CommandId, const Error*) { ended->set_value(); });
    if (outcome.status == Scheduler::Status::pending) ended->get_future().wait();
    if (const auto failed = scheduler_.poll(*read.pending).error) throw *failed;
  }
  const std::byte* data = read.readback->data();
  return {data, data + read.readback->bytes()};
}

}  // namespace dala
