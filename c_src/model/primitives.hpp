// What operators are made of: elementwise arithmetic, conversion, moves by strides, gathering and
// reduction. Each takes tensors and gives one, folded on the host where everything is known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/build.hpp"
#include "model/shapes.hpp"

namespace dala::model {

Family move_family(ElementType type);
Family math_family(ElementType type);

// Elementwise; the inputs have one type and broadcast. p and q: see Arithmetic.
Tensor pointwise(Build& build, Arithmetic op, const std::vector<Tensor>& inputs, double p = 0,
                 double q = 0);
Tensor compare(Build& build, Comparison op, const Tensor& x, const Tensor& y, double p = 0,
               double q = 0);
Tensor choose(Build& build, const Tensor& condition, const Tensor& yes, const Tensor& no);
Tensor convert(Build& build, const Tensor& x, ElementType to);
// A scalar of that type, for arithmetic with it.
Tensor scalar(Build& build, ElementType type, double value);
// A tensor that holds one value everywhere.
Tensor filled(Build& build, ElementType type, const Shape& shape, double value);

// Moves. `starts` and `steps` have one number per dimension of x; steps may be negative.
// `transpose` gives a view where it can; `moved` is for when the elements have to lie like that.
Tensor transpose(Build& build, const Tensor& x, const std::vector<int64_t>& order);
Tensor moved(Build& build, const Tensor& x, const std::vector<int64_t>& order);
Tensor expand(Build& build, const Tensor& x, const Shape& shape);
Tensor slice(Build& build, const Tensor& x, const std::vector<int64_t>& starts,
             const std::vector<int64_t>& steps, const Shape& shape);
// The part of x from `from` on, `size` long, along one axis.
Tensor part(Build& build, const Tensor& x, int64_t axis, int64_t from, int64_t size);
Tensor concat(Build& build, const std::vector<Tensor>& inputs, int64_t axis);
// Writes x into `to`, beginning at those coordinates.
void place_into(Build& build, const Tensor& x, Tensor& to, const std::vector<int64_t>& at);

// out[.., p, ..] = x[.., indices[p], ..] with the indices' shape in place of the axis.
Tensor gather(Build& build, const Tensor& x, int64_t axis, const Tensor& indices);

Tensor reduce(Build& build, Reducer op, const Tensor& x, const std::vector<int64_t>& axes,
              bool keep);

// The matrix product over the last two dimensions, the others broadcast; vectors as in NumPy. A row
// may be added to it, and an activation follow, by the name that the kernel matmul has for it.
Tensor matmul(Build& build, const Tensor& a, const Tensor& b,
              const std::optional<Tensor>& row = std::nullopt,
              const std::string& activation = "none");

}  // namespace dala::model
