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
class MemoryPool;

class Enqueuer {
 public:
  Enqueuer(const Device& device, MemoryPool& memory);

  // Enqueues every part. They start after `wait_for` and after the parts they name; the event
  // returned is complete when all of them are, and null when there was nothing to wait for. Throws
  // when there is no room for scratch or the driver refuses; then nothing is left on the device.
  // `keep_events` leaves the events of all steps in the parts.
  ClEvent enqueue(std::vector<BoundStage>& parts, const std::vector<cl_event>& wait_for,
                  bool keep_events);

 private:
  ClEvent enqueue_all(std::vector<BoundStage>& parts, const std::vector<Sequence>& sequences,
                      const std::vector<cl_event>& wait_for, bool keep_events);
  ClEvent enqueue_part(BoundStage& part, std::vector<cl_event> wait_for, bool keep_events);
  ClEvent enqueue_step(const Step& step, const BoundStage& part,
                       const std::vector<cl_event>& wait_for);
  ClEvent enqueue_sequence(const Sequence& sequence, std::vector<BoundStage>& parts,
                           const std::vector<cl_event>& wait_for);
  ClEvent enqueue_kernel(Program& program, const std::string& entry, const Range& range,
                         const std::vector<cl_event>& wait_for,
                         const std::function<void(cl_kernel)>& set_arguments);
  ClEvent marker(const std::vector<cl_event>& wait_for);

  const Device& device_;
  MemoryPool& memory_;
  const bool keep_growth_apart_;
  std::mutex kernel_mutex_;  // setting a kernel's arguments and enqueueing it is one action
};

}  // namespace dala
