#include "runtime/runtime.hpp"

#include <future>
#include <utility>

#include "runtime/error.hpp"
#include "runtime/process_setup.hpp"
#include "runtime/signals.hpp"

namespace dala {
namespace {

constexpr size_t kSmall = 64 * 1024;      // cheaper to copy or clear on the spot than to enqueue
constexpr size_t kBorrowFrom = 4 * 1024;  // below this a copy is cheaper than bookkeeping

Device open_device(const Config& config) {
  prepare_process(config);
  Device device(choose(survey(), config.device), config);
  restore_signal_handlers();
  return device;
}

std::shared_ptr<const Launch> single_step(Step step, size_t bytes) {
  auto launch = std::make_shared<Launch>();
  launch->steps.push_back(std::move(step));
  launch->work = static_cast<double>(bytes);
  return launch;
}

}  // namespace

Runtime::Runtime(const Config& config)
    : config_(config),
      device_(open_device(config)),
      memory_(std::make_shared<MemoryPool>(device_, config.memory_limit)),
      programs_(device_, cache_folder(config)),
      worker_("dala_worker", 2),
      scheduler_(device_, *memory_, worker_) {}

Runtime::~Runtime() {
  // In this order: running commands may need the worker, and jobs refer to the scheduler.
  scheduler_.stop();
  worker_.stop();
  memory_->close();
}

void Runtime::abandon() { worker_.abandon(); }

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
      {Stage{single_step(FillStep{output(), value(uint8_t{0}), bytes}, bytes), {}, buffer}},
      nullptr, nullptr);
  return buffer;
}

StoragePtr Runtime::at_once(const TensorType& type, const void* data,
                            std::shared_ptr<void>& owner) {
  const size_t bytes = type.bytes();
  const bool shares = device_.shares_host_memory();
  const bool aligned = reinterpret_cast<uintptr_t>(data) % size_of(type.dtype) == 0;
  if (shares && aligned && owner != nullptr && bytes >= kBorrowFrom) {
    return memory_->borrow(data, bytes, std::move(owner));
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
  scheduler_.submit({Stage{single_step(std::move(write), bytes), {}, buffer}}, nullptr, nullptr);
}

BufferPtr Runtime::from_host(const TensorType& type, const void* data,
                             std::shared_ptr<void> owner) {
  if (StoragePtr storage = at_once(type, data, owner)) {
    return std::make_shared<Buffer>(type, std::move(storage));
  }
  auto buffer = std::make_shared<Buffer>(type, memory_->allocate(type.bytes()));
  upload(buffer, data, std::move(owner));
  return buffer;
}

void Runtime::write(const BufferPtr& buffer, const void* data, std::shared_ptr<void> owner) {
  if (!scheduler_.valid(*buffer)) throw Error(Reason::freed, "the buffer has been freed");
  if (StoragePtr storage = at_once(buffer->type(), data, owner)) {
    scheduler_.replace(*buffer, std::move(storage));
  } else {
    upload(buffer, data, std::move(owner));
  }
}

Runtime::Read Runtime::read(const BufferPtr& buffer, std::shared_ptr<Client> client) {
  ++reads_;
  if (device_.shares_host_memory()) {
    auto [storage, writer] = scheduler_.share(*buffer);
    return {std::make_shared<Readback>(std::move(storage)), writer};
  }
  if (buffer->temporary()) throw temporary_error("the buffer");
  const size_t bytes = buffer->type().bytes();
  if (bytes == 0) {
    if (!scheduler_.valid(*buffer)) throw Error(Reason::freed, "the buffer has been freed");
    return {std::make_shared<Readback>(nullptr, 0, 0), std::nullopt};
  }
  const size_t capacity = (bytes + 4095) / 4096 * 4096;
  const HostMemory host = allocate_host(capacity);
  if (host.data == nullptr) {
    throw Error(Reason::out_of_memory, text("the system has no room for ", bytes, " bytes"));
  }
  auto readback = std::make_shared<Readback>(host.data, bytes, capacity);
  bytes_out_ += bytes;
  HostCopyStep step{HostCopyStep::Direction::to_host, input(0), readback->data(), bytes, readback};
  const CommandId id = scheduler_.submit(
      {Stage{single_step(std::move(step), bytes), {buffer}, nullptr}}, std::move(client), nullptr);
  return {readback, id};
}

Counters Runtime::counters() const {
  return {memory_->info().allocations, programs_.compiled(), reads_, bytes_in_, bytes_out_};
}

void Runtime::wait(CommandId id) {
  // Shared with the listener, which may outlive this frame by a moment.
  auto result = std::make_shared<std::promise<std::optional<Error>>>();
  auto ended = result->get_future();
  const auto outcome = scheduler_.watch(id, Token{0}, [result](CommandId, const Error* error) {
    result->set_value(error == nullptr ? std::nullopt : std::optional<Error>(*error));
  });
  if (outcome.status == Scheduler::Status::failed) throw *outcome.error;
  if (outcome.status == Scheduler::Status::completed) return;
  if (const std::optional<Error> error = ended.get()) throw *error;
}

std::vector<std::byte> Runtime::read_now(const BufferPtr& buffer) {
  const Read read = this->read(buffer, nullptr);
  if (read.pending) wait(*read.pending);
  const std::byte* data = read.readback->data();
  return {data, data + read.readback->bytes()};
}

}  // namespace dala
