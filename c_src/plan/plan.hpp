// A plan: nodes that run as one command, and a memory layout of its temporaries by live ranges.
// Pipelines and models build plans. Each run binds the plan: values get their memory, and nodes
// become the stages of a command.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "plan/arena.hpp"
#include "plan/node.hpp"
#include "runtime/runtime.hpp"

namespace dala::plan {

class Plan {
 public:
  // An output port. Its value is written by a node, or has no elements.
  struct Output {
    ValuePtr value;
    TensorType type;
  };

  // Where temporaries are allocated.
  enum class Memory {
    kept,   // in one arena for all runs, which are therefore serialised
    fresh,  // in an arena per run
  };

  // With `kept`, the arena is allocated here; `fresh` is always possible.
  Plan(Runtime& runtime, std::vector<Node> nodes, std::vector<Output> outputs, Memory memory);

  struct Bound {
    std::vector<Stage> stages;
    std::vector<BufferPtr> outputs;
  };
  // The stages with these inputs and new output buffers.
  Bound bind(Runtime& runtime, const std::vector<BufferPtr>& inputs) const;
  // The stages with these output buffers, which have the ports' types and do not alias an input.
  std::vector<Stage> bind(Runtime& runtime, const std::vector<BufferPtr>& inputs,
                          const std::vector<BufferPtr>& outputs, Memory memory) const;

  // Pairs of callers' buffers that swap their memory between runs.
  using Swaps = std::vector<std::pair<BufferPtr, BufferPtr>>;
  // The stages of several consecutive runs of a plan without ports, the same number for each run.
  // In every second run, the buffers in `swaps` are exchanged. All runs share their temporaries.
  // With `repeatable`, no launch needs fresh memory because it writes to an input.
  std::vector<Stage> bind_runs(Runtime& runtime, size_t runs, const Swaps& swaps,
                               bool repeatable) const;

  // Frees the arena and the constants; the plan cannot run again.
  void give_back(Runtime& runtime) const;

  // Replaces a node's launch by one with the same values and the same use of memory.
  void replace_launch(size_t node, std::shared_ptr<const Launch> launch) {
    nodes_[node].launch = std::move(launch);
  }

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  size_t bytes() const { return arena_.bytes(); }  // of the arena

 private:
  // How a value gets its memory.
  struct Binding {
    ValuePtr value;
    size_t range = kNone;  // of a temporary
  };
  // The values of a node, by index.
  struct Uses {
    std::vector<size_t> inputs;
    std::vector<size_t> outputs;
  };
  static constexpr size_t kNone = SIZE_MAX;

  void number_values();
  std::vector<LiveRange> find_ranges(uint64_t limit);
  void lay_out_ranges(Runtime& runtime);
  bool hosted(size_t range) const { return host_bytes_ > 0 && in_host_[range]; }
  std::vector<BufferPtr> arena_buffers(Runtime& runtime) const;
  std::vector<BufferPtr> host_buffers(Runtime& runtime, const StoragePtr& host) const;
  std::vector<BufferPtr> memory_of_values(Runtime& runtime, const std::vector<BufferPtr>& inputs,
                                          const std::vector<BufferPtr>& outputs, Memory memory,
                                          const StoragePtr& host) const;
  using InputCopies = std::vector<std::vector<BufferPtr>>;
  InputCopies copied_inputs(Runtime& runtime) const;
  Stage stage_of(size_t node, const std::vector<BufferPtr>& buffers) const;
  std::vector<Stage> stages_of(const std::vector<BufferPtr>& buffers) const;

  std::vector<Node> nodes_;
  std::vector<Output> outputs_;
  std::vector<Binding> values_;
  std::vector<Uses> uses_;  // of each node
  std::vector<LiveRange> ranges_;
  Arena arena_;
  std::vector<BufferPtr> kept_;  // by live range, for Memory::kept

  // Temporaries whose live range ends before the largest output is written may alias the output's
  // memory, if that saves enough.
  std::vector<bool> in_host_;  // by live range
  Arena host_arena_;
  size_t host_ = 0;        // index of that output
  size_t host_bytes_ = 0;  // used by them
};

}  // namespace dala::plan
