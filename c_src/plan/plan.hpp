// A plan: nodes that run as one command, and a layout of the memory of its temporaries by live
// ranges. Pipelines and models are two ways to build one. A plan is bound for each run: its values
// get their memory, its nodes become the stages of a command.
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
  // An output port. Its value is one that some node writes, or that is empty.
  struct Output {
    ValuePtr value;
    TensorType type;
  };

  // Where temporaries lie.
  enum class Memory {
    kept,   // in one arena for all runs, which therefore follow each other
    fresh,  // in an arena for this run alone
  };

  // With `kept`, the arena is allocated here; `fresh` can be had in any case.
  Plan(Runtime& runtime, std::vector<Node> nodes, std::vector<Output> outputs, Memory memory);

  struct Bound {
    std::vector<Stage> stages;
    std::vector<BufferPtr> outputs;
  };
  // The stages with these inputs, and with new buffers for the outputs.
  Bound bind(Runtime& runtime, const std::vector<BufferPtr>& inputs) const;
  // The same with these buffers for the outputs, which have their types and are none of the inputs.
  std::vector<Stage> bind(Runtime& runtime, const std::vector<BufferPtr>& inputs,
                          const std::vector<BufferPtr>& outputs, Memory memory) const;

  // Frees the arena, and the constants; the plan cannot be run again.
  void give_back(Runtime& runtime) const;

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  size_t bytes() const { return arena_.bytes(); }  // of the arena

 private:
  // What is known about each value of the nodes, by index.
  struct Binding {
    ValuePtr value;
    size_t range = kNone;  // of a temporary: its live range
  };
  // A node by the indexes of its values.
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
  std::vector<Stage> bind(Runtime& runtime, const std::vector<BufferPtr>& inputs,
                          const std::vector<BufferPtr>& outputs, Memory memory,
                          const StoragePtr& host) const;

  std::vector<Node> nodes_;
  std::vector<Output> outputs_;
  std::vector<Binding> values_;
  std::vector<Uses> uses_;  // of each node
  std::vector<LiveRange> ranges_;
  Arena arena_;
  std::vector<BufferPtr> kept_;  // by live range, for Memory::kept

  // Temporaries whose live range ends before the largest output is written may alias the output's
  // memory, where that saves much.
  std::vector<bool> in_host_;  // by live range
  Arena host_arena_;
  size_t host_ = 0;        // the output
  size_t host_bytes_ = 0;  // that they take there
};

}  // namespace dala::plan
