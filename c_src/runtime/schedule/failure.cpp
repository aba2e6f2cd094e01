// Scheduler: commands that are refused, cancelled or dropped, and lost devices.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "runtime/schedule/scheduler.hpp"
#include "runtime/schedule/scheduler_lock.hpp"

namespace dala {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kFailuresKept = 4096;
constexpr std::chrono::milliseconds kPollPeriod{1};

// The number of references to each storage from the parts of a command.
std::unordered_map<const Storage*, long> references(const std::vector<BoundStage>& parts) {
  std::unordered_map<const Storage*, long> found;
  for (const BoundStage& part : parts) {
    for (const StoragePtr& input : part.inputs) ++found[input.get()];
    for (const BoundOutput& output : part.outputs) {
      ++found[output.storage.get()];
      if (output.previous != nullptr) ++found[output.previous.get()];
    }
  }
  return found;
}

// Maps the fresh memory that a command gave to buffers to their previous storage.
std::unordered_map<const Storage*, StoragePtr> contents_before(
    const std::vector<BoundStage>& parts) {
  std::unordered_map<const Storage*, StoragePtr> before;
  for (const BoundStage& part : parts) {
    for (const BoundOutput& output : part.outputs) {
      if (output.previous == nullptr) continue;
      // An earlier part may have replaced it first.
      const auto first = before.find(output.previous.get());
      before[output.storage.get()] = first == before.end() ? output.previous : first->second;
    }
  }
  return before;
}

// Copies that restore the content of buffers to which a command that will not run has given fresh
// memory. Memory that only the command refers to needs none.
std::vector<BoundStage> restoring_copies(const Command& command) {
  std::vector<BoundStage> copies;
  const auto before = contents_before(command.parts);
  if (before.empty()) return copies;
  const auto own = references(command.parts);
  for (const BoundStage& part : command.parts) {
    for (const BoundOutput& lost : part.outputs) {
      if (lost.previous == nullptr) continue;
      if (lost.storage.use_count() <= own.at(lost.storage.get())) continue;
      auto launch = std::make_shared<Launch>();
      launch->steps.push_back(CopyStep{input(0), output(), lost.storage->bytes()});
      BoundStage copy;
      copy.launch = std::move(launch);
      copy.inputs.push_back(before.at(lost.storage.get()));
      copy.outputs.push_back({lost.storage, nullptr});
      if (!copies.empty()) copy.after.push_back(copies.size() - 1);
      copies.push_back(std::move(copy));
    }
  }
  return copies;
}

std::string name_of(const Command& command) {
  for (const BoundStage& part : command.parts) {
    if (part.launch != nullptr && !part.launch->name.empty()) return part.launch->name;
  }
  return "an upload or a copy";
}

}  // namespace

Error dropped_error(CommandId id) {
  return Error(Reason::freed,
               text("command ", id, " was dropped: the process that submitted it has ended"));
}

// The final status of a command without a callback, if it has ended.
std::optional<cl_int> Scheduler::end_of(const Command& command) noexcept {
  if (command.finished) return dala::end_of(command.finished);
  const auto done = [](const CommandPtr& other) { return other->state == Command::State::done; };
  const bool ended = std::all_of(command.begun.begin(), command.begun.end(), has_ended) &&
                     std::all_of(command.dependencies.begin(), command.dependencies.end(), done);
  return ended ? std::optional<cl_int>(CL_COMPLETE) : std::nullopt;
}

// Enqueues the copies that undo a command in place of the command. `begun` are the events of the
// steps that the driver accepted before it refused one: their memory stays until they are complete,
// which nothing here waits for. Empties `begun` if the returned event covers them.
ClEvent Scheduler::refuse(Command& command, std::vector<cl_event> wait_for, bool restore,
                          std::vector<ClEvent>& begun) {
  std::vector<BoundStage> copies;
  const bool begun_rounds = command.rounds != nullptr && command.rounds->begun;
  if (restore && !begun_rounds) copies = restoring_copies(command);
  for (const ClEvent& event : begun) wait_for.push_back(event.get());
  if (!begun.empty()) command.refused = std::move(command.parts);
  command.parts = std::move(copies);
  ClEvent finished = enqueuer_.enqueue(command.parts, wait_for, false, begun);
  begun.clear();
  return finished;
}

