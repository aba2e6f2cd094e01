#include "runtime/schedule/enqueue.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/device/device.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/program/kernel_store.hpp"
#include "runtime/program/program.hpp"

namespace dala {
namespace {

// Bytes of scratch above which the parts of a command share it, and no longer overlap.
constexpr size_t kMostScratchApart = 16 * 1024 * 1024;

// The cache key of kernels that libraries compile themselves.
constexpr const char* kLibraryKey = "libraries";

cl_mem resolve(const Operand& operand, const BoundStage& part) {
  return storage_of(operand, part)->memory();
}

const cl_event* data_or_null(const std::vector<cl_event>& events) {
  return events.empty() ? nullptr : events.data();
}

cl_uint count(const std::vector<cl_event>& events) { return static_cast<cl_uint>(events.size()); }

void set_arguments(cl_kernel kernel, const KernelStep& step, const BoundStage& part) {
  cl_uint index = 0;
  for (const Argument& argument : step.arguments) {
    cl_int status = CL_SUCCESS;
    if (const auto* operand = std::get_if<Operand>(&argument)) {
      const cl_mem memory = resolve(*operand, part);
      status = cl().clSetKernelArg(kernel, index, sizeof(memory), &memory);
    } else if (const auto* by_value = std::get_if<Value>(&argument)) {
      status = cl().clSetKernelArg(kernel, index, by_value->bytes.size(), by_value->bytes.data());
    } else {
      status = cl().clSetKernelArg(kernel, index, std::get<LocalMemory>(argument).bytes, nullptr);
    }
    check(status, "clSetKernelArg");
    ++index;
  }
}

size_t missing_scratch(const std::vector<BoundStage>& parts) {
  size_t bytes = 0;
  for (const BoundStage& part : parts) {
    if (part.launch == nullptr || !part.scratch.empty()) continue;
    for (size_t each : part.launch->scratch) bytes += each;
  }
  return bytes;
}

// Parts that share their scratch run one after the other.
void follow_in_scratch(std::vector<BoundStage>& parts) {
  std::optional<size_t> last;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].scratch.empty()) continue;
    if (last) parts[i].after.push_back(*last);
    last = i;
  }
}

}  // namespace

Enqueuer::Enqueuer(const Device& device, MemoryPool& memory, KernelStore* store)
    : device_(device),
      memory_(memory),
      store_(store),
      keep_growth_apart_(device.reloads_for_wider_grids()) {}

ClEvent Enqueuer::enqueue(std::vector<BoundStage>& parts, const std::vector<cl_event>& wait_for,
                          bool keep_events, std::vector<ClEvent>& begun) {
  provide_scratch(parts);
  // At most one event per part, and two for the part in which the driver refuses a step. The events
  // of enqueued work must not be lost to a failed allocation.
  begun.reserve(begun.size() + parts.size() + 1);
  return enqueue_all(parts, wait_for, keep_events, begun);
}

void Enqueuer::provide_scratch(std::vector<BoundStage>& parts) {
  if (missing_scratch(parts) > kMostScratchApart) {
    share_scratch(parts);
    follow_in_scratch(parts);
  }
  for (BoundStage& part : parts) {
    if (part.launch == nullptr) continue;
    while (part.scratch.size() < part.launch->scratch.size()) {
      part.scratch.push_back(memory_.allocate(part.launch->scratch[part.scratch.size()]));
    }
    if (!part.launch->trusted && part.originals.empty()) copy_shown_inputs(part);
  }
}

void Enqueuer::share_scratch(std::vector<BoundStage>& parts) {
  std::vector<size_t> sizes;
  for (const BoundStage& part : parts) {
    if (part.launch == nullptr) continue;
    const std::vector<size_t>& wanted = part.launch->scratch;
    sizes.resize(std::max(sizes.size(), wanted.size()));
    for (size_t i = 0; i < wanted.size(); ++i) sizes[i] = std::max(sizes[i], wanted[i]);
  }
  std::vector<StoragePtr> areas;
  for (size_t bytes : sizes) areas.push_back(memory_.allocate(bytes));
  for (BoundStage& part : parts) {
    if (part.launch == nullptr) continue;
    const auto count = static_cast<std::ptrdiff_t>(part.launch->scratch.size());
    part.scratch.assign(areas.begin(), areas.begin() + count);
  }
}

