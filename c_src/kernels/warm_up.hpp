// Warm-up: every built-in kernel is compiled for every element type, run once on a tiny example,
// and saved for the next process.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernels/engine.hpp"

namespace dala {

// The smallest valid call with inputs of that type (outputs, for kernels without inputs). None only
// if the kernel does not accept the type.
std::optional<Call> sample_call(const Descriptor& descriptor, DType dtype);

struct WarmUpStep {
  size_t done = 0;
  size_t total = 0;
  std::string kernel;  // the next kernel
  DType dtype = DType::f32;
};

// Takes minutes with a slow compiler: for a thread of its own. `tell` is called before each kernel.
// Skips types that the device does not support and, if `kernels` is given, kernels not named in it.
void warm_up(Engine& engine, const std::vector<DType>& dtypes,
             const std::optional<std::set<std::string>>& kernels,
             const std::function<void(const WarmUpStep&)>& tell);

}  // namespace dala
