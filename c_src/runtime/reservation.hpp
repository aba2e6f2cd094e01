// A command that was accepted before its stages are known. It has its id and its place in the order
// of its buffers, and waits like a command whose programs are being built: it can be polled, waited
// for, cancelled and dropped.
//
// Ownership: the scheduler owns the command, this object only its completion. It is owned by the
// job that works the stages out, and must not outlive the scheduler.
#pragma once

#include <memory>
#include <vector>

#include "runtime/scheduler.hpp"

namespace dala {

class Reservation {
 public:
  // A command that has no stages by then is dropped.
  ~Reservation();
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  CommandId id() const { return command_->id; }
  // Buffers to make the stages of: the memory that the inputs and the output have at the command's
  // place in the order, whatever is submitted later.
  const std::vector<BufferPtr>& inputs() const { return inputs_; }
  const BufferPtr& output() const { return output_; }

  // False: it was cancelled or dropped, so that its stages need not be worked out.
  bool wanted();

  // Gives the command its stages. They may share memory with other commands, such as the arena of a
  // model's plan, whose order only begins here. False, and nothing has changed, if this command
  // would have to wait for a later one, which may wait for it in turn: stages with memory of their
  // own are then needed, and `always`. Throws as Scheduler::submit does.
  bool resolve(const std::vector<Stage>& stages, bool always);
  // The command cannot run.
  void fail(ErrorPtr error) noexcept;

 private:
  friend class Scheduler;
  explicit Reservation(Scheduler& scheduler) : scheduler_(scheduler) {}

  Scheduler& scheduler_;
  CommandPtr command_;  // null until it is entered
  bool open_ = true;    // neither resolved nor failed
  std::vector<BufferPtr> inputs_;
  BufferPtr output_;
};

}  // namespace dala
