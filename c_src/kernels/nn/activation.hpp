// What a kernel may do to each of its results before it stores them: the parameters that say so,
// and the numbers that its program is told.
#pragma once

#include <string>
#include <vector>

#include "kernels/descriptor.hpp"

namespace dala {

// `activation`, the `slope` of a leaky one, and the bounds `low` and `high` of a clamp.
std::vector<ParamSpec> activation_params();

// Throws `invalid_param` for a clamp between bounds that leave nothing.
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
