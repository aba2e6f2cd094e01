// Scheduler: the memory of commands and their hazards.
#include <algorithm>
#include <utility>

#include "runtime/device/device.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/program/program.hpp"
#include "runtime/schedule/scheduler.hpp"
#include "runtime/schedule/scheduler_lock.hpp"
#include "runtime/schedule/settlement.hpp"

namespace dala {
namespace {

constexpr size_t kFewReaders = 32;

bool has_call(const BoundStage& part) {
  if (part.launch == nullptr) return false;
  return std::any_of(part.launch->steps.begin(), part.launch->steps.end(),
                     [](const Step& step) { return std::holds_alternative<CallStep>(step); });
}

}  // namespace

std::vector<MissingProgram> missing_programs(const Command& command) {
  return launches_if(command, [](const KernelStep& kernel) {
    return !kernel.program->ready_for(kernel.entry, kernel.range);
  });
}

// Gives every stage its memory. Changes to buffers are collected, so that a failure leaves all
// buffers as they were.
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
    const auto settle = [&](const BufferPtr& buffer, const char* name) {
      // A launch without steps writes nothing, so the output keeps its storage.
      const bool writes = stage.launch != nullptr && !stage.launch->steps.empty();
      const bool in_place = writes && stage.launch->in_place;
      part.outputs.push_back(writes ? settle_output(buffer, in_place, part, settlement)
                                    : BoundOutput{settlement.of(buffer), nullptr});
      need(part.outputs.back().storage, [name] { return name; });
    };
    if (stage.output != nullptr) settle(stage.output, "the output");
    for (const BufferPtr& buffer : stage.more_outputs) settle(buffer, "an output");
    command.calls = command.calls || has_call(part);
    command.trusted = command.trusted && (part.launch == nullptr || part.launch->trusted);
    command.fills = command.fills || (part.launch != nullptr && part.launch->fills);
    if (part.launch != nullptr) command.work += part.launch->work;
    command.parts.push_back(std::move(part));
  }
}

// The memory that a stage writes: the buffer's own, or fresh memory if that must not be written.
BoundOutput Scheduler::settle_output(const BufferPtr& buffer, bool in_place, const BoundStage& part,
                                     Settlement& settlement) {
  const StoragePtr current = settlement.of(buffer);
  if (current == nullptr) return {};
  if (current == settlement.granted) return {current, std::move(settlement.granted_previous)};
  const size_t bytes = buffer->type().bytes();
  if (bytes == 0) return {current, nullptr};
  const bool aliased =
      std::find(part.inputs.begin(), part.inputs.end(), current) != part.inputs.end();
  if (!current->exported() && (!aliased || in_place)) {
    if (!settlement.locked) settlement.kept.push_back(current);
    return {current, nullptr};
  }
  const StoragePtr fresh = memory_.allocate(bytes);
  settlement.replaced[buffer.get()] = fresh;
  return {fresh, current};
}

void Scheduler::submit_here(const CommandPtr& command, const std::vector<Stage>& stages,
                            const std::vector<Use>& uses) {
  Settlement settlement;
  Lock lock(*this);
  require(uses);
  settle(*command, stages, settlement);
  std::vector<MissingProgram> missing = missing_programs(*command);
  enter(command, settlement, UsesOfParts{*command});
  prepare(command, std::move(missing));
}

// Settles the command without the lock, from an earlier view of its buffers. If they have not
// changed, the command is entered, which takes time linear in the number of its buffers, not of its
// stages.
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
  settle(*command, stages, settlement);
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
  // With an executor, its commands have no event to wait for, and a run cannot wait for the events
  // of the driver's queue.
  const bool has_event = other->state == Command::State::running && other->finished;
  if (executor_ != nullptr || !has_event || other->goes_on()) {
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
