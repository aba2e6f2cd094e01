// A command that is accepted before its stages are known. It has its id and its place in the order
// of its buffers, and waits like a command whose programs are being built: it can be polled, waited
// for, cancelled and dropped.
//
// Ownership: the scheduler owns the command, and this object the right to complete it. The job that
// plans the stages owns this object, which must not outlive the scheduler.
#pragma once

#include <memory>
#include <vector>

#include "runtime/schedule/scheduler.hpp"

namespace dala {

class Reservation {
 public:
  // Drops the command if it has no stages yet.
  ~Reservation();
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  CommandId id() const { return command_->id; }
  // Buffers for the stages, with the memory that the inputs and the output have at the command's
  // place in the order, whatever is submitted later.
  const std::vector<BufferPtr>& inputs() const { return inputs_; }
  const BufferPtr& output() const { return output_; }

  // False if the command was cancelled or dropped, so that its stages are not needed.
  bool wanted();

  // Gives the command its stages. They may share memory with other commands, such as the arena of a
  // model's plan, whose hazards begin here. Returns false, without a change, if this command would
  // have to wait for a later one, which may wait for it in turn; the caller then passes stages with
  // memory of their own, and `always`. Throws as Scheduler::submit does.
  bool resolve(const std::vector<Stage>& stages, bool always);
  void fail(ErrorPtr error) noexcept;

 private:
  friend class Scheduler;
  explicit Reservation(Scheduler& scheduler) : scheduler_(scheduler) {}

  Scheduler& scheduler_;
  CommandPtr command_;  // null until entered
  bool open_ = true;    // neither resolved nor failed
  std::vector<BufferPtr> inputs_;
  BufferPtr output_;
};

}  // namespace dala
