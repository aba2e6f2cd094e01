#include "runtime/schedule/profile.hpp"

#include <algorithm>
#include <vector>

#include "runtime/schedule/command.hpp"

namespace dala {
namespace {

StepTime times_of(const ClEvent& event) {
  const auto at = [&event](cl_profiling_info moment) {
    return static_cast<int64_t>(event_time(event.get(), moment));
  };
  return {at(CL_PROFILING_COMMAND_QUEUED), at(CL_PROFILING_COMMAND_START),
          at(CL_PROFILING_COMMAND_END)};
}

}  // namespace

cl_ulong event_time(cl_event event, cl_profiling_info moment) {
  cl_ulong time = 0;
  const cl_int status = cl().clGetEventProfilingInfo(event, moment, sizeof(time), &time, nullptr);
  return status == CL_SUCCESS ? time : 0;
}

void Profile::add(const BoundStage& stage) {
  if (stage.launch == nullptr) return;
  std::vector<StepTime> times = stage.times;
  for (const ClEvent& event : stage.events) times.push_back(times_of(event));
  if (times.empty()) return;
  double running = 0;
  for (const StepTime& step : times) {
    running += static_cast<double>(std::max<int64_t>(step.ended - step.started, 0));
  }
  const StepTime& first = times.front();

  const std::lock_guard lock(mutex_);
  KernelProfile& kernel = kernels_[stage.launch->name];
  kernel.count += 1;
  kernel.device_ns += running;
  kernel.queue_ns += static_cast<double>(std::max<int64_t>(first.started - first.queued, 0));
  kernel.bytes += stage.launch->bytes;
  kernel.operations += stage.launch->operations();
}

std::map<std::string, KernelProfile> Profile::kernels() const {
  const std::lock_guard lock(mutex_);
  return kernels_;
}

}  // namespace dala
