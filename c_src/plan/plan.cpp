#include "plan/plan.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "runtime/device/device.hpp"

namespace dala::plan {
namespace {

constexpr size_t kAlignment = 128;  // two cache lines
// Minimum number of bytes that aliasing an output must save, since such temporaries are bound anew
// at each run.
constexpr size_t kWorthHosting = 1 << 20;

BufferPtr as_bytes(const StoragePtr& storage) {
  return std::make_shared<Buffer>(TensorType{DType::u8, {static_cast<int64_t>(storage->bytes())}},
                                  storage);
}

// An in-place launch may write to an input that has as many elements as its output.
bool may_take_over(const Value& input, const Value& output) {
  return input.bytes() == output.bytes() && input.type.count() == output.type.count();
}

}  // namespace

Plan::Plan(Runtime& runtime, std::vector<Node> nodes, std::vector<Output> outputs, Memory memory)
    : nodes_(std::move(nodes)), outputs_(std::move(outputs)) {
  number_values();
  ranges_ = find_ranges(runtime.memory().info().limit);
  lay_out_ranges(runtime);
  if (memory == Memory::kept) kept_ = arena_buffers(runtime);
}

void Plan::number_values() {
  std::unordered_map<const Value*, size_t> numbers;
  const auto number = [&](const ValuePtr& value) {
    const auto [found, is_new] = numbers.emplace(value.get(), values_.size());
    if (is_new) values_.push_back({value});
    return found->second;
  };
  uses_.reserve(nodes_.size());
  for (const Node& node : nodes_) {
    Uses uses;
    for (const ValuePtr& value : node.inputs) uses.inputs.push_back(number(value));
    for (const ValuePtr& value : node.outputs) uses.outputs.push_back(number(value));
    uses_.push_back(std::move(uses));
  }
}

// A temporary is live from the node that first writes it to the last that uses it. The output of an
// in-place node takes over the memory of an input whose live range ends there.
std::vector<LiveRange> Plan::find_ranges(uint64_t limit) {
  std::vector<size_t> last_use(values_.size(), 0);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (size_t index : uses_[i].inputs) last_use[index] = i;
    for (size_t index : uses_[i].outputs) last_use[index] = i;
  }
  std::vector<LiveRange> ranges;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    std::vector<size_t> taken;  // live ranges that an output of this node took over
    for (size_t output : uses_[i].outputs) {
      const Value& value = *values_[output].value;
      if (!value.temporary() || values_[output].range != kNone) continue;
      if (value.bytes() > limit) {
        throw Error(Reason::out_of_memory, text("a tensor of ", value.bytes(),
                                                " bytes, where there is memory of ", limit));
      }
      const auto ends = [&](size_t input) {
        const size_t range = values_[input].range;
        return range != kNone && last_use[input] == i &&
               may_take_over(*values_[input].value, value) &&
               std::find(taken.begin(), taken.end(), range) == taken.end();
      };
      const std::vector<size_t>& inputs = uses_[i].inputs;
      const auto found = nodes_[i].launch->in_place
                             ? std::find_if(inputs.begin(), inputs.end(), ends)
                             : inputs.end();
      size_t& own = values_[output].range;
      own = found != inputs.end() ? values_[*found].range : ranges.size();
      if (own == ranges.size()) ranges.push_back({value.bytes(), i, i});
      ranges[own].last = last_use[output];
      taken.push_back(own);
    }
  }
  return ranges;
}

// Temporaries whose live range ends before the largest output is written may alias that output's
// memory.
void Plan::lay_out_ranges(Runtime& runtime) {
  const DeviceInfo& device = runtime.device().info();
  const auto laid_out = [&](const std::vector<LiveRange>& each) {
    const size_t alignment = std::max<size_t>(device.alignment, kAlignment);
    return lay_out(each, alignment, device.max_allocation);
  };
  arena_ = laid_out(ranges_);
  if (outputs_.empty()) return;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].type.bytes() > outputs_[host_].type.bytes()) host_ = i;
  }
  const size_t room = outputs_[host_].type.bytes();
  if (room < kWorthHosting || arena_.bytes() < kWorthHosting) return;
  const auto writes = [&](const Node& node) {
    return std::find(node.outputs.begin(), node.outputs.end(), outputs_[host_].value) !=
           node.outputs.end();
  };
  const auto written =
      static_cast<size_t>(std::find_if(nodes_.begin(), nodes_.end(), writes) - nodes_.begin());
  // The other live ranges take no memory.
  const auto laid_out_if = [&](bool early) {
    std::vector<LiveRange> some = ranges_;
    for (LiveRange& each : some) {
      if ((each.last < written) != early) each.bytes = 0;
    }
    return laid_out(some);
  };
  Arena late = laid_out_if(false);
  Arena early = laid_out_if(true);
  if (early.pieces.size() != 1 || early.bytes() > room) return;
  if (late.bytes() + kWorthHosting > arena_.bytes()) return;
  arena_ = std::move(late);
  host_arena_ = std::move(early);
  host_bytes_ = host_arena_.bytes();
  for (const LiveRange& each : ranges_) in_host_.push_back(each.last < written);
}

