#include "runtime/executor/cpu_run.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/program/program.hpp"

namespace dala {
namespace {

constexpr size_t kAlignment = 128;     // the widest OpenCL vector
constexpr size_t kMostArguments = 64;  // per kernel
constexpr size_t kMoved = 256 * 1024;  // bytes per unit of a copy or fill
constexpr size_t kTurns = 8;           // units per thread and step, if there are enough
constexpr size_t kMostGroupsAtATime = 32;

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

int64_t now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

bool is_on_host(const Storage& storage) {
  return storage.host() != nullptr || storage.bytes() == 0;
}

// Doubles the filled part with each copy.
void fill(std::byte* to, size_t bytes, const Value& pattern) {
  const auto& value = pattern.bytes;
  const auto differs = [&](std::byte each) { return each != value.front(); };
  if (std::none_of(value.begin(), value.end(), differs)) {
    std::memset(to, static_cast<int>(value.front()), bytes);
    return;
  }
  constexpr size_t kMostAtATime = 4096;  // stays in the L1 cache
  size_t written = std::min(value.size(), bytes);
  std::memcpy(to, value.data(), written);
  while (written < bytes) {
    const size_t count =
        std::min({written, kMostAtATime / value.size() * value.size(), bytes - written});
    std::memcpy(to + written, to, count);
    written += count;
  }
}

size_t steps_of(const BoundStage& part) {
  return part.launch == nullptr ? 0 : part.launch->steps.size() + part.outputs.size();
}

size_t arguments_of(const BoundStage& part) {
  size_t count = 0;
  if (part.launch == nullptr) return 0;
  for (const Step& step : part.launch->steps) {
    if (const auto* kernel = std::get_if<KernelStep>(&step)) count += kernel->arguments.size();
  }
  return count;
}

template <typename Count>
size_t total(const std::vector<BoundStage>& parts, Count count) {
  size_t sum = 0;
  for (const BoundStage& part : parts) sum += count(part);
  return sum;
}

}  // namespace

void LocalMemoryOfThread::Free::operator()(std::byte* memory) const noexcept { std::free(memory); }

LocalMemoryOfThread::LocalMemoryOfThread(size_t bytes)
    : memory_(static_cast<std::byte*>(std::aligned_alloc(kAlignment, aligned(bytes)))) {
  if (memory_ == nullptr) throw std::bad_alloc();
}

// A step is a number of units, which threads take in order: work-groups of a kernel, or pieces of
// memory to copy or fill. The counters that threads write to have cache lines of their own.
struct CpuRun::Step {
  size_t part = 0;
  size_t units = 0;
  size_t at_a_time = 1;

  GroupFunction function = nullptr;  // null: a copy or fill
  GroupContext context;
  // Pointers to the argument values, followed by the addresses that buffer arguments point to. The
  // pointer of a `__local` argument is null; its address is an offset into the thread's local
  // memory.
  void** arguments = nullptr;
  size_t argument_count = 0;
  size_t local_bytes = 0;

  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  size_t bytes = 0;
  size_t unit_bytes = 0;
  const Value* pattern = nullptr;  // set for a fill