// Ends a command that cannot run.
void Scheduler::give_up(const CommandPtr& command, ErrorPtr error,
                        std::vector<ClEvent> begun) noexcept {
  if (command->error == nullptr) command->error = std::move(error);
  ClEvent finished;
  try {
    finished = refuse(*command, pending_events(*command), !stopping_ && lost_ == nullptr, begun);
  } catch (...) {
    // The driver refuses the copies, too, or memory has run out; the command's own error is
    // reported.
  }
  started(command, std::move(finished), std::move(begun));
}

// Fails a command that has not started, and calls its listeners now. The command keeps its place in
// the order of its buffers until `dispatch` gives it up.
void Scheduler::doom(Command& command, ErrorPtr error) noexcept {
  command.error = std::move(error);
  command.early.command = command.shared_from_this();
  command.early.listeners = std::move(command.listeners);
  command.early.error = command.error;
  command.listeners.clear();
  ended_.push(command.early);
}

// Takes the doomed commands out of a client's line.
void Scheduler::leave_line(ClientLine& line) noexcept {
  if (line.ready.empty()) return;
  const Command* first = line.ready.front();
  auto all = line.ready.take();
  while (Command* command = all.pop()) {
    if (command->error != nullptr) {
      doomed_.push(*command);
    } else {
      line.ready.push(*command);
    }
  }
  if (line.ready.front() == first) return;
  brief_turns_.remove(line);
  long_turns_.remove(line);
  if (!line.ready.empty()) line_up(line);
}

Scheduler::Cancelled Scheduler::cancel(CommandId id) {
  const auto error =
      std::make_shared<const Error>(Reason::cancelled, text("command ", id, " was cancelled"));
  Lock lock(*this);
  if (id == 0 || id >= next_id_) return Cancelled::unknown;
  const auto found = commands_.find(id);
  if (found == commands_.end()) {
    const auto failed = failed_.find(id);
    const bool before =
        failed != failed_.end() && failed->second->error->reason == Reason::cancelled;
    return before ? Cancelled::yes : Cancelled::ended;
  }
  Command& command = *found->second;
  if (command.error != nullptr) {
    return command.error->reason == Reason::cancelled ? Cancelled::yes : Cancelled::ended;
  }
  if (command.state == Command::State::running && !command.goes_on()) return Cancelled::started;
  doom(command, error);
  leave_line(*command.line);
  return Cancelled::yes;
}

CommandId Scheduler::drop_client(uint64_t client, CommandId from) {
  constexpr size_t kLooked = 1024;
  constexpr size_t kDropped = 64;
  Lock lock(*this);
  size_t looked = 0;
  size_t dropped = 0;
  CommandId next = 0;
  for (auto place = commands_.lower_bound(from); place != commands_.end(); ++place) {
    const CommandId id = place->first;
    Command& command = *place->second;
    if (++looked > kLooked || dropped == kDropped) {
      next = id;
      break;
    }
    if (command.client_key() != client || command.shared || command.error != nullptr) continue;
    if (command.state == Command::State::running && !command.goes_on()) continue;
    doom(command, shared_error([id] { return dropped_error(id); }));
    ++dropped;
  }
  if (dropped > 0) leave_line(lines_.at(client));
  return next;
}

// Removes a finished command; the latest failures are remembered.
void Scheduler::forget(Command& command) noexcept {
  command.state = Command::State::done;
  command.finished = ClEvent();
  command.begun.clear();
  command.dependencies.clear();
  command.profile.reset();
  command.last.command = command.shared_from_this();
  command.last.error = command.error;
  command.last.parts = std::move(command.parts);
  command.last.refused = std::move(command.refused);
  command.last.rounds = std::move(command.rounds);
  command.parts.clear();
  command.refused.clear();
  ended_.push(command.last);
  if (command.line != nullptr && --command.line->pending == 0) lines_.erase(command.client_key());
  command.line = nullptr;
  auto place = commands_.extract(command.id);
  if (command.error == nullptr) return;
  command.client.reset();
  failed_.insert(std::move(place));
  if (failed_.size() > kFailuresKept) failed_.erase(failed_.begin());
}

