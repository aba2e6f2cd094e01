#include "runtime/scheduler.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "runtime/device.hpp"
#include "runtime/memory_pool.hpp"
#include "runtime/part_order.hpp"
#include "runtime/scheduler_lock.hpp"

namespace dala {
namespace {

constexpr size_t kMostPending = 8192;
constexpr size_t kFewReaders = 32;

bool has_call(const BoundStage& part) {
  if (part.launch == nullptr) return false;
  return std::any_of(part.launch->steps.begin(), part.launch->steps.end(),
                     [](const Step& step) { return std::holds_alternative<CallStep>(step); });
}

Error freed_error(const std::string& what) {
  return Error(Reason::freed, text(what, " has been freed"));
}

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

Error temporary_error(const std::string& what) {
  return Error(Reason::unsupported,
               text(what, " is temporary: only the stages of a pipeline may use it"));
}

Scheduler::Scheduler(const Device& device, MemoryPool& memory, Worker& worker)
    : device_(device),
      memory_(memory),
      worker_(worker),
      enqueuer_(device, memory),
      slots_(std::clamp<size_t>(device.info().compute_units, 2, 8)) {}

Scheduler::~Scheduler() { stop(); }

void Scheduler::stop() {
  {
    Lock lock(*this);
    stopping_ = true;
  }
  wait_until_idle();
  while (callbacks_.load() != 0) std::this_thread::yield();
}

void Scheduler::alone(const std::function<void()>& work) {
  const auto hold = [this](int change) {
    Lock lock(*this);
    held_ += change;
  };
  hold(1);
  wait_until_idle();
  try {
    work();
  } catch (...) {
    hold(-1);
    throw;
  }
  hold(-1);
}

// Looked at again and again instead of waited for: this happens seldom, and a condition variable
// would have to take the lock in its own way.
void Scheduler::wait_until_idle() {
  const auto idle = [this] {
    Lock lock(*this);
    return running_ == 0 && !has_completions_.load();
  };
  while (!idle()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

CommandId Scheduler::submit(const std::vector<Stage>& stages, std::shared_ptr<Client> client,
                            Listener listener, std::shared_ptr<Profile> profile,
                            const std::vector<Use>& uses) {
  if (uses.empty()) need_lasting_buffers(stages);
  Lock lock(*this);
  if (stopping_) throw Error(Reason::no_device, "the library is being unloaded");
  for (const Use& use : uses) {
    if (!use.buffer->freed()) continue;
    Error error = freed_error(use.input < 0 ? "the output" : text("input ", use.input));
    if (use.stage >= 0) error.details.emplace_back("stage", use.stage);
    throw error;
  }
  auto command = std::make_shared<Command>(*this, next_id_);
  command->client = std::move(client);
  command->profile = std::move(profile);
  settle(*command, stages);  // throws; nothing has changed by then
  ++next_id_;
  if (listener) command->listeners.emplace_back(Token{0}, std::move(listener));
  commands_.emplace(command->id, command);
  enter_hazards(command);
  prepare(command);
  return command->id;
}

CommandId Scheduler::submit_failure(Error error, const Listener& listener) {
  CommandId id = 0;
  {
    Lock lock(*this);
    id = next_id_++;
    remember_failure(id, error);
  }
  if (listener) listener(id, &error);
  return id;
}

std::optional<CommandId> Scheduler::backlog() {
  Lock lock(*this);
  if (commands_.size() < kMostPending) return std::nullopt;
  // One from the middle, so that there is room for many when it is done.
  const auto middle = commands_.lower_bound(next_id_ - kMostPending / 2);
  return middle == commands_.end() ? commands_.begin()->first : middle->first;
}

Scheduler::Outcome Scheduler::poll(CommandId id) {
  Lock lock(*this);
  if (id == 0 || id >= next_id_) {
    return {Status::failed,
            Error(Reason::unknown_command, text("no command has been given the id ", id))};
  }
  if (commands_.count(id) != 0) return {Status::pending, std::nullopt};
  const auto failed = failed_.find(id);
  if (failed != failed_.end()) return {Status::failed, failed->second};
  return {Status::completed, std::nullopt};
}

Scheduler::Outcome Scheduler::watch(CommandId id, Token token, Listener listener) {
  {
    Lock lock(*this);
    const auto found = commands_.find(id);
    if (found != commands_.end()) {
      found->second->listeners.emplace_back(token, std::move(listener));
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

void Scheduler::replace(Buffer& buffer, StoragePtr storage) {
  Lock lock(*this);
  if (buffer.freed()) throw freed_error("the buffer");
  if (buffer.temporary()) throw temporary_error("the buffer");
  buffer.detach();
  buffer.storage_ = std::move(storage);
}

std::pair<StoragePtr, std::optional<CommandId>> Scheduler::share(const Buffer& buffer) {
  Lock lock(*this);
  if (buffer.freed()) throw freed_error("the buffer");
  if (buffer.temporary()) throw temporary_error("the buffer");
  // Marked at once, so that a write submitted from now on leaves these bytes alone.
  buffer.storage_->add_export();
  std::optional<CommandId> writer;
  if (buffer.storage_->writer_ != nullptr &&
      buffer.storage_->writer_->state != Command::State::done) {
    writer = buffer.storage_->writer_->id;
  }
  return {buffer.storage_, writer};
}

// Gives every stage its memory. Changes of a buffer's storage are collected and applied at the
// end, so that a failure in the middle leaves all buffers as they were.
void Scheduler::settle(Command& command, const std::vector<Stage>& stages) {
  std::map<Buffer*, StoragePtr> replaced;
  for (size_t index = 0; index < stages.size(); ++index) {
    const Stage& stage = stages[index];
    BoundStage part;
    part.launch = stage.launch;
    const auto require = [&](const StoragePtr& storage, const std::string& what) {
      if (storage != nullptr) return;
      Error error = freed_error(what);
      if (stages.size() > 1) error.details.emplace_back("stage", static_cast<int64_t>(index));
      throw error;
    };
    for (size_t i = 0; i < stage.inputs.size(); ++i) {
      const auto found = replaced.find(stage.inputs[i].get());
      part.inputs.push_back(found == replaced.end() ? stage.inputs[i]->storage_ : found->second);
      require(part.inputs.back(), text("input ", i));
    }
    if (stage.output != nullptr) {
      part.outputs.push_back(settle_output(stage.output, stage, part, replaced));
      require(part.outputs.back().storage, "the output");
    }
    for (const BufferPtr& buffer : stage.more_outputs) {
      part.outputs.push_back(settle_output(buffer, stage, part, replaced));
      require(part.outputs.back().storage, "an output");
    }
    command.calls = command.calls || has_call(part);
    command.parts.push_back(std::move(part));
  }
  for (auto& [buffer, storage] : replaced) {
    if (buffer->temporary()) continue;
    buffer->detach();
    buffer->storage_ = storage;
  }
}

// The memory that a stage is to write: what the buffer has, or fresh memory where that may not be
// written to. A temporary buffer gets its memory when it is first written.
BoundOutput Scheduler::settle_output(const BufferPtr& buffer, const Stage& stage,
                                     const BoundStage& part,
                                     std::map<Buffer*, StoragePtr>& replaced) {
  const auto found = replaced.find(buffer.get());
  const StoragePtr current = found == replaced.end() ? buffer->storage_ : found->second;
  if (current == nullptr && !buffer->temporary()) return {};
  const size_t bytes = buffer->type().bytes();
  if (current == nullptr) {
    const StoragePtr fresh = memory_.allocate(bytes);
    replaced[buffer.get()] = fresh;
    return {fresh, nullptr};
  }
  const bool aliased =
      std::find(part.inputs.begin(), part.inputs.end(), current) != part.inputs.end();
  // A launch without steps writes nothing, so the output stays where it is.
  const bool renew = bytes > 0 && !stage.launch->steps.empty() &&
                     (current->exported() || (aliased && !stage.launch->in_place));
  if (!renew) return {current, nullptr};
  const StoragePtr fresh = memory_.allocate(bytes);
  replaced[buffer.get()] = fresh;
  return {fresh, current};
}

void Scheduler::enter_hazards(const CommandPtr& command) {
  std::vector<CommandPtr>& dependencies = command->dependencies;
  const auto depend_on = [&](const CommandPtr& other) {
    if (other == nullptr || other == command || other->state == Command::State::done) return;
    if (other->last_dependent == command->id) return;
    other->last_dependent = command->id;
    dependencies.push_back(other);
    if (other->state != Command::State::running || !other->finished) {
      other->dependents.push_back(command);
      ++command->unmet;
    }
  };
  const auto read = [&](Storage& storage) {
    depend_on(storage.writer_);
    if (storage.readers_.size() >= storage.prune_readers_at_) {
      std::erase_if(storage.readers_,
                    [](const CommandPtr& reader) { return reader->state == Command::State::done; });
      storage.prune_readers_at_ = std::max(kFewReaders, 2 * storage.readers_.size());
    }
    if (storage.readers_.empty() || storage.readers_.back() != command) {
      storage.readers_.push_back(command);
    }
  };
  const auto write = [&](Storage& storage) {
    depend_on(storage.writer_);
    for (const CommandPtr& reader : storage.readers_) depend_on(reader);
    storage.readers_.clear();
    storage.writer_ = command;
  };

  PartOrder order;
  std::vector<BoundStage>& parts = command->parts;
  for (size_t i = 0; i < parts.size(); ++i) {
    // Most commands are a single part, and the lock is held.
    if (parts.size() > 1) order.place(parts[i], i);
    for (const StoragePtr& storage : parts[i].inputs) read(*storage);
    for (const BoundOutput& output : parts[i].outputs) {
      if (output.previous != nullptr) read(*output.previous);
    }
    for (const BoundOutput& output : parts[i].outputs) write(*output.storage);
  }
}

}  // namespace dala
