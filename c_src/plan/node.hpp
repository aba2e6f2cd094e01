// The elements of a plan: nodes, each a launch, and the values that they read and write. A value
// gets its memory when the plan is bound.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/fusion/body.hpp"
#include "runtime/memory/buffer.hpp"
#include "runtime/schedule/launch.hpp"

namespace dala::plan {

// A value is one of these:
// - a port, an input or output of the plan, whose memory each run provides;
// - a constant, or a caller's buffer, which has its memory;
// - a temporary, which only the nodes of the plan see. It is in the plan's arena.
struct Value {
  TensorType type;   // for its first user; others may view the same bytes in another shape
  int input = -1;    // index of the plan's input, or -1
  int output = -1;   // index of the plan's output, or -1
  BufferPtr buffer;  // set: a constant, or a caller's buffer

  size_t bytes() const { return type.bytes(); }
  bool temporary() const { return buffer == nullptr && input < 0 && output < 0; }
};
using ValuePtr = std::shared_ptr<Value>;

struct Node {
  std::shared_ptr<const Launch> launch;  // null: a barrier
  std::vector<ValuePtr> inputs;
  std::vector<ValuePtr> outputs;
  std::optional<Fusible> fusible = {};  // set if it can be fused; has one output
  std::string label = {};               // the layer of a model that it belongs to
  // If set, these run in place of the launch, which then only defines the operands. Together the
  // parts overwrite the output.
  std::vector<Node> parts = {};

  // Whether it overwrites its outputs, so that their old content is not needed.
  bool overwrites() const {
    return !parts.empty() || (launch->overwrites_output && !launch->steps.empty());
  }
};

}  // namespace dala::plan
