// Launches of pointwise kernels: every kernel whose output element depends only on the input
// elements at the same position.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/elementwise/broadcast.hpp"
#include "kernels/fusion/body.hpp"

namespace dala {

// The files of operations. Those of one file and element type share a program.
enum class OpFile {
  ops,        // ops.cl: arithmetic
  functions,  // functions.cl: functions of floats, operations on bits, select
  compare,    // compare.cl: comparison and logic, whose results are u8
  complex,    // complex.cl: what only complex numbers have; it has all their operations
};

// An operation on one element: a function by its name in its file, its inputs, then its parameters.
struct PointwiseOp {
  std::string name;
  int inputs = 1;
  int params = 0;
  OpFile file = OpFile::ops;
};

// The element types of an operation's inputs and of its result, for elements of that type.
std::vector<DType> input_types(const PointwiseOp& op, DType dtype);
DType result_type(const PointwiseOp& op, DType dtype);

// The template of this device's class.
std::string pointwise_template(const Planner& planner);

// One instance of the template: a kernel `entry` that applies the function `body`.
Part pointwise_part(const Planner& planner, const std::string& entry, const std::string& body,
                    const std::vector<DType>& input_types, DType output, int params);

// The function `name` of so many elements of type f16 or bf16, by the function `of_floats`. One
// that compares has a byte as its last argument, and as its result.
Part narrow_function(const std::string& name, const std::string& of_floats, int arguments,
                     bool compares, DType dtype);

// A body over elements. The caller supplies the source of `function` and the build options that it
// needs.
Body pointwise_body(const Call& call, std::string function, std::vector<Part> source,
                    const std::vector<Value>& values);
// The body that is one of the operations, on elements of that type.
Body op_body(const PointwiseOp& op, DType dtype, const Call& call,
             const std::vector<Value>& values);

// The kernel that applies an operation to elements of one type, in the program it shares with the
// other operations of its file on that type.
struct Entry {
  std::shared_ptr<Program> program;
  std::string name;
};
Entry pointwise_entry(Planner& planner, const PointwiseOp& op, DType dtype);

// How the elements, or places, of an output are distributed over work-groups.
struct Spread {
  Range range;
  int64_t chunk = 0;  // per work-group (CPU class)
};
Spread spread_out(const Planner& planner, int64_t count);

// One launch over the layout. `values` are the parameters, as elements of the output's type.
Launch pointwise_launch(const Planner& planner, const Entry& entry, const Call& call,
                        PointwiseLayout layout, const std::vector<Value>& values);

}  // namespace dala
