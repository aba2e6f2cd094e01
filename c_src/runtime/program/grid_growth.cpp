#include "runtime/program/grid_growth.hpp"

#include <algorithm>
#include <utility>

namespace dala {
namespace {

constexpr size_t kManyEvents = 16;

void append(const std::vector<ClEvent>& events, std::vector<cl_event>& to) {
  for (const ClEvent& event : events) to.push_back(event.get());
}

}  // namespace

void GridGrowth::wait_for_others(size_t width, std::vector<cl_event>& wait_for) {
  // Reserves space for the event of the launch that follows, which cannot be undone.
  if (since_.size() >= kManyEvents) std::erase_if(since_, has_ended);
  if (since_.size() == since_.capacity()) {
    since_.reserve(std::max(kManyEvents, 2 * since_.size()));
  }
  if (growth_ && has_ended(growth_)) {
    growth_ = ClEvent();
    preceding_.clear();
  }
  if (width > widest_) {
    std::erase_if(since_, has_ended);
    append(since_, wait_for);
  } else if (growth_ && width == widest_) {
    append(preceding_, wait_for);
  } else if (growth_) {
    wait_for.push_back(growth_.get());
  }
}

void GridGrowth::launched(size_t width, cl_event event) {
  ClEvent kept = retained(event);
  if (width > widest_) {
    ClEvent growth = retained(event);
    std::vector<ClEvent> since;
    since.reserve(kManyEvents);
    widest_ = width;
    preceding_ = std::exchange(since_, std::move(since));
    growth_ = std::move(growth);
  }
  since_.push_back(std::move(kept));
}

}  // namespace dala
