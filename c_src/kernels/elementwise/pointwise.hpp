// Launching pointwise kernels: one way for every kernel whose output element depends on the input
// elements at the same place.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/elementwise/broadcast.hpp"
#include "kernels/fusion/body.hpp"

namespace dala {

// An operation on one element: a function of ops.cl by its name there, its inputs, then its
// parameters.
struct PointwiseOp {
  std::string name;
  int inputs = 1;
  int params = 0;
};

// The template of this device's class.
std::string pointwise_template(const Planner& planner);

// What a program has in front of such instances.
std::vector<Part> pointwise_head(const Planner& planner);

// One instance of the template: a kernel `entry` that applies the function `body`.
Part pointwise_part(const Planner& planner, const std::string& entry, const std::string& body,
                    const std::vector<DType>& input_types, DType output, int params);

// A body over elements. What defines `function`, and the build options that it needs, are up to
// the caller.
Body pointwise_body(const Call& call, std::string function, std::vector<Part> source,
                    const std::vector<Value>& values);
// The body that is one of the operations.
Body op_body(const PointwiseOp& op, const Call& call, const Planner& planner,
             const std::vector<Value>& values);

// The kernel that applies an operation to elements of one type, in the program it shares with all
// other operations on that type.
struct Entry {
  std::shared_ptr<Program> program;
  std::string name;
};
Entry pointwise_entry(Planner& planner, const PointwiseOp& op, DType dtype);

// How the elements, or places, of an output are dealt out to work-groups.
struct Spread {
  Range range;
  int64_t chunk = 0;  // per work-group (CPU class)
};
Spread spread_out(const Planner& planner, int64_t count);

// One launch over the layout. `values` are the parameters, as elements of the output's type.
Launch pointwise_launch(const Planner& planner, const Entry& entry, const Call& call,
                        PointwiseLayout layout, const std::vector<Value>& values);

}  // namespace dala
