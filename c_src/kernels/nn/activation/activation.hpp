// The activation that a kernel applies to its results before it stores them: the parameters that
// select it, and the numbers that are passed to the program.
#pragma once

#include <string>
#include <vector>

#include "kernels/descriptor.hpp"

namespace dala {

// `activation`, the `slope` of leaky_relu, and the bounds `low` and `high` of clamp.
std::vector<ParamSpec> activation_params();

// Throws `invalid_param` for a clamp whose low is above its high.
void check_activation(const std::string& kernel, const Call& call);

// Bounds, then a curve: see activation.cl.
struct Activation {
  double low;
  double high;
  double slope = 0;
  int64_t curve = 0;
};
Activation activation_of(const Call& call);

}  // namespace dala
