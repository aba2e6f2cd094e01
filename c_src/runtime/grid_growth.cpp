#include "runtime/grid_growth.hpp"

#include <utility>

namespace dala {
namespace {

constexpr size_t kManyEvents = 16;

bool done(const ClEvent& event) {
  cl_int status = CL_QUEUED;
  const cl_int asked = cl().clGetEventInfo(event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS,
                                           sizeof(status), &status, nullptr);
  return asked != CL_SUCCESS || status <= CL_COMPLETE;
}

void append(const std::vector<ClEvent>& events, std::vector<cl_event>& to) {
  for (const ClEvent& event : events) to.push_back(event.get());
}

}  // namespace

void GridGrowth::wait_for_others(size_t width, std::vector<cl_event>& wait_for) {
  if (growth_ && done(growth_)) {
    growth_ = ClEvent();
    preceding_.clear();
  }
  if (width > widest_) {
    std::erase_if(since_, done);
    append(since_, wait_for);
  } else if (growth_ && width == widest_) {
    append(preceding_, wait_for);
  } else if (growth_) {
    wait_for.push_back(growth_.get());
  }
}

void GridGrowth::launched(size_t width, cl_event event) {
  const auto kept = [event] {
    cl().clRetainEvent(event);
    return ClEvent(event);
  };
  if (width > widest_) {
    widest_ = width;
    preceding_ = std::exchange(since_, {});
    growth_ = kept();
  } else if (since_.size() >= kManyEvents) {
    std::erase_if(since_, done);
  }
  since_.push_back(kept());
}

}  // namespace dala
