#include "runtime/profile.hpp"

#include "runtime/command.hpp"

namespace dala {

cl_ulong event_time(cl_event event, cl_profiling_info moment) {
  cl_ulong time = 0;
  const cl_int status = cl().clGetEventProfilingInfo(event, moment, sizeof(time), &time, nullptr);
  return status == CL_SUCCESS ? time : 0;
}

void Profile::add(const BoundStage& stage) {
  if (stage.launch == nullptr || stage.events.empty()) return;
  double running = 0;
  for (const ClEvent& event : stage.events) {
    const cl_ulong start = event_time(event.get(), CL_PROFILING_COMMAND_START);
    const cl_ulong end = event_time(event.get(), CL_PROFILING_COMMAND_END);
    if (end > start) running += static_cast<double>(end - start);
  }
  const cl_event first = stage.events.front().get();
  const cl_ulong queued = event_time(first, CL_PROFILING_COMMAND_QUEUED);
  const cl_ulong start = event_time(first, CL_PROFILING_COMMAND_START);

  const std::lock_guard lock(mutex_);
  KernelProfile& kernel = kernels_[stage.launch->name];
  kernel.count += 1;
  kernel.device_ns += running;
  if (start > queued) kernel.queue_ns += static_cast<double>(start - queued);
  kernel.bytes += stage.launch->bytes;
  kernel.operations += stage.launch->operations();
}

std::map<std::string, KernelProfile> Profile::kernels() const {
  const std::lock_guard lock(mutex_);
  return kernels_;
}

}  // namespace dala
