// The primitives of operators that move elements without computing with them.
#pragma once

#include <vector>

#include "model/build/build.hpp"
#include "model/graph/shapes.hpp"

namespace dala::model {

// From this many elements on, the common kernels of the registry save more time than their
// compilation costs.
inline constexpr int64_t kLargeTensor = 4096;

Family move_family(ElementType type);

// Strided copies. `starts` and `steps` have one number per dimension of x; steps may be negative.
// `transpose` returns a view if it can; `moved` copies the elements to the new order.
Tensor transpose(Build& build, const Tensor& x, const std::vector<int64_t>& order);
Tensor moved(Build& build, const Tensor& x, const std::vector<int64_t>& order);
Tensor expand(Build& build, const Tensor& x, const Shape& shape);
Tensor slice(Build& build, const Tensor& x, const std::vector<int64_t>& starts,
             const std::vector<int64_t>& steps, const Shape& shape);
// The slice of x of `size` elements from `from` on, along one axis.
Tensor part(Build& build, const Tensor& x, int64_t axis, int64_t from, int64_t size);
Tensor concat(Build& build, const std::vector<Tensor>& inputs, int64_t axis);
// Copies x into `to`, starting at these coordinates.
void place_into(Build& build, const Tensor& x, Tensor& to, const std::vector<int64_t>& at);

// out[.., p, ..] = x[.., indices[p], ..]; the shape of the indices replaces the axis.
Tensor gather(Build& build, const Tensor& x, int64_t axis, const Tensor& indices);

}  // namespace dala::model
