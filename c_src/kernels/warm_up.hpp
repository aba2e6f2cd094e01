// Getting everything ready before it is needed: every built-in kernel in every element type is
// compiled, run once on a tiny example, and saved for the next process.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernels/engine.hpp"

namespace dala {

// The smallest call that the descriptor accepts for inputs of that type (outputs, for kernels
// without inputs). None only for types that it does not take.
std::optional<Call> sample_call(const Descriptor& descriptor, DType dtype);

struct WarmUpStep {
  size_t done = 0;
  size_t total = 0;
  std::string kernel;  // the one that comes next
  DType dtype = DType::f32;
};

// Takes minutes on a driver that compiles slowly: for a thread of its own. `tell` is called
// before each kernel. Kernels of types that the device does not have are passed over, and so are
// those whose names are not among `kernels`, where that is given.
void warm_up(Engine& engine, const std::vector<DType>& dtypes,
             const std::optional<std::set<std::string>>& kernels,
             const std::function<void(const WarmUpStep&)>& tell);

}  // namespace dala