// For commands whose end no callback announces. Ownership: the command owns the events, and
// `commands_` the command, until `poll_events` has found all of them complete.
void Scheduler::poll_for_end(Command& command) noexcept {
  polled_.push(command);
  ticker_.wake();
}

void Scheduler::poll_events() noexcept {
  auto all = polled_.take();
  while (Command* command = all.pop()) {
    if (const std::optional<cl_int> status = end_of(*command)) {
      record(*command, *status);
    } else {
      polled_.push(*command);
    }
  }
}

// Runs on the ticker's thread. Returns the time until the next call.
std::chrono::milliseconds Scheduler::tick() noexcept {
  Lock lock(*this);
  poll_events();
  try {
    check_timeout();
  } catch (const std::exception&) {
    // Out of memory for the error: the next call retries.
  }
  const std::chrono::milliseconds longest(1000);
  const auto watch = std::clamp(kernel_timeout_ / 10, kPollPeriod, longest);
  if (!polled_.empty()) return kPollPeriod;
  return kernel_timeout_.count() > 0 ? watch : std::chrono::milliseconds(0);
}

void Scheduler::check_timeout() {
  if (kernel_timeout_.count() == 0 || lost_ != nullptr || oldest_ == nullptr) return;
  const auto elapsed = Clock::now() - oldest_since_;
  if (elapsed < kernel_timeout_) return;
  const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(elapsed);
  lose(Error(Reason::device_error,
             text("the device is lost: command ", oldest_->id, " (", name_of(*oldest_),
                  ") has been on it for ", spent.count(), " ms, longer than the kernel_timeout of ",
                  kernel_timeout_.count(), " ms; restart the VM to use it again")));
}

void Scheduler::lose_device(const Error& error) {
  Lock lock(*this);
  lose(error);
}

std::optional<Error> Scheduler::lost() {
  Lock lock(*this);
  if (lost_ == nullptr) return std::nullopt;
  return *lost_;
}

void Scheduler::require_device() const {
  if (lost_ != nullptr) throw *lost_;
}

// A buffer whose content did not reach the device cannot be read until it is overwritten as a
// whole: its memory is undefined.
void Scheduler::require_content(const Storage& storage) {
  const CommandPtr& writer = storage.writer_;
  if (writer != nullptr && writer->fills && writer->error != nullptr) throw *writer->error;
}

// The same check for commands submitted before the failure was known.
ErrorPtr Scheduler::undefined_input(const Command& command) noexcept {
  for (const CommandPtr& other : command.dependencies) {
    if (other->fills && other->error != nullptr) return other->error;
  }
  return nullptr;
}

void Scheduler::lose(const Error& error) {
  if (lost_ != nullptr) return;
  lost_ = std::make_shared<const Error>(error);
  tell_lost_ = true;
  for (auto& [client, line] : lines_) line.ready = {};
  brief_turns_ = {};
  long_turns_ = {};
  doomed_ = {};
  for (auto place = commands_.begin(); place != commands_.end();) {
    Command& command = *(place++)->second;
    if (command.error == nullptr) doom(command, lost_);
    // A command that has already failed keeps its own error.
    if (!command.listeners.empty() || !command.end_listeners.empty()) {
      command.lost.command = command.shared_from_this();
      command.lost.listeners = std::move(command.listeners);
      command.lost.end_listeners = std::move(command.end_listeners);
      command.lost.error = command.error;
      command.listeners.clear();
      command.end_listeners.clear();
      ended_.push(command.lost);
    }
    command.dependents.clear();
    // A running kernel may still access its memory, so its command stays until the device reports
    // its end, if it ever does.
    if (command.state != Command::State::running) forget(command);
  }
}

}  // namespace dala
