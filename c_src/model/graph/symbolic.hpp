// The shapes of a model's outputs as formulas in the free dimensions of its inputs, such as
// {"batch", 21, "height", "width"} or "ceil(height/16)". They are found by sampling: shape
// inference runs for several input sizes, and a formula is fitted to the results.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "model/graph/graph.hpp"

namespace dala::model {

// Infers the shapes of the outputs for given input shapes; nullopt if the graph rejects them.
using Trial = std::function<std::optional<std::vector<Shape>>(const std::vector<Shape>& inputs)>;

// A dimension that no formula fits has neither a size nor a name. Returns nullopt if the rank of an
// input is unknown or no trial succeeds.
std::optional<std::vector<std::vector<Dimension>>> symbolic_outputs(const std::vector<Port>& inputs,
                                                                    const Trial& trial);

// Replaces dimensions of the declared outputs with those found.
void complete_outputs(std::vector<Port>& outputs, const std::vector<std::vector<Dimension>>& found);

}  // namespace dala::model
