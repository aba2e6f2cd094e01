// Scheduler: commands that are accepted before their stages are known.
#include "runtime/schedule/reservation.hpp"

#include <algorithm>
#include <utility>

#include "runtime/schedule/scheduler_lock.hpp"
#include "runtime/schedule/settlement.hpp"

namespace dala {
namespace {

// Whether the command, at its place in the order, would wait for a later command that itself waits,
// possibly for this one. Invariant: commands only wait for earlier ones, or for later ones that
// wait for nothing but their turn.
bool waits_for_later(const Command& command, const std::vector<const Command*>& others) {
  return std::any_of(others.begin(), others.end(), [&](const Command* other) {
    return other->state != Command::State::done && other->id > command.id && other->unmet > 0;
  });
}

}  // namespace

Reservation::~Reservation() {
  if (command_ == nullptr || !open_) return;
  const CommandId id = command_->id;
  fail(shared_error([id] { return dropped_error(id); }));
}

bool Reservation::wanted() {
  const Scheduler::Lock lock(scheduler_);
  if (command_->error != nullptr || command_->state == Command::State::done) return false;
  return command_->client == nullptr || command_->client->wants_result();
}

bool Reservation::resolve(const std::vector<Stage>& stages, bool always) {
  if (!scheduler_.resolve(command_, stages, always)) return false;
  open_ = false;
  return true;
}

void Reservation::fail(ErrorPtr error) noexcept {
  if (!std::exchange(open_, false)) return;
  const Scheduler::Lock lock(scheduler_);
  if (command_->error == nullptr) command_->error = std::move(error);
  scheduler_.met(*command_);
}

std::shared_ptr<Reservation> Scheduler::reserve(const std::vector<BufferPtr>& inputs,
                                                const BufferPtr& output,
                                                std::shared_ptr<Client> client, Listener listener,
                                                bool fills) {
  const std::vector<Use> uses = uses_of_call(inputs, output);
  const CommandPtr command = new_command(std::move(client), std::move(listener));
  command->fills = fills;
  const std::shared_ptr<Reservation> reservation(new Reservation(*this));
  // A second buffer over the same storage, which is not counted again and does not own it.
  const auto stand_in = [](const BufferPtr& buffer, const StoragePtr& storage) -> BufferPtr {
    return {new Buffer(buffer->type(), storage), [](Buffer* each) {
              each->storage_.reset();
              delete each;
            }};
  };
  // Until the stages are known, the command is one launch of which only the operands are known.
  BoundStage part;
  part.launch = std::make_shared<const Launch>();
  Settlement settlement;

  Lock lock(*this);
  require(uses);
  for (const BufferPtr& input : inputs) {
    part.inputs.push_back(input->storage_);
    reservation->inputs_.push_back(stand_in(input, input->storage_));
  }
  part.outputs.push_back(settle_output(output, false, part, settlement));
  reservation->output_ = stand_in(output, part.outputs.front().storage);
  command->parts.push_back(std::move(part));
  enter(command, settlement, UsesOfParts{*command});
  ++command->unmet;  // until `resolve`, or `fail`
  reservation->command_ = command;
  return reservation;
}

bool Scheduler::resolve(const CommandPtr& command, const std::vector<Stage>& stages, bool always) {
  const auto ended = [&] {
    if (command->error == nullptr && command->state != Command::State::done) return false;
    met(*command);
    return true;
  };
  for (;;) {
    // There may be many stages, so they are settled without the lock, in a draft: other threads can
    // see the command itself.
    Command draft(*this);
    Settlement settlement;
    settlement.locked = false;
    each_buffer(stages, [&](const Buffer& buffer) { settlement.found.emplace(&buffer, nullptr); });
    {
      Lock lock(*this);
      if (ended()) return true;
      require({});
      const BoundOutput& output = command->parts.front().outputs.front();
      settlement.granted = output.storage;
      settlement.granted_previous = output.previous;
      for (auto& [buffer, storage] : settlement.found) storage = buffer->storage_;
    }
    settle_stages(draft, stages, settlement);
    place_parts(draft);
    Accesses accesses = accesses_of(draft);
    std::vector<MissingProgram> missing = missing_programs(draft);

    Lock lock(*this);
    if (ended()) return true;
    bool same = true;
    for (const auto& [buffer, storage] : settlement.found) {
      same = same && buffer->storage_ == storage;
    }
    for (const StoragePtr& storage : settlement.kept) same = same && !storage->exported();
    if (!same) continue;
    // The hazards of these were entered with the command.
    each_use(command->parts.front(), [&](Storage& storage, bool) { accesses.erase(&storage); });
    std::vector<const Command*> others;
    for (const auto& [storage, access] : accesses) {
      if (storage->writer_ != nullptr) others.push_back(storage->writer_.get());
      if (!access.written) continue;
      for (const CommandPtr& reader : storage->readers_) others.push_back(reader.get());
    }
    if (!always && waits_for_later(*command, others)) return false;
    const UsesOfStorages uses{accesses};
    make_room_for(*command, uses);
    command->parts = std::move(draft.parts);
    command->work = draft.work;
    command->calls = draft.calls;
    command->trusted = draft.trusted;
    command->fills = command->fills || draft.fills;
    command->lengthy = stages.size() > kLengthy;
    join(command, uses);
    prepare(command, std::move(missing));
    met(*command);
    return true;
  }
}

}  // namespace dala
