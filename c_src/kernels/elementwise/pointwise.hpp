// Launching pointwise kernels: one way for every kernel whose output element depends on the input
// elements at the same place.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/elementwise/broadcast.hpp"
#include "kernels/planner.hpp"

namespace dala {

// An operation on one element: a function of ops.cl, its inputs, then its parameters.
struct PointwiseOp {
  std::string body;
  int inputs = 1;
  int params = 0;
};

// The template of this device's class.
std::string pointwise_template(const Planner& planner);

// One instance of the template: a kernel `entry` that applies the function `body`. T is defined by
// an earlier part; input types are those given.
Part pointwise_part(const Planner& planner, const std::string& entry, const std::string& body,
                    const std::vector<DType>& input_types, int params);

// The kernel that applies an operation to elements of one type, in the program it shares with all
// other operations on that type.
struct Entry {
  std::shared_ptr<Program> program;
  std::string name;
};
Entry pointwise_entry(Planner& planner, const PointwiseOp& op, DType dtype);

// One launch over the layout. `values` are the parameters, as elements of the output's type.
Launch pointwise_launch(const Planner& planner, const Entry& entry, const Call& call,
                        PointwiseLayout layout, const std::vector<Value>& values);

}  // namespace dala
