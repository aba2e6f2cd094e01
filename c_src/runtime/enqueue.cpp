#include "runtime/enqueue.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/device.hpp"
#include "runtime/memory_pool.hpp"
#include "runtime/program.hpp"

namespace dala {
namespace {

cl_mem resolve(const Operand& operand, const BoundStage& part) {
  const auto index = static_cast<size_t>(operand.index);
  switch (operand.kind) {
    case Operand::Kind::input:
      return part.inputs.at(index)->memory();
    case Operand::Kind::scratch:
      return part.scratch.at(index)->memory();
    case Operand::Kind::output:
      return part.outputs.at(index).storage->memory();
  }
  return nullptr;
}

const cl_event* data_or_null(const std::vector<cl_event>& events) {
  return events.empty() ? nullptr : events.data();
}

cl_uint count(const std::vector<cl_event>& events) { return static_cast<cl_uint>(events.size()); }

ClEvent retain(const ClEvent& event) {
  cl().clRetainEvent(event.get());
  return ClEvent(event.get());
}

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

}  // namespace

Enqueuer::Enqueuer(const Device& device, MemoryPool& memory)
    : device_(device), memory_(memory), keep_growth_apart_(device.reloads_for_wider_grids()) {}

ClEvent Enqueuer::enqueue(std::vector<BoundStage>& parts, const std::vector<cl_event>& wait_for,
                          bool keep_events) {
  // All scratch first: running out of memory is then found before anything is on the device.
  for (BoundStage& part : parts) {
    if (part.launch == nullptr) continue;
    for (size_t bytes : part.launch->scratch) part.scratch.push_back(memory_.allocate(bytes));
  }
  std::vector<Sequence> sequences;
  // Where somebody profiles, each step has an event of its own.
  if (parts.size() > 1 && !keep_events) sequences = sequences_of(parts);
  for (const Sequence& sequence : sequences) {
    parts[sequence.first].scratch.push_back(memory_.allocate(sequence.bytes));
  }
  try {
    return enqueue_all(parts, sequences, wait_for, keep_events);
  } catch (...) {
    // The driver refused half-way. The caller lets go of the memory now, so what did get onto
    // the device has to end first.
    cl().clFinish(device_.queue());
    throw;
  }
}

ClEvent Enqueuer::enqueue_all(std::vector<BoundStage>& parts,
                              const std::vector<Sequence>& sequences,
                              const std::vector<cl_event>& wait_for, bool keep_events) {
  std::vector<ClEvent> events(parts.size());
  std::vector<size_t> leader(parts.size());  // the part that has its event: its sequence's first
  std::vector<bool> followed(parts.size(), false);
  auto sequence = sequences.begin();
  for (size_t i = 0, end = 0; i < parts.size(); i = end) {
    const bool many = sequence != sequences.end() && sequence->first == i;
    end = many ? sequence->end : i + 1;
    std::set<size_t> earlier;
    std::vector<cl_event> own;
    for (size_t part = i; part < end; ++part) {
      leader[part] = i;
      // A part that follows others starts after what they started after.
      if (parts[part].after.empty()) own = wait_for;
      for (size_t other : parts[part].after) earlier.insert(leader[other]);
    }
    earlier.erase(i);
    for (size_t other : earlier) {
      followed[other] = true;
      if (events[other]) own.push_back(events[other].get());
    }
    events[i] = many ? enqueue_sequence(*sequence++, parts, own)
                     : enqueue_part(parts[i], std::move(own), keep_events);
  }
  std::vector<cl_event> last;
  ClEvent* only = nullptr;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (followed[i] || !events[i]) continue;
    only = &events[i];
    last.push_back(events[i].get());
  }
  ClEvent finished;
  // Nothing to run: whoever follows this command still follows what it followed.
  if (parts.empty() && !wait_for.empty()) finished = marker(wait_for);
  if (last.size() == 1) finished = std::move(*only);
  if (last.size() > 1) finished = marker(last);
  if (finished) check(cl().clFlush(device_.queue()), "clFlush");
  return finished;
}

ClEvent Enqueuer::enqueue_part(BoundStage& part, std::vector<cl_event> wait_for, bool keep_events) {
  // A part with nothing to run still passes the order on to those that name it.
  if (part.launch == nullptr || part.launch->steps.empty()) {
    return wait_for.empty() ? ClEvent() : marker(wait_for);
  }
  std::vector<ClEvent> events;  // of the steps so far: `wait_for` only borrows them
  for (const BoundOutput& output : part.outputs) {
    if (output.previous == nullptr || part.launch->overwrites_output) continue;
    cl_event copied = nullptr;
    check(cl().clEnqueueCopyBuffer(device_.queue(), output.previous->memory(),
                                   output.storage->memory(), 0, 0, output.storage->bytes(),
                                   count(wait_for), data_or_null(wait_for), &copied),
          "clEnqueueCopyBuffer");
    events.emplace_back(copied);
    wait_for.assign(1, copied);
  }
  for (const Step& step : part.launch->steps) {
    events.push_back(enqueue_step(step, part, wait_for));
    wait_for.assign(1, events.back().get());
  }
  ClEvent last = keep_events ? retain(events.back()) : std::move(events.back());
  if (keep_events) part.events = std::move(events);
  return last;
}

