// The shapes of a model's outputs in terms of the dimensions that its inputs leave open, such as
// {"batch", 21, "height", "width"} or "ceil(height/16)". They are found by trial: the graph says
// what its outputs are for some inputs, and the formula that fits all of them is the answer.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "model/graph.hpp"

namespace dala::model {

// The shapes of the outputs for inputs of these shapes; none when the graph does not take them.
using Trial = std::function<std::optional<std::vector<Shape>>(const std::vector<Shape>& inputs)>;

// A dimension that no formula fits has neither a size nor a name. Nothing at all when an input is
// of any rank, or when no trial succeeds.
std::optional<std::vector<std::vector<Dimension>>> symbolic_outputs(const std::vector<Port>& inputs,
                                                                    const Trial& trial);

// Outputs as the file declares them, with what was found in place of what it leaves open.
void complete_outputs(std::vector<Port>& outputs, const std::vector<std::vector<Dimension>>& found);

}  // namespace dala::model
