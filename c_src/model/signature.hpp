// The inputs that a model declares, and whether those of a call match them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/graph/graph.hpp"
#include "runtime/memory/buffer.hpp"

namespace dala::model {

// Throws `arity_mismatch` or `shape_mismatch`, or `out_of_memory` if an input alone takes more than
// `limit` bytes.
void check_shapes(const std::vector<Port>& inputs, const std::vector<Shape>& shapes,
                  uint64_t limit);

// Throws `dtype_mismatch` or `shape_mismatch` if an input of that type does not match the port.
void check_port(const Port& port, const TensorType& type);

// The shapes of buffers that match. Throws the same, and `dtype_mismatch`.
std::vector<Shape> checked_shapes(const std::vector<Port>& inputs,
                                  const std::vector<BufferPtr>& buffers, uint64_t limit);

// The shapes of the first prediction: a first dimension that is left open is taken for a batch of
// one. They are certain if no dimension is open; nullopt if any other dimension is.
struct LikelyShapes {
  std::vector<Shape> shapes;
  bool certain = true;
};
std::optional<LikelyShapes> likely_shapes(const std::vector<Port>& inputs);

}  // namespace dala::model
