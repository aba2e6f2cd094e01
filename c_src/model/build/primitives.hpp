// The primitives of operators: elementwise arithmetic, conversion, reduction, matrix products, and
// data movement, see movement.hpp. Each takes tensors and returns one, which is folded on the host
// if all of its inputs are constants.
//
// Large tensors of floats run on the kernels of the registry, small ones and other types on those
// of kernels/model, which need no compilation per operation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/build/movement.hpp"
#include "model/graph/epilogue.hpp"
#include "model/graph/shapes.hpp"

namespace dala::model {

Family math_family(ElementType type);

// Elementwise. The inputs have the same element type and broadcast. p and q: see Arithmetic.
Tensor pointwise(Build& build, Arithmetic op, const std::vector<Tensor>& inputs, double p = 0,
                 double q = 0);
Tensor compare(Build& build, Comparison op, const Tensor& x, const Tensor& y, double p = 0,
               double q = 0);
Tensor choose(Build& build, const Tensor& condition, const Tensor& yes, const Tensor& no);
Tensor convert(Build& build, const Tensor& x, ElementType to);
// A constant of rank 0.
Tensor scalar(Build& build, ElementType type, double value);
// A tensor with the same value in every element.
Tensor filled(Build& build, ElementType type, const Shape& shape, double value);

Tensor reduce(Build& build, Reducer op, const Tensor& x, const std::vector<int64_t>& axes,
              bool keep);

// The matrix product over the last two dimensions, the others broadcast; vectors as in NumPy. A row
// may be added to it, and an activation that the kernel matmul has follow.
Tensor matmul(Build& build, const Tensor& a, const Tensor& b,
              const std::optional<Tensor>& row = std::nullopt,
              Activation::Kind activation = Activation::Kind::none);

}  // namespace dala::model
