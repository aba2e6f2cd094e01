// The scheduler's fourth part: the memory of a command, and its place in the order of those that
// use the same.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "runtime/device.hpp"
#include "runtime/memory_pool.hpp"
#include "runtime/part_order.hpp"
#include "runtime/program.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/scheduler_lock.hpp"

namespace dala {
namespace {

constexpr size_t kFewReaders = 32;

bool has_call(const BoundStage& part) {
  if (part.launch == nullptr) return false;
  return std::any_of(part.launch->steps.begin(), part.launch->steps.end(),
                     [](const Step& step) { return std::holds_alternative<CallStep>(step); });
}

template <typename Visit>
void each_buffer(const std::vector<Stage>& stages, Visit visit) {
  for (const Stage& stage : stages) {
    for (const BufferPtr& buffer : stage.inputs) visit(*buffer);
    if (stage.output != nullptr) visit(*stage.output);
    for (const BufferPtr& buffer : stage.more_outputs) visit(*buffer);
  }
}

// Visits what a part reads, and then what it writes. Where it writes only some elements, the others
// count as read.
template <typename Visit>
void each_use(const BoundStage& part, Visit visit) {
  for (const StoragePtr& storage : part.inputs) visit(*storage, false);
  const bool keeps = part.launch != nullptr && !part.launch->overwrites_output;
  for (const BoundOutput& output : part.outputs) {
    if (output.previous != nullptr) visit(*output.previous, false);
    if (keeps && output.previous == nullptr) visit(*output.storage, false);
  }
  for (const BoundOutput& output : part.outputs) visit(*output.storage, true);
}

struct Access {
  bool read = false;  // before it is written
  bool written = false;
};
using Accesses = std::unordered_map<Storage*, Access>;

// Every storage of the command once.
Accesses accesses_of(const Command& command) {
  Accesses accesses;
  for (const BoundStage& part : command.parts) {
    each_use(part, [&accesses](Storage& storage, bool written) {
      Access& access = accesses[&storage];
      if (written) {
        access.written = true;
      } else if (!access.written) {
        access.read = true;
      }
    });
  }
  return accesses;
}

// Makes room for one more, growing as push_back does.
template <typename T>
void make_room(std::vector<T>& items) {
  if (items.size() == items.capacity()) items.reserve(std::max<size_t>(4, 2 * items.size()));
}

void place_parts(Command& command) {
  if (command.parts.size() < 2) return;  // as most commands have
  PartOrder order;
  for (size_t i = 0; i < command.parts.size(); ++i) order.place(command.parts[i], i);
}

}  // namespace

// What the stages of a command find under their buffers, and what they leave there.
struct Scheduler::Settlement {
  // With the lock held the buffers themselves are looked at; without it, what was found before.
  bool locked = true;
  std::unordered_map<const Buffer*, StoragePtr> found;
  std::map<Buffer*, StoragePtr> replaced;
  std::vector<StoragePtr> kept;  // written where they are

  const StoragePtr& of(const BufferPtr& buffer) const {
    const auto fresh = replaced.find(buffer.get());
    if (fresh != replaced.end()) return fresh->second;
    return locked ? buffer->storage_ : found.at(buffer.get());
  }
};

// Gives every stage its memory. Changes of a buffer's storage are collected, so that a failure in
// the middle leaves all buffers as they were.
void Scheduler::settle_stages(Command& command, const std::vector<Stage>& stages,
                              Settlement& settlement) {
  command.parts.clear();
  command.parts.reserve(stages.size());
  command.work = 0;
  for (size_t index = 0; index < stages.size(); ++index) {
    const Stage& stage = stages[index];
    BoundStage part;
    part.launch = stage.launch;
    const auto need = [&](const StoragePtr& storage, const auto& name) {
      if (storage != nullptr) return;
      Error error = freed_error(name());
      if (stages.size() > 1) error.details.emplace_back("stage", static_cast<int64_t>(index));
      throw error;
    };
    for (size_t i = 0; i < stage.inputs.size(); ++i) {
      part.inputs.push_back(settlement.of(stage.inputs[i]));
      need(part.inputs.back(), [i] { return text("input ", i); });
    }
    if (stage.output != nullptr) {
      part.outputs.push_back(settle_output(stage.output, stage, part, settlement));
      need(part.outputs.back().storage, [] { return "the output"; });
    }
    for (const BufferPtr& buffer : stage.more_outputs) {
      part.outputs.push_back(settle_output(buffer, stage, part, settlement));
      need(part.outputs.back().storage, [] { return "an output"; });
    }
    command.calls = command.calls || has_call(part);
    command.trusted = command.trusted && (part.launch == nullptr || part.launch->trusted);
    command.fills = command.fills || (part.launch != nullptr && part.launch->fills);
    if (part.launch != nullptr) command.work += part.launch->work;
    command.parts.push_back(std::move(part));
  }
}

// The memory that a stage is to write: what the buffer has, or fresh memory where that may not be
// written to. A temporary buffer gets its memory when it is first written.
BoundOutput Scheduler::settle_output(const BufferPtr& buffer, const Stage& stage,
                                     const BoundStage& part, Settlement& settlement) {
  const StoragePtr current = settlement.of(buffer);
  if (current == nullptr && !buffer->temporary()) return {};
  const size_t bytes = buffer->type().bytes();
  if (current == nullptr) {
    const StoragePtr fresh = memory_.allocate(bytes);
    settlement.replaced[buffer.get()] = fresh;
    return {fresh, nullptr};
  }
  // A launch without steps writes nothing, so the output stays where it is.
  if (bytes == 0 || stage.launch->steps.empty()) return {current, nullptr};
  const bool aliased =
      std::find(part.inputs.begin(), part.inputs.end(), current) != part.inputs.end();
  if (!current->exported() && (!aliased || stage.launch->in_place)) {
    if (!settlement.locked) settlement.kept.push_back(current);
    return {current, nullptr};
  }
  const StoragePtr fresh = memory_.allocate(bytes);
  settlement.replaced[buffer.get()] = fresh;
  return {fresh, current};
}

// Visits the storages that a command reads and writes, in the order of its parts.
struct UsesOfParts {
  const Command& command;