// An untrusted launch gets copies of exported inputs.
void Enqueuer::copy_shown_inputs(BoundStage& part) {
  for (size_t i = 0; i < part.inputs.size(); ++i) {
    if (part.inputs[i]->bytes() == 0 || !part.inputs[i]->shown()) continue;
    StoragePtr copy = memory_.allocate(part.inputs[i]->bytes());
    part.originals.emplace_back(i, std::exchange(part.inputs[i], std::move(copy)));
  }
}

ClEvent Enqueuer::enqueue_all(std::vector<BoundStage>& parts, const std::vector<cl_event>& wait_for,
                              bool keep_events, std::vector<ClEvent>& begun) {
  std::vector<ClEvent> events(parts.size());
  try {
    std::vector<bool> followed(parts.size(), false);
    for (size_t i = 0; i < parts.size(); ++i) {
      // A part that follows others inherits their dependencies.
      std::vector<cl_event> own;
      if (parts[i].after.empty()) own = wait_for;
      for (size_t other : parts[i].after) {
        followed[other] = true;
        if (events[other]) own.push_back(events[other].get());
      }
      events[i] = enqueue_part(parts[i], std::move(own), keep_events, begun);
    }
    std::vector<cl_event> last;
    size_t only = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (followed[i] || !events[i]) continue;
      only = i;
      last.push_back(events[i].get());
    }
    if (parts.empty()) last = wait_for;  // keeps the order between commands
    if (last.empty()) return {};
    ClEvent finished =
        parts.empty() || last.size() > 1 ? marker(last) : retained(events[only].get());
    check(cl().clFlush(device_.queue()), "clFlush");
    return finished;
  } catch (...) {
    for (ClEvent& event : events) {
      if (event) begun.push_back(std::move(event));
    }
    throw;
  }
}

ClEvent Enqueuer::enqueue_part(BoundStage& part, std::vector<cl_event> wait_for, bool keep_events,
                               std::vector<ClEvent>& begun) {
  // A part without steps still passes its dependencies on.
  if (part.launch == nullptr || part.launch->steps.empty()) {
    return wait_for.empty() ? ClEvent() : marker(wait_for);
  }
  std::vector<ClEvent> events;  // owns the events that `wait_for` borrows
  events.reserve(part.outputs.size() + part.originals.size() + part.launch->steps.size());
  if (wait_for.empty()) wait_for.reserve(1);
  const auto copy = [&](const Storage& from, const Storage& to) {
    cl_event copied = nullptr;
    check(cl().clEnqueueCopyBuffer(device_.queue(), from.memory(), to.memory(), 0, 0, to.bytes(),
                                   count(wait_for), data_or_null(wait_for), &copied),
          "clEnqueueCopyBuffer");
    events.emplace_back(copied);
    wait_for.assign(1, copied);
  };
  try {
    for (const BoundOutput& output : part.outputs) {
      if (output.previous == nullptr || part.launch->overwrites_output) continue;
      copy(*output.previous, *output.storage);
    }
    for (const auto& [input, original] : part.originals) copy(*original, *part.inputs[input]);
    for (const Step& step : part.launch->steps) {
      events.push_back(enqueue_step(step, part, wait_for, begun));
      wait_for.assign(1, events.back().get());
    }
    if (!keep_events) return std::move(events.back());
    ClEvent last = retained(events.back().get());
    part.events = std::move(events);
    return last;
  } catch (...) {
    // Steps are chained, so the last event stands for all of them.
    if (!events.empty()) begun.push_back(std::move(events.back()));
    throw;
  }
}

