// What a plan consists of: nodes, each a launch, and the values that they read and write. A value
// is not memory yet; it is bound to memory when the plan runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/fusion/body.hpp"
#include "runtime/buffer.hpp"
#include "runtime/launch.hpp"

namespace dala::plan {

// A value is one of these:
// - a port, an input or output of the plan, whose memory every run brings along;
// - a constant, or a buffer of a caller: memory that is there already;
// - a temporary, which only the nodes of the plan see. It lies in the plan's arena.
struct Value {
  TensorType type;   // as its first user has it; others may see the same bytes in another shape
  int input = -1;    // set: the plan's input of that number
  int output = -1;   // set: the plan's output of that number
  BufferPtr buffer;  // set: a constant, or a caller's buffer

  size_t bytes() const { return type.bytes(); }
  bool temporary() const { return buffer == nullptr && input < 0 && output < 0; }
};
using ValuePtr = std::shared_ptr<Value>;

struct Node {
  std::shared_ptr<const Launch> launch;  // null: a barrier
  std::vector<ValuePtr> inputs;
  std::vector<ValuePtr> outputs;
  std::optional<Fusible> fusible = {};  // set: may share a kernel with others; has one output
  std::string label = {};               // what it is part of, for people: the layer of a model
  // Set: what runs in place of the launch, which then only says what is read and written. Together
  // the parts write all of the output.
  std::vector<Node> parts = {};

  // Whether the former content of its outputs does not matter.
  bool overwrites() const {
    return !parts.empty() || (launch->overwrites_output && !launch->steps.empty());
  }
};

}  // namespace dala::plan
