#include "runtime/sequence.hpp"

#include <algorithm>
#include <cstring>

namespace dala {
namespace {

// Work after which a sequence ends, about two milliseconds of two cores: somebody else may wait.
constexpr double kMostWork = 4e7;

// The same layout as the struct of that name in kernels/nn/sequence_cpu.cl.
struct SequenceStep {
  uint64_t arguments = 0;  // their address
  uint32_t member = 0;
  uint32_t groups[3] = {1, 1, 1};
  uint32_t next = 0;   // work-group that nobody has taken
  uint32_t done = 0;   // work-groups
  uint32_t unused[8];  // what threads write to is a cache line per step
};
static_assert(sizeof(SequenceStep) == 64);

size_t aligned(size_t offset, size_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

// Arguments lie as the members of a struct would: numbers by their size, structs and addresses
// by 8.
size_t alignment_of(size_t bytes) { return bytes == 1 || bytes == 2 || bytes == 4 ? bytes : 8; }

size_t size_of(const Argument& argument) {
  if (std::holds_alternative<Operand>(argument)) return sizeof(uint64_t);
  if (const auto* by_value = std::get_if<Value>(&argument)) return by_value->bytes.size();
  return 0;
}

const StoragePtr& storage_of(const Operand& operand, const BoundStage& part) {
  const auto index = static_cast<size_t>(operand.index);
  return operand.kind == Operand::Kind::output ? part.outputs.at(index).storage
                                               : part.inputs.at(index);
}

// Visits a step's arguments with their offsets, which count from a multiple of 8, and returns the
// bytes that they take, up to another.
template <typename Visit>
size_t each_argument(const KernelStep& step, Visit visit) {
  size_t offset = 0;
  for (const Argument& argument : step.arguments) {
    const size_t bytes = size_of(argument);
    if (bytes == 0) continue;
    offset = aligned(offset, alignment_of(bytes));
    visit(argument, offset, bytes);
    offset += bytes;
  }
  return aligned(offset, sizeof(uint64_t));
}

size_t arguments_bytes(const KernelStep& step) {
  return each_argument(step, [](const Argument&, size_t, size_t) {});
}

size_t local_bytes(const KernelStep& step) {
  size_t bytes = 0;
  for (const Argument& argument : step.arguments) {
    if (const auto* local = std::get_if<LocalMemory>(&argument)) bytes += local->bytes;
  }
  return bytes;
}

// The program that can run a part in a sequence, and null where there is none.
Program* program_of(const BoundStage& part) {
  if (part.launch == nullptr || part.launch->steps.empty() || !part.launch->scratch.empty()) {
    return nullptr;
  }
  Program* program = nullptr;
  for (const Step& step : part.launch->steps) {
    const auto* kernel = std::get_if<KernelStep>(&step);
    if (kernel == nullptr || !kernel->member) return nullptr;
    if (program != nullptr && program != kernel->program.get()) return nullptr;
    program = kernel->program.get();
  }
  const auto elsewhere = [](const StoragePtr& storage) { return storage->host() == nullptr; };
  if (std::any_of(part.inputs.begin(), part.inputs.end(), elsewhere)) return nullptr;
  for (const BoundOutput& output : part.outputs) {
    const bool copied = output.previous != nullptr && !part.launch->overwrites_output;
    if (copied || elsewhere(output.storage)) return nullptr;
  }
  return program;
}

template <typename Visit>
void each_step(const Sequence& sequence, const std::vector<BoundStage>& parts, Visit visit) {
  for (size_t i = sequence.first; i < sequence.end; ++i) {
    for (const Step& step : parts[i].launch->steps) visit(std::get<KernelStep>(step), parts[i]);
  }
}

// Returns their bytes.
size_t write_arguments(const KernelStep& step, const BoundStage& part, std::byte* to) {
  return each_argument(step, [&](const Argument& argument, size_t offset, size_t bytes) {
    if (const auto* operand = std::get_if<Operand>(&argument)) {
      const std::byte* address = storage_of(*operand, part)->host();
      std::memcpy(to + offset, &address, bytes);
    } else {
      std::memcpy(to + offset, std::get<Value>(argument).bytes.data(), bytes);
    }
  });
}

}  // namespace

std::vector<Sequence> sequences_of(const std::vector<BoundStage>& parts) {
  std::vector<Sequence> sequences;
  for (size_t first = 0; first < parts.size();) {
    Sequence sequence;
    sequence.first = sequence.end = first;
    sequence.program = program_of(parts[first]);
    double work = 0;
    while (sequence.program != nullptr && sequence.end < parts.size() && work < kMostWork &&
           program_of(parts[sequence.end]) == sequence.program) {
      work += parts[sequence.end].launch->work;
      ++sequence.end;
    }
    first = std::max(first + 1, sequence.end);
    each_step(sequence, parts, [&sequence](const KernelStep& step, const BoundStage&) {
      ++sequence.steps;
      sequence.bytes += sizeof(SequenceStep) + arguments_bytes(step);
      sequence.local_bytes = std::max(sequence.local_bytes, local_bytes(step));
    });
    if (sequence.steps > 1) sequences.push_back(sequence);
  }
  return sequences;
}

void write_steps(const Sequence& sequence, const std::vector<BoundStage>& parts,
                 std::byte* memory) {
  std::byte* step_at = memory;
  std::byte* arguments_at = memory + sequence.steps * sizeof(SequenceStep);
  each_step(sequence, parts, [&](const KernelStep& step, const BoundStage& part) {
    SequenceStep written;
    written.arguments = reinterpret_cast<uintptr_t>(arguments_at);
    written.member = *step.member;
    for (size_t d = 0; d < 3; ++d) written.groups[d] = static_cast<uint32_t>(step.range.global[d]);
    std::memcpy(step_at, &written, sizeof(written));
    step_at += sizeof(written);
    arguments_at += write_arguments(step, part, arguments_at);
  });
}

}  // namespace dala