ClEvent Enqueuer::enqueue_step(const Step& step, const BoundStage& part,
                               const std::vector<cl_event>& wait_for, std::vector<ClEvent>& begun) {
  const cl_command_queue queue = device_.queue();
  cl_event event = nullptr;
  if (const auto* kernel = std::get_if<KernelStep>(&step)) {
    return enqueue_kernel(*kernel->program, kernel->entry, kernel->range, wait_for, begun,
                          [&](cl_kernel object) { set_arguments(object, *kernel, part); });
  } else if (const auto* copy = std::get_if<CopyStep>(&step)) {
    check(cl().clEnqueueCopyBuffer(queue, resolve(copy->from, part), resolve(copy->to, part), 0, 0,
                                   copy->bytes, count(wait_for), data_or_null(wait_for), &event),
          "clEnqueueCopyBuffer");
  } else if (const auto* fill = std::get_if<FillStep>(&step)) {
    check(cl().clEnqueueFillBuffer(queue, resolve(fill->to, part), fill->pattern.bytes.data(),
                                   fill->pattern.bytes.size(), 0, fill->bytes, count(wait_for),
                                   data_or_null(wait_for), &event),
          "clEnqueueFillBuffer");
  } else if (const auto* host = std::get_if<HostCopyStep>(&step)) {
    const cl_mem memory = resolve(host->device, part);
    if (host->direction == HostCopyStep::Direction::to_device) {
      check(cl().clEnqueueWriteBuffer(queue, memory, CL_FALSE, host->offset, host->bytes,
                                      host->host, count(wait_for), data_or_null(wait_for), &event),
            "clEnqueueWriteBuffer");
    } else {
      check(cl().clEnqueueReadBuffer(queue, memory, CL_FALSE, host->offset, host->bytes, host->host,
                                     count(wait_for), data_or_null(wait_for), &event),
            "clEnqueueReadBuffer");
    }
  } else {
    return enqueue_call(std::get<CallStep>(step), part, wait_for);
  }
  return ClEvent(event);
}

// The library enqueues on the in-order queue, between a barrier that holds its commands back and a
// marker that signals their completion. Runs on a worker thread, without the scheduler's lock.
ClEvent Enqueuer::enqueue_call(const CallStep& step, const BoundStage& part,
                               const std::vector<cl_event>& wait_for) {
  const cl_command_queue in_order = device_.call_queue();
  ClEvent finished;
  // The library builds its own programs.
  std::optional<KernelStore::Build> build;
  if (store_ != nullptr) build.emplace(*store_, kLibraryKey);
  try {
    if (!wait_for.empty()) {
      check(cl().clFlush(device_.queue()), "clFlush");
      check(cl().clEnqueueBarrierWithWaitList(in_order, count(wait_for), wait_for.data(), nullptr),
            "clEnqueueBarrierWithWaitList");
    }
    step.call(in_order, [&part](Operand operand) { return resolve(operand, part); });
    cl_event event = nullptr;
    check(cl().clEnqueueMarkerWithWaitList(in_order, 0, nullptr, &event),
          "clEnqueueMarkerWithWaitList");
    finished = ClEvent(event);
    check(cl().clFlush(in_order), "clFlush");
    if (build) {
      build->succeeded();
      store_->launched(kLibraryKey, finished.get());
    }
  } catch (...) {
    // The library may have enqueued some of its commands, which must end first.
    cl().clFinish(in_order);
    throw;
  }
  return finished;
}

ClEvent Enqueuer::enqueue_kernel(Program& program, const std::string& entry, const Range& range,
                                 const std::vector<cl_event>& wait_for, std::vector<ClEvent>& begun,
                                 const std::function<void(cl_kernel)>& set_arguments) {
  std::lock_guard lock(kernel_mutex_);
  Program::Kernel& shared = program.kernel(entry);
  set_arguments(shared.object.get());
  GridGrowth* growth = keep_growth_apart_ ? &shared.growth[range.local] : nullptr;
  const size_t width = GridGrowth::width_of(range.global, range.local);
  const bool compiles = store_ != nullptr && growth != nullptr && growth->grows(width);
  if (compiles) store_->require_room();
  std::vector<cl_event> all = wait_for;
  if (growth != nullptr) growth->wait_for_others(width, all);
  cl_event event = nullptr;
  check(cl().clEnqueueNDRangeKernel(
            device_.queue(), shared.object.get(), static_cast<cl_uint>(range.dimensions), nullptr,
            range.global.data(), range.local.data(), count(all), data_or_null(all), &event),
        "clEnqueueNDRangeKernel");
  ClEvent launched(event);
  if (compiles) store_->launched(program.key(), event);
  try {
    if (growth != nullptr) growth->launched(width, event);
  } catch (...) {
    begun.push_back(std::move(launched));
    throw;
  }
  return launched;
}

ClEvent Enqueuer::marker(const std::vector<cl_event>& wait_for) {
  cl_event event = nullptr;
  check(cl().clEnqueueMarkerWithWaitList(device_.queue(), count(wait_for), wait_for.data(), &event),
        "clEnqueueMarkerWithWaitList");
  return ClEvent(event);
}

}  // namespace dala
