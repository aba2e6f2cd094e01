// The kernels of models on the host, compiled from the same source as those on the device. What
// depends on nothing but constants is computed with them while a model is planned.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "model/element_type.hpp"
#include "runtime/launch.hpp"

namespace dala::model {

// Which program a kernel is in: those that move elements have one for each size of element, those
// that compute one for each type.
struct Family {
  enum class Kind { move, math, convert } kind = Kind::move;
  ElementType type = ElementType::f32;  // of math: what is computed in
  size_t bytes = 0;                     // of move: per element
  int fixed_op = -1;  // of math: a program that knows this operation only, but is fast at it
};

// Memory, or an argument by value.
using HostArgument = std::variant<void*, dala::Value>;

// Runs a kernel whose layout says that one item does it all.
void run_on_host(const Family& family, const std::string& entry,
                 const std::vector<HostArgument>& arguments);

}  // namespace dala::model
