// Puts the parts of a command on the device's queue, with events for their order.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "runtime/cl_api.hpp"
#include "runtime/command.hpp"
#include "runtime/sequence.hpp"

namespace dala {

class Device;
class KernelStore;
class MemoryPool;

class Enqueuer {
 public:
  // `store` is that of a driver which compiles at launches, or null.
  Enqueuer(const Device& device, MemoryPool& memory, KernelStore* store);

  // Enqueues every part. They start after `wait_for` and after the parts they name; the event
  // returned is complete when all of them are, and null when there was nothing to wait for.
  // `keep_events` leaves the events of all steps in the parts.
  //
  // Throws when there is no room for scratch or the driver refuses. `begun` then has the events of
  // the steps that reached the device before: the parts must keep their memory until these are
  // complete. Never waits for the device on its main queue.
  ClEvent enqueue(std::vector<BoundStage>& parts, const std::vector<cl_event>& wait_for,
                  bool keep_events, std::vector<ClEvent>& begun);

  // An event that is complete when all of these are.
  ClEvent marker(const std::vector<cl_event>& wait_for);

 private:
  void copy_shown_inputs(BoundStage& part);
  ClEvent enqueue_all(std::vector<BoundStage>& parts, const std::vector<Sequence>& sequences,
                      const std::vector<cl_event>& wait_for, bool keep_events,
                      std::vector<ClEvent>& begun);
  ClEvent enqueue_part(BoundStage& part, std::vector<cl_event> wait_for, bool keep_events,
                       std::vector<ClEvent>& begun);
  ClEvent enqueue_call(const CallStep& step, const BoundStage& part,
                       const std::vector<cl_event>& wait_for);
  ClEvent enqueue_step(const Step& step, const BoundStage& part,
                       const std::vector<cl_event>& wait_for, std::vector<ClEvent>& begun);
  ClEvent enqueue_sequence(const Sequence& sequence, std::vector<BoundStage>& parts,
                           const std::vector<cl_event>& wait_for, std::vector<ClEvent>& begun);
  ClEvent enqueue_kernel(Program& program, const std::string& entry, const Range& range,
                         const std::vector<cl_event>& wait_for, std::vector<ClEvent>& begun,
                         const std::function<void(cl_kernel)>& set_arguments);

  const Device& device_;
  MemoryPool& memory_;
  KernelStore* const store_;
  const bool keep_growth_apart_;
  std::mutex kernel_mutex_;  // setting a kernel's arguments and enqueueing it is one action
};

}  // namespace dala