ClEvent Enqueuer::enqueue_step(const Step& step, const BoundStage& part,
                               const std::vector<cl_event>& wait_for) {
  const cl_command_queue queue = device_.queue();
  cl_event event = nullptr;
  if (const auto* kernel = std::get_if<KernelStep>(&step)) {
    return enqueue_kernel(*kernel->program, kernel->entry, kernel->range, wait_for,
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
      check(cl().clEnqueueWriteBuffer(queue, memory, CL_FALSE, 0, host->bytes, host->host,
                                      count(wait_for), data_or_null(wait_for), &event),
            "clEnqueueWriteBuffer");
    } else {
      check(cl().clEnqueueReadBuffer(queue, memory, CL_FALSE, 0, host->bytes, host->host,
                                     count(wait_for), data_or_null(wait_for), &event),
            "clEnqueueReadBuffer");
    }
  } else {
    // The library enqueues on the in-order queue: a barrier before holds its commands back, a
    // marker after tells when they are done.
    const auto& call = std::get<CallStep>(step);
    const cl_command_queue in_order = device_.call_queue();
    if (!wait_for.empty()) {
      check(cl().clFlush(queue), "clFlush");
      check(cl().clEnqueueBarrierWithWaitList(in_order, count(wait_for), wait_for.data(), nullptr),
            "clEnqueueBarrierWithWaitList");
    }
    call.call(in_order, [&part](Operand operand) { return resolve(operand, part); });
    check(cl().clEnqueueMarkerWithWaitList(in_order, 0, nullptr, &event),
          "clEnqueueMarkerWithWaitList");
    check(cl().clFlush(in_order), "clFlush");
  }
  return ClEvent(event);
}

ClEvent Enqueuer::enqueue_sequence(const Sequence& sequence, std::vector<BoundStage>& parts,
                                   const std::vector<cl_event>& wait_for) {
  const StoragePtr& steps = parts[sequence.first].scratch.back();
  write_steps(sequence, parts, steps->host());
  Range range;
  range.global[0] = device_.info().compute_units;
  return enqueue_kernel(*sequence.program, "run_sequence", range, wait_for, [&](cl_kernel object) {
    const cl_mem memory = steps->memory();
    const auto count = static_cast<cl_uint>(sequence.steps);
    check(cl().clSetKernelArg(object, 0, sizeof(memory), &memory), "clSetKernelArg");
    check(cl().clSetKernelArg(object, 1, sizeof(count), &count), "clSetKernelArg");
    const size_t local = std::max<size_t>(sequence.local_bytes, 64);
    check(cl().clSetKernelArg(object, 2, local, nullptr), "clSetKernelArg");
  });
}

ClEvent Enqueuer::enqueue_kernel(Program& program, const std::string& entry, const Range& range,
                                 const std::vector<cl_event>& wait_for,
                                 const std::function<void(cl_kernel)>& set_arguments) {
  std::lock_guard lock(kernel_mutex_);
  Program::Kernel& shared = program.kernel(entry);
  set_arguments(shared.object.get());
  GridGrowth* growth = keep_growth_apart_ ? &shared.growth[range.local] : nullptr;
  const size_t width = GridGrowth::width_of(range.global, range.local);
  std::vector<cl_event> all = wait_for;
  if (growth != nullptr) growth->wait_for_others(width, all);
  cl_event event = nullptr;
  check(cl().clEnqueueNDRangeKernel(
            device_.queue(), shared.object.get(), static_cast<cl_uint>(range.dimensions), nullptr,
            range.global.data(), range.local.data(), count(all), data_or_null(all), &event),
        "clEnqueueNDRangeKernel");
  if (growth != nullptr) growth->launched(width, event);
  return ClEvent(event);
}

ClEvent Enqueuer::marker(const std::vector<cl_event>& wait_for) {
  cl_event event = nullptr;
  check(cl().clEnqueueMarkerWithWaitList(device_.queue(), count(wait_for), wait_for.data(), &event),
        "clEnqueueMarkerWithWaitList");
  return ClEvent(event);
}

}  // namespace dala
