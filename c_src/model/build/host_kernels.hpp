// The kernels of kernels/model, compiled for the host from the same source as for the device.
// Constant folding runs on them.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "model/graph/element_type.hpp"
#include "runtime/schedule/launch.hpp"

namespace dala::model {

// The program that a kernel is in: there is one for each size of element that is moved, one for
// each element type that is computed with, and one for conversions.
struct Family {
  enum class Kind { move, math, convert } kind = Kind::move;
  ElementType type = ElementType::f32;  // of math: the type of the computation
  size_t bytes = 0;                     // of move: per element
  int fixed_op = -1;  // of math: the only operation of a program that is compiled for it
};

// Memory, or an argument by value.
using HostArgument = std::variant<void*, dala::Value>;

// Runs a kernel whose layout has a single work item.
void run_on_host(const Family& family, const std::string& entry,
                 const std::vector<HostArgument>& arguments);

}  // namespace dala::model
