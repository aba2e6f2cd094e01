// Scheduler: commands that run in rounds.
#include "runtime/schedule/rounds.hpp"

#include <utility>

#include "runtime/schedule/scheduler.hpp"
#include "runtime/schedule/scheduler_lock.hpp"
#include "runtime/schedule/settlement.hpp"

namespace dala {

CommandId Scheduler::submit_rounds(const std::vector<Stage>& stages, const Repetition& repetition,
                                   std::shared_ptr<Client> client, Listener listener,
                                   std::shared_ptr<Profile> profile, const std::vector<Use>& uses) {
  const CommandPtr command = new_command(std::move(client), std::move(listener));
  command->profile = std::move(profile);
  command->rounds = std::make_unique<Rounds>();
  const bool shorter = repetition.rest > 0;
  command->rounds->left = repetition.rounds - 1 + (shorter ? 1 : 0);
  command->rounds->rest = shorter ? repetition.rest : stages.size();
  command->rounds->exchanged = repetition.exchanged;
  return accept(command, stages, uses);
}

// Settles the memory of a command's stages and of its later rounds. These find the storages that
// the first round leaves in the buffers, so none of them needs fresh memory.
void Scheduler::settle(Command& command, const std::vector<Stage>& stages, Settlement& settlement) {
  settle_stages(command, stages, settlement);
  place_parts(command);
  if (!command.goes_on()) return;
  Command draft(*this);
  settle_stages(draft, stages, settlement);
  place_parts(draft);
  command.rounds->parts = std::move(draft.parts);
}

namespace {

// The part without the results of running it.
BoundStage copy_of(const BoundStage& part) {
  BoundStage copy;
  copy.launch = part.launch;
  copy.inputs = part.inputs;
  copy.outputs = part.outputs;
  copy.after = part.after;
  return copy;
}

}  // namespace

void take_round(Command& command) {
  if (command.rounds == nullptr || !command.rounds->due) return;
  Rounds& rounds = *command.rounds;
  for (const auto& profile : command.profiles) {
    for (const BoundStage& part : command.parts) profile->add(part);
  }
  if (rounds.left > 0) {
    std::vector<BoundStage> parts;
    parts.reserve(rounds.parts.size());
    for (const BoundStage& part : rounds.parts) parts.push_back(copy_of(part));
    command.parts = std::move(parts);
  } else {
    command.parts = std::move(rounds.parts);
    command.parts.resize(rounds.rest);
  }
  rounds.due = false;
}

// Puts a command whose round has ended back in its client's line. Returns false after the last
// round, or if the command has failed.
bool Scheduler::next_round(Command& command) noexcept {
  if (!command.goes_on()) return false;
  --command.rounds->left;
  command.rounds->begun = true;
  command.rounds->due = true;
  command.finished = ClEvent();
  command.run.reset();
  command.dependencies.clear();
  command.state = Command::State::waiting;
  command.unmet = 1;
  met(command);
  return true;
}

}  // namespace dala