  alignas(64) std::atomic<size_t> next{0};  // the first unit not taken
  std::atomic<int64_t> started{0};
  alignas(64) std::atomic<size_t> done{0};  // units
  std::atomic<int64_t> ended{0};
};

CpuRun::CpuRun(const std::vector<BoundStage>& parts, size_t threads, Command* command)
    : threads_(threads),
      command_(command),
      made_(now()),
      steps_(new Step[total(parts, steps_of)]),
      arguments_(2 * total(parts, arguments_of)) {}

CpuRun::~CpuRun() = default;

std::shared_ptr<CpuRun> CpuRun::of(const std::vector<BoundStage>& parts, size_t threads,
                                   Command* command) {
  std::shared_ptr<CpuRun> run(new CpuRun(parts, threads, command));
  for (const BoundStage& part : parts) {
    if (!run->add_part(part)) return nullptr;
    ++run->part_;
  }
  return run;
}

bool CpuRun::add_part(const BoundStage& part) {
  if (part.launch == nullptr) return true;
  if (!part.launch->trusted) return false;
  for (const BoundOutput& output : part.outputs) {
    if (output.previous == nullptr || part.launch->overwrites_output) continue;
    if (!is_on_host(*output.previous) || !is_on_host(*output.storage)) return false;
    add_move(output.previous->host(), output.storage->host(), output.storage->bytes(), nullptr);
  }
  return std::all_of(part.launch->steps.begin(), part.launch->steps.end(),
                     [&](const dala::Step& step) { return add_step(step, part); });
}

bool CpuRun::add_step(const dala::Step& step, const BoundStage& part) {
  if (const auto* kernel = std::get_if<KernelStep>(&step)) return add_kernel(*kernel, part);
  if (const auto* copy = std::get_if<CopyStep>(&step)) {
    const Storage& from = *storage_of(copy->from, part);
    const Storage& to = *storage_of(copy->to, part);
    return is_on_host(from) && is_on_host(to) &&
           add_move(from.host(), to.host(), copy->bytes, nullptr);
  }
  if (const auto* fill = std::get_if<FillStep>(&step)) {
    const Storage& to = *storage_of(fill->to, part);
    return is_on_host(to) && add_move(nullptr, to.host(), fill->bytes, &fill->pattern);
  }
  if (const auto* host = std::get_if<HostCopyStep>(&step)) {
    const Storage& device = *storage_of(host->device, part);
    if (!is_on_host(device)) return false;
    std::byte* here = device.host() + host->offset;
    auto* there = static_cast<std::byte*>(host->host);
    return host->direction == HostCopyStep::Direction::to_device
               ? add_move(there, here, host->bytes, nullptr)
               : add_move(here, there, host->bytes, nullptr);
  }
  return false;  // a CallStep
}

CpuRun::Step& CpuRun::next_step(size_t units) {
  Step& step = steps_[count_++];
  step.part = part_;
  step.units = units;
  step.at_a_time = std::clamp<size_t>(units / (threads_ * kTurns), 1, kMostGroupsAtATime);
  widest_ = std::max(widest_, units);
  return step;
}

bool CpuRun::add_move(const std::byte* from, std::byte* to, size_t bytes, const Value* pattern) {
  if (bytes == 0) return true;
  const size_t share = aligned((bytes + 4 * threads_ - 1) / (4 * threads_));
  const size_t unit = std::max(kMoved, share);
  Step& step = next_step((bytes + unit - 1) / unit);
  step.from = from;
  step.to = to;
  step.bytes = bytes;
  step.unit_bytes = unit;
  step.pattern = pattern;
  return true;
}

bool CpuRun::add_kernel(const KernelStep& kernel, const BoundStage& part) {
  if (kernel.arguments.size() > kMostArguments) return false;
  const GroupFunction function = kernel.program->group_function(kernel.entry, kernel.range);
  if (function == nullptr) return false;
  const Range& range = kernel.range;
  GroupContext context;
  for (size_t d = 0; d < 3; ++d) {
    context.groups[d] = range.global[d] / range.local[d];
    context.local[d] = range.local[d];
  }
  const size_t units = context.groups[0] * context.groups[1] * context.groups[2];
  if (units == 0) return true;
  Step& step = next_step(units);
  step.function = function;
  step.context = context;
  step.argument_count = kernel.arguments.size();
  step.arguments = arguments_.data() + arguments_used_;
  arguments_used_ += 2 * step.argument_count;
  void** pointer = step.arguments;
  void** address = step.arguments + step.argument_count;
  for (const Argument& argument : kernel.arguments) {
    if (const auto* operand = std::get_if<Operand>(&argument)) {
      const Storage& storage = *storage_of(*operand, part);
      if (!is_on_host(storage)) return false;
      *address = storage.host();
      *pointer = address;
    } else if (const auto* by_value = std::get_if<Value>(&argument)) {
      *pointer = const_cast<std::byte*>(by_value->bytes.data());
    } else {
      // An offset, see Step. NOLINTNEXTLINE(performance-no-int-to-ptr)
      *address = reinterpret_cast<void*>(step.local_bytes);
      step.local_bytes += aligned(std::get<LocalMemory>(argument).bytes);
    }
    ++pointer;
    ++address;
  }
  local_bytes_ = std::max(local_bytes_, step.local_bytes);
  return true;
}

bool CpuRun::has_work() const {
  const size_t index = current();
  if (index == count_) return false;
  const Step& step = steps_[index];
  return step.next.load(std::memory_order_relaxed) < step.units;
}

bool CpuRun::work(std::byte* local, Progress& progress) {
  const size_t index = current();
  if (index == count_) return false;
  Step& step = steps_[index];
  if (step.next.load(std::memory_order_relaxed) >= step.units) return false;
  const size_t begin = step.next.fetch_add(step.at_a_time, std::memory_order_relaxed);
  if (begin >= step.units) return false;
  if (begin == 0) step.started.store(now(), std::memory_order_relaxed);
  const size_t end = std::min(begin + step.at_a_time, step.units);
  run_groups(step, begin, end, local);
  const size_t count = end - begin;
  if (step.done.fetch_add(count, std::memory_order_acq_rel) + count == step.units) {
    step.ended.store(now(), std::memory_order_relaxed);
    open_next(index + 1, progress);
  }
  return true;
}

void CpuRun::open_next(size_t step, Progress& progress) {
  progress.completed = step == count_;
  progress.opened = !progress.completed && steps_[step].units > 1;
  current_.store(step, std::memory_order_release);
}

void CpuRun::run_groups(const Step& step, size_t begin, size_t end, std::byte* local) const {
  if (step.function == nullptr) {
    for (size_t unit = begin; unit < end; ++unit) {
      const size_t at = unit * step.unit_bytes;
      const size_t bytes = std::min(step.unit_bytes, step.bytes - at);
      if (step.pattern != nullptr) {
        fill(step.to + at, bytes, *step.pattern);
      } else {
        std::memcpy(step.to + at, step.from + at, bytes);
      }
    }
    return;
  }
  void* pointers[kMostArguments];
  void* addresses[kMostArguments];
  void** arguments = step.arguments;
  if (step.local_bytes > 0) {
    for (size_t i = 0; i < step.argument_count; ++i) {
      pointers[i] = step.arguments[i];
      if (pointers[i] != nullptr) continue;
      addresses[i] = local + reinterpret_cast<size_t>(step.arguments[step.argument_count + i]);
      pointers[i] = &addresses[i];
    }
    arguments = pointers;
  }
  GroupContext context = step.context;
  const size_t width = context.groups[0];
  const size_t height = context.groups[1];
  for (size_t group = begin; group < end; ++group) {
    step.function(reinterpret_cast<uint8_t*>(arguments), reinterpret_cast<uint8_t*>(&context),
                  group % width, group / width % height, group / width / height);
  }
}

size_t CpuRun::part_of(size_t step) const { return steps_[step].part; }

double CpuRun::time_of(size_t step) const {
  return static_cast<double>(steps_[step].ended.load() - steps_[step].started.load());
}

void CpuRun::report(std::vector<BoundStage>& parts) const {
  for (size_t i = 0; i < count_; ++i) {
    const Step& step = steps_[i];
    parts[step.part].times.push_back(
        {made_, step.started.load(std::memory_order_relaxed), step.ended.load()});
  }
}

}  // namespace dala
