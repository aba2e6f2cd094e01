// How commands get their memory and their hazards; for the scheduler's own files only.
#pragma once

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/schedule/part_order.hpp"
#include "runtime/schedule/scheduler.hpp"

namespace dala {

template <typename Visit>
void each_buffer(const std::vector<Stage>& stages, Visit visit) {
  for (const Stage& stage : stages) {
    for (const BufferPtr& buffer : stage.inputs) visit(*buffer);
    if (stage.output != nullptr) visit(*stage.output);
    for (const BufferPtr& buffer : stage.more_outputs) visit(*buffer);
  }
}

// Visits the storages that a part reads, then those that it writes. If it writes only some
// elements, the output is also read.
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

// The kernel launches of a command that satisfy the condition.
template <typename Condition>
std::vector<MissingProgram> launches_if(const Command& command, Condition condition) {
  std::vector<MissingProgram> found;
  for (const BoundStage& part : command.parts) {
    if (part.launch == nullptr) continue;
    for (const Step& step : part.launch->steps) {
      const auto* kernel = std::get_if<KernelStep>(&step);
      if (kernel == nullptr || !condition(*kernel)) continue;
      found.push_back({kernel->program, kernel->entry, kernel->range});
    }
  }
  return found;
}

struct Access {
  bool read = false;  // before it is written
  bool written = false;
};
using Accesses = std::unordered_map<Storage*, Access>;

// Each storage of the command once.
inline Accesses accesses_of(const Command& command) {
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

// Reserves space for one more element, with geometric growth.
template <typename T>
void make_room(std::vector<T>& items) {
  if (items.size() == items.capacity()) items.reserve(std::max<size_t>(4, 2 * items.size()));
}

inline void place_parts(Command& command) {
  if (command.parts.size() < 2) return;  // the common case
  PartOrder order;
  for (size_t i = 0; i < command.parts.size(); ++i) order.place(command.parts[i], i);
}

// The storages that the stages of a command find in their buffers, and those that they leave there.
struct Scheduler::Settlement {
  // With the lock held, buffers are read directly; without it, from the earlier view.
  bool locked = true;
  std::unordered_map<const Buffer*, StoragePtr> found;
  std::map<Buffer*, StoragePtr> replaced;
  std::vector<StoragePtr> kept;  // written in place
  // For a reserved command: the memory granted to its output, and the buffer's storage before that.
  StoragePtr granted;
  StoragePtr granted_previous;

  const StoragePtr& of(const BufferPtr& buffer) const {
    const auto fresh = replaced.find(buffer.get());
    if (fresh != replaced.end()) return fresh->second;
    return locked ? buffer->storage_ : found.at(buffer.get());
  }
};

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

// Enters a command as a whole, or throws without a change: everything is allocated first.
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
    buffer->detach();
    buffer->storage_ = storage;
  }
  if (command->rounds != nullptr) {
    for (const auto& [one, other] : command->rounds->exchanged) {
      std::swap(one->storage_, other->storage_);
    }
  }
  join(command, uses);
}

// Appends the command to the hazards of these storages, using the space reserved before.
template <typename Uses>
void Scheduler::join(const CommandPtr& command, const Uses& uses) {
  uses.each([&](Storage& storage, bool written) {
    if (written) {
      written_by(command, storage);
    } else {
      read_by(command, storage);
    }
  });
}

// Reserves space for everything that `read_by` and `written_by` add. Also throws for undefined
// content.
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
  command.dependencies.reserve(command.dependencies.size() + dependencies);
}

}  // namespace dala