// Allocates the memory of the live ranges in the arena.
std::vector<BufferPtr> Plan::arena_buffers(Runtime& runtime) const {
  std::vector<StoragePtr> pieces;
  for (size_t bytes : arena_.pieces) pieces.push_back(runtime.memory().allocate(bytes));
  std::vector<BufferPtr> buffers(ranges_.size());
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (hosted(i)) continue;
    const StoragePtr& piece = pieces[arena_.spots[i].piece];
    const bool whole = ranges_[i].bytes == piece->bytes();
    buffers[i] = as_bytes(
        whole ? piece : runtime.memory().part(piece, arena_.spots[i].offset, ranges_[i].bytes));
  }
  return buffers;
}

std::vector<BufferPtr> Plan::host_buffers(Runtime& runtime, const StoragePtr& host) const {
  std::vector<BufferPtr> buffers(ranges_.size());
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (!hosted(i)) continue;
    buffers[i] =
        as_bytes(runtime.memory().part(host, host_arena_.spots[i].offset, ranges_[i].bytes));
  }
  return buffers;
}

void Plan::give_back(Runtime& runtime) const {
  const auto free = [&](const BufferPtr& buffer) {
    if (buffer != nullptr) runtime.scheduler().free(*buffer);
  };
  for (const Binding& each : values_) free(each.value->buffer);
  for (const BufferPtr& buffer : kept_) free(buffer);
}

Plan::Bound Plan::bind(Runtime& runtime, const std::vector<BufferPtr>& inputs) const {
  Bound bound;
  StoragePtr host;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    StoragePtr storage = runtime.memory().allocate(outputs_[i].type.bytes());
    if (i == host_) host = storage;
    bound.outputs.push_back(std::make_shared<Buffer>(outputs_[i].type, std::move(storage)));
  }
  bound.stages = stages_of(memory_of_values(runtime, inputs, bound.outputs, Memory::kept, host));
  return bound;
}

// The caller may read these outputs until they are written, so no temporary aliases them.
std::vector<Stage> Plan::bind(Runtime& runtime, const std::vector<BufferPtr>& inputs,
                              const std::vector<BufferPtr>& outputs, Memory memory) const {
  const StoragePtr host = host_bytes_ == 0 ? nullptr : runtime.memory().allocate(host_bytes_);
  return stages_of(memory_of_values(runtime, inputs, outputs, memory, host));
}

std::vector<BufferPtr> Plan::memory_of_values(Runtime& runtime,
                                              const std::vector<BufferPtr>& inputs,
                                              const std::vector<BufferPtr>& outputs, Memory memory,
                                              const StoragePtr& host) const {
  std::vector<BufferPtr> own;
  if (memory == Memory::fresh) own = arena_buffers(runtime);
  const std::vector<BufferPtr>& arena = memory == Memory::fresh ? own : kept_;
  std::vector<BufferPtr> guests;
  if (host_bytes_ > 0) guests = host_buffers(runtime, host);
  std::vector<BufferPtr> buffers;
  buffers.reserve(values_.size());
  for (const Binding& each : values_) {
    const Value& value = *each.value;
    if (value.buffer != nullptr) {
      buffers.push_back(value.buffer);
    } else if (value.input >= 0) {
      buffers.push_back(inputs[static_cast<size_t>(value.input)]);
    } else if (value.output >= 0) {
      buffers.push_back(outputs[static_cast<size_t>(value.output)]);
    } else {
      buffers.push_back(hosted(each.range) ? guests[each.range] : arena[each.range]);
    }
  }
  return buffers;
}

Stage Plan::stage_of(size_t node, const std::vector<BufferPtr>& buffers) const {
  Stage stage;
  stage.launch = nodes_[node].launch;
  for (size_t index : uses_[node].inputs) stage.inputs.push_back(buffers[index]);
  for (size_t index : uses_[node].outputs) {
    if (stage.output == nullptr) {
      stage.output = buffers[index];
    } else {
      stage.more_outputs.push_back(buffers[index]);
    }
  }
  return stage;
}

std::vector<Stage> Plan::stages_of(const std::vector<BufferPtr>& buffers) const {
  std::vector<Stage> stages;
  stages.reserve(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) stages.push_back(stage_of(i, buffers));
  return stages;
}

}  // namespace dala::plan