  template <typename Visit>
  void each(Visit visit) const {
    for (const BoundStage& part : command.parts) each_use(part, visit);
  }
};

struct UsesOfStorages {
  const Accesses& accesses;

  template <typename Visit>
  void each(Visit visit) const {
    for (const auto& [storage, access] : accesses) {
      if (access.read) visit(*storage, false);
      if (access.written) visit(*storage, true);
    }
  }
};

void Scheduler::submit_here(const CommandPtr& command, const std::vector<Stage>& stages,
                            const std::vector<Use>& uses) {
  Settlement settlement;
  Lock lock(*this);
  require(uses);
  settle_stages(*command, stages, settlement);
  place_parts(*command);
  std::vector<MissingProgram> missing = missing_programs(*command);
  enter(command, settlement, UsesOfParts{*command});
  prepare(command, std::move(missing));
}

// Enters a command as a whole, or throws and changes nothing: all memory is taken first.
template <typename Uses>
void Scheduler::enter(const CommandPtr& command, const Settlement& settlement, const Uses& uses) {
  make_room_for(*command, uses);
  const auto place = commands_.emplace(next_id_, command).first;
  try {
    command->line = &lines_[command->client_key()];
  } catch (...) {
    commands_.erase(place);
    throw;
  }
  command->id = next_id_++;
  ++command->line->pending;
  for (const auto& [buffer, storage] : settlement.replaced) {
    if (buffer->temporary()) continue;
    buffer->detach();
    buffer->storage_ = storage;
  }
  uses.each([&](Storage& storage, bool written) {
    if (written) {
      written_by(command, storage);
    } else {
      read_by(command, storage);
    }
  });
}

// Room for everything that `read_by` and `written_by` add. Throws as well for what cannot be read.
template <typename Uses>
void Scheduler::make_room_for(Command& command, const Uses& uses) {
  const uint64_t count = ++counts_;
  size_t dependencies = 0;
  const auto meet = [&](const CommandPtr& other) {
    if (other == nullptr || other->state == Command::State::done) return;
    if (std::exchange(other->last_counted, count) == count) return;
    ++dependencies;
    make_room(other->dependents);
  };
  uses.each([&](Storage& storage, bool written) {
    meet(storage.writer_);
    if (written) {
      for (const CommandPtr& reader : storage.readers_) meet(reader);
    } else {
      require_content(storage);
      make_room(storage.readers_);
    }
  });
  command.dependencies.reserve(dependencies);
}

// Settles the command without the lock, by what its buffers had a moment ago. When they still have
// it, the command is entered; that takes a time that grows with the number of its buffers, not with
// that of its stages.
bool Scheduler::submit_apart(const CommandPtr& command, const std::vector<Stage>& stages,
                             const std::vector<Use>& uses) {
  Settlement settlement;
  settlement.locked = false;
  each_buffer(stages, [&](const Buffer& buffer) { settlement.found.emplace(&buffer, nullptr); });
  {
    Lock lock(*this);
    require(uses);
    for (auto& [buffer, storage] : settlement.found) storage = buffer->storage_;
  }
  settle_stages(*command, stages, settlement);
  place_parts(*command);
  const Accesses accesses = accesses_of(*command);
  std::vector<MissingProgram> missing = missing_programs(*command);

  Lock lock(*this);
  require(uses);
  for (const auto& [buffer, storage] : settlement.found) {
    if (buffer->storage_ != storage) return false;
  }
  for (const StoragePtr& storage : settlement.kept) {
    if (storage->exported()) return false;
  }
  enter(command, settlement, UsesOfStorages{accesses});
  prepare(command, std::move(missing));
  return true;
}

void Scheduler::depend_on(const CommandPtr& command, const CommandPtr& other) {
  if (other == nullptr || other == command || other->state == Command::State::done) return;
  if (other->last_dependent == command->id) return;
  other->last_dependent = command->id;
  command->dependencies.push_back(other);
  if (other->state != Command::State::running || !other->finished) {
    other->dependents.push_back(command);
    ++command->unmet;
  }
}

void Scheduler::read_by(const CommandPtr& command, Storage& storage) {
  depend_on(command, storage.writer_);
  if (storage.readers_.size() >= storage.prune_readers_at_) {
    std::erase_if(storage.readers_,
                  [](const CommandPtr& reader) { return reader->state == Command::State::done; });
    storage.prune_readers_at_ = std::max(kFewReaders, 2 * storage.readers_.size());
  }
  if (storage.readers_.empty() || storage.readers_.back() != command) {
    storage.readers_.push_back(command);
  }
}

void Scheduler::written_by(const CommandPtr& command, Storage& storage) {
  depend_on(command, storage.writer_);
  for (const CommandPtr& reader : storage.readers_) depend_on(command, reader);
  storage.readers_.clear();
  storage.writer_ = command;
}

}  // namespace dala
