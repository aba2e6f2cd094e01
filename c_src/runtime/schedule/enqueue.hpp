// Enqueues the parts of a command on the device, ordered by events.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "runtime/device/cl_api.hpp"
#include "runtime/schedule/command.hpp"

namespace dala {

class Device;
class KernelStore;
class MemoryPool;

class Enqueuer {
 public:
  // `store` belongs to a driver that compiles at launch, or is null.
  Enqueuer(const Device& device, MemoryPool& memory, KernelStore* store);

  // Allocates the parts' scratch, unless they have it, so that running out of memory is found
  // before anything is enqueued. Parts that take much of it share it, and follow each other.
  void provide_scratch(std::vector<BoundStage>& parts);
  // The same for trusted parts that are executed strictly one after the other: they share it.
  void share_scratch(std::vector<BoundStage>& parts);

  // Enqueues every part. Parts start after `wait_for` and after the parts that they follow; the
  // returned event completes when all parts have, and is null if there was nothing to wait for.
  // With `keep_events`, the parts keep the events of all steps.
  //
  // Throws if scratch cannot be allocated or the driver refuses a step. `begun` then has the events
  // of the steps that were enqueued: the parts must keep their memory until these are complete.
  // Never waits for the main queue.
  ClEvent enqueue(std::vector<BoundStage>& parts, const std::vector<cl_event>& wait_for,
                  bool keep_events, std::vector<ClEvent>& begun);

  // An event that is complete when all of these are.
  ClEvent marker(const std::vector<cl_event>& wait_for);

 private:
  void copy_shown_inputs(BoundStage& part);
  ClEvent enqueue_all(std::vector<BoundStage>& parts, const std::vector<cl_event>& wait_for,
                      bool keep_events, std::vector<ClEvent>& begun);
  ClEvent enqueue_part(BoundStage& part, std::vector<cl_event> wait_for, bool keep_events,
                       std::vector<ClEvent>& begun);
  ClEvent enqueue_call(const CallStep& step, const BoundStage& part,
                       const std::vector<cl_event>& wait_for);
  ClEvent enqueue_step(const Step& step, const BoundStage& part,
                       const std::vector<cl_event>& wait_for, std::vector<ClEvent>& begun);
  ClEvent enqueue_kernel(Program& program, const std::string& entry, const Range& range,
                         const std::vector<cl_event>& wait_for, std::vector<ClEvent>& begun,
                         const std::function<void(cl_kernel)>& set_arguments);

  const Device& device_;
  MemoryPool& memory_;
  KernelStore* const store_;
  const bool keep_growth_apart_;
  std::mutex kernel_mutex_;  // makes setting a kernel's arguments and enqueueing it atomic
};

}  // namespace dala
