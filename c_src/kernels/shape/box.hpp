// Moving boxes of elements by strides: the launch that slices, repeats, reversals and joins share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/descriptor.hpp"
#include "kernels/planner.hpp"

namespace dala {

// The offset of a box in a tensor, and its strides there, both in elements; one stride per
// dimension, outermost first.
struct BoxSide {
  int64_t offset = 0;
  Shape strides;
};

// The side of a box that begins at these coordinates of a tensor, with a step between elements
// along each dimension.
BoxSide box_side(const Shape& tensor, const std::vector<int64_t>& starts,
                 const std::vector<int64_t>& steps);
// A box that is a whole tensor.
BoxSide whole(const Shape& tensor);

// Moves a box of elements of that size. Precondition: the box is not empty. Throws `unsupported`
// for more than eight dimensions that cannot be merged.
KernelStep box_step(Planner& planner, const std::string& kernel, size_t element_bytes,
                    const Shape& box, Operand from, const BoxSide& source, Operand to,
                    const BoxSide& target);

// The program of box_cpu.cl or box_gpu.cl for elements of that size.
std::shared_ptr<Program> box_program(Planner& planner, size_t element_bytes);

// A parameter with one number per dimension; a single number applies to all. Throws `invalid_param`
// for a list of another length.
std::vector<int64_t> per_dimension(const std::string& kernel, const Call& call,
                                   const std::string& param, size_t rank);
ParamSpec per_dimension_param(const std::string& name, int64_t fallback, double min, double max,
                              const std::string& summary);

}  // namespace dala
