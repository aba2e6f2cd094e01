#include "runtime/schedule/scheduler.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "runtime/device/device.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/schedule/scheduler_lock.hpp"

namespace dala {
namespace {

constexpr size_t kMostPending = 8192;

void need_lasting(const BufferPtr& buffer, const std::string& what) {
  if (buffer != nullptr && buffer->temporary()) throw temporary_error(what);
}

void need_lasting_buffers(const std::vector<Stage>& stages) {
  for (const Stage& stage : stages) {
    for (size_t i = 0; i < stage.inputs.size(); ++i) {
      need_lasting(stage.inputs[i], text("input ", i));
    }
    need_lasting(stage.output, "the output");
    for (const BufferPtr& buffer : stage.more_outputs) need_lasting(buffer, "an output");
  }
}

}  // namespace

Error freed_error(const std::string& what) {
  return Error(Reason::freed, text(what, " has been freed"));
}

std::vector<Use> uses_of_call(const std::vector<BufferPtr>& inputs, const BufferPtr& output) {
  std::vector<Use> uses;
  for (const BufferPtr& input : inputs) uses.push_back({input, -1, static_cast<int>(uses.size())});
  uses.push_back({output, -1, -1});
  for (const Use& use : uses) {
    need_lasting(use.buffer, use.input < 0 ? "the output" : text("input ", use.input));
  }
  return uses;
}

Error temporary_error(const std::string& what) {
  return Error(Reason::unsupported,
               text(what, " is temporary: only the stages of a pipeline may use it"));
}

Scheduler::Scheduler(const Device& device, MemoryPool& memory, Worker& worker, Worker& builder,
                     std::chrono::milliseconds kernel_timeout,
                     std::function<void(const Error&)> on_lost, std::shared_ptr<KernelStore> store)
    : device_(device),
      memory_(memory),
      worker_(worker),
      builder_(builder),
      store_(std::move(store)),
      enqueuer_(device, memory, store_.get()),
      slots_(std::clamp<size_t>(device.info().compute_units, 2, 8)),
      kernel_timeout_(kernel_timeout),
      on_lost_(std::move(on_lost)) {
  if (device.executor_threads() > 0) {
    executor_ =
        std::make_unique<Executor>(device.executor_threads(), device.info().local_memory,
                                   device.pins_threads(), [this](CpuRun& run) { on_run(run); });
  }
  ticker_.start([this] { return tick(); });
  if (kernel_timeout_.count() > 0) ticker_.wake();
}

Scheduler::~Scheduler() { stop(); }

void Scheduler::stop() {
  {
    Lock lock(*this);
    stopping_ = true;
  }
  // Includes commands whose programs are still being built: they end on the worker's thread, which
  // may hand them to `lengthy_`, and a stopped worker runs jobs on the posting thread, which holds
  // the lock here.
  wait_until([this] { return commands_.empty(); });
  bool stays = false;
  {
    Lock lock(*this);
    stays = lost_ != nullptr;
  }
  if (!stays) lengthy_.stop();
  // The threads of a lost device do not return.
  if (!stays && executor_ != nullptr) executor_->stop();
  ticker_.stop();
  while (callbacks_.load() != 0) std::this_thread::yield();
}

void Scheduler::alone(const std::function<void()>& work) {
  const auto hold = [this](int change) {
    Lock lock(*this);
    held_ += change;
  };
  hold(1);
  try {
    wait_until([] { return true; });
    if (const auto problem = lost()) throw *problem;
    work();
  } catch (...) {
    hold(-1);
    throw;
  }
  hold(-1);
}

// Polls: this is rare, and a condition variable could not take the lock through Lock.
void Scheduler::wait_until(const std::function<bool()>& condition) {
  const auto reached = [&] {
    Lock lock(*this);
    const bool idle = running_ == 0 && !goes_on_ && !has_completions_.load();
    return lost_ || (idle && condition());
  };
  while (!reached()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

bool Scheduler::idle() {
  const Lock lock(*this, std::try_to_lock);
  return Lock::holder() == this && running_ == 0 && !has_completions_.load();
}

void Scheduler::require(const std::vector<Use>& uses) const {
  if (stopping_) throw Error(Reason::no_device, "the library is being unloaded");
  require_device();
  for (const Use& use : uses) {
    if (!use.buffer->freed()) continue;
    Error error = freed_error(use.input < 0 ? "the output" : text("input ", use.input));
    if (use.stage >= 0) error.details.emplace_back("stage", use.stage);
    throw error;
  }
}

CommandPtr Scheduler::new_command(std::shared_ptr<Client> client, Listener listener) {
  auto command = std::make_shared<Command>(*this);
  command->shared = client != nullptr && client->shared();
  command->client = std::move(client);
  if (listener) command->listeners.emplace_back(Token{0}, std::move(listener));
  return command;
}

CommandId Scheduler::submit(const std::vector<Stage>& stages, std::shared_ptr<Client> client,
                            Listener listener, std::shared_ptr<Profile> profile,
                            const std::vector<Use>& uses, bool fills) {
  const CommandPtr command = new_command(std::move(client), std::move(listener));
  command->fills = fills;
  command->profile = std::move(profile);
  return accept(command, stages, uses);
}

CommandId Scheduler::accept(const CommandPtr& command, const std::vector<Stage>& stages,
                            const std::vector<Use>& uses) {
  need_lasting_buffers(stages);
  command->lengthy = stages.size() > kLengthy;
  if (command->lengthy) {
    constexpr int kAttempts = 3;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      if (submit_apart(command, stages, uses)) return command->id;
    }
  }
  submit_here(command, stages, uses);
  return command->id;
}

CommandId Scheduler::submit_failure(Error error, const Listener& listener) {
  const auto command = std::make_shared<Command>(*this);
  command->error = std::make_shared<const Error>(std::move(error));
  command->state = Command::State::done;
  {
    Lock lock(*this);
    commands_.emplace(next_id_, command);
    command->id = next_id_++;
    forget(*command);
  }
  if (listener) listener(command->id, command->error.get());
  return command->id;
}

bool Scheduler::pending() {
  Lock lock(*this);
  return !commands_.empty();
}

bool Scheduler::crowded() {
  Lock lock(*this);
  return commands_.size() >= kMostPending;
}

bool Scheduler::hold_back(Listener listener) {
  Lock lock(*this);
  if (commands_.size() < kMostPending || lost_) return false;
  // Waits for a command from the middle, so that there is room for many when it is done.
  auto middle = commands_.lower_bound(next_id_ - kMostPending / 2);
  if (middle == commands_.end()) middle = commands_.begin();
  middle->second->end_listeners.emplace_back(Token{0}, std::move(listener));
  return true;
}

Scheduler::Outcome Scheduler::poll(CommandId id) {
  Lock lock(*this);
  if (id == 0 || id >= next_id_) {
    return {Status::failed,
            Error(Reason::unknown_command, text("no command has been given the id ", id))};
  }
  const auto found = commands_.find(id);
  if (found != commands_.end()) {
    const ErrorPtr& error = found->second->error;
    if (error == nullptr) return {Status::pending, std::nullopt};
    return {Status::failed, *error};
  }
  const auto failed = failed_.find(id);
  if (failed != failed_.end()) return {Status::failed, *failed->second->error};
  return {Status::completed, std::nullopt};
}

Scheduler::Outcome Scheduler::watch(CommandId id, Token token, Listener listener, uint64_t client) {
  {
    Lock lock(*this);
    const auto found = commands_.find(id);
    if (found != commands_.end() && !found->second->error) {
      if (client != found->second->client_key()) found->second->shared = true;
      found->second->listeners.emplace_back(token, std::move(listener));
      return {Status::pending, std::nullopt};
    }
  }
  return poll(id);
}

Scheduler::Outcome Scheduler::watch_end(CommandId id, Listener listener) {
  {
    Lock lock(*this);
    const auto found = commands_.find(id);
    if (found != commands_.end() && !lost_) {
      found->second->end_listeners.emplace_back(Token{0}, std::move(listener));
      return {Status::pending, std::nullopt};
    }
  }
  return poll(id);
}

bool Scheduler::unwatch(CommandId id, Token token) {
  Lock lock(*this);
  const auto found = commands_.find(id);
  if (found == commands_.end()) return false;
  return std::erase_if(found->second->listeners,
                       [token](const auto& entry) { return entry.first == token; }) > 0;
}

std::shared_ptr<Profile> Scheduler::start_profile() {
  auto profile = std::make_shared<Profile>();
  Lock lock(*this);
  profiles_.push_back(profile);
  return profile;
}

bool Scheduler::valid(const Buffer& buffer) {
  Lock lock(*this);
  return !buffer.freed();
}

void Scheduler::free(Buffer& buffer) {
  Lock lock(*this);
  buffer.detach();
}

bool Scheduler::sole_owner(const Buffer& buffer) {
  Lock lock(*this);
  return buffer.storage_ != nullptr && buffer.storage_.use_count() == 1;
}

void Scheduler::replace(Buffer& buffer, StoragePtr storage) {
  Lock lock(*this);
  require_device();
  if (buffer.freed()) throw freed_error("the buffer");
  if (buffer.temporary()) throw temporary_error("the buffer");
  buffer.detach();
  buffer.storage_ = std::move(storage);
}

std::pair<StoragePtr, std::optional<CommandId>> Scheduler::share(const Buffer& buffer) {
  Lock lock(*this);
  require_device();
  if (buffer.freed()) throw freed_error("the buffer");
  if (buffer.temporary()) throw temporary_error("the buffer");
  const auto unsafe = [](const CommandPtr& reader) {
    return !reader->trusted && reader->state != Command::State::done;
  };
  require_content(*buffer.storage_);
  const std::vector<CommandPtr>& readers = buffer.storage_->readers_;
  if (std::any_of(readers.begin(), readers.end(), unsafe)) return {nullptr, std::nullopt};
  // Marked at once, so that writes submitted from now on get fresh memory.
  buffer.storage_->add_export();
  std::optional<CommandId> writer;
  if (buffer.storage_->writer_ != nullptr &&
      buffer.storage_->writer_->state != Command::State::done) {
    writer = buffer.storage_->writer_->id;
  }
  return {buffer.storage_, writer};
}

BufferPtr Scheduler::snapshot(const Buffer& buffer, const std::string& what) {
  return snapshot(buffer, buffer.type(), what);
}

BufferPtr Scheduler::snapshot(const Buffer& buffer, const TensorType& type,
                              const std::string& what) {
  Lock lock(*this);
  require_device();
  if (buffer.freed()) throw freed_error(what);
  if (buffer.temporary()) throw temporary_error(what);
  require_content(*buffer.storage_);
  const StoragePtr storage = buffer.storage_;
  auto* copy = new Buffer(type, storage);
  storage->pin();
  // The memory counts once, for the original buffer.
  return {copy, [storage](Buffer* snapshot) {
            snapshot->storage_.reset();
            delete snapshot;
            storage->unpin();
          }};
}

}  // namespace dala
