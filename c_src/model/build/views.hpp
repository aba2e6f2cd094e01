// Views: tensors whose dimensions have another order in memory, such as channels last. Creating a
// view moves nothing. Operators that can work on the memory order do so; when Build is asked for
// the memory of a view, the elements are copied to logical order once and the copy is reused.
#pragma once

#include <optional>
#include <vector>

#include "model/build/build.hpp"

namespace dala::model {

// Memory dimension d, outermost first, is dimension order[d] of the tensor.
using Order = std::vector<int64_t>;

struct View {
  Tensor source;  // the elements in memory order
  Order order;
  Shape shape;  // in logical order
};

// {0, 2, .., 1}
Order channels_last_order(int64_t rank);

// The memory order of a view; nullopt for a tensor in logical order, or for one that was reshaped
// to another shape than that of its view.
std::optional<Order> order_of(const Tensor& tensor);

// The tensor with `source` as its elements in memory order. The position of dimensions of 1 does
// not matter, so the result is only a view if other dimensions change places.
Tensor viewed(const Tensor& source, const Order& order);

// The elements of a tensor in that memory order, copied if necessary: a tensor without a view, with
// the shape {x.dim(order[0]), ..}.
Tensor arranged(Build& build, const Tensor& x, const Order& order);

// The same tensor in logical order, without a view; copied if necessary.
Tensor in_own_order(Build& build, const Tensor& tensor);

// The view with another shape, if that only splits or merges dimensions that are adjacent in
// memory.
std::optional<Tensor> reshaped_view(const Tensor& tensor, const Shape& shape);

// The memory dimension of a dimension of the tensor.
int64_t place_in(const Order& order, int64_t dimension);
template <typename T>
std::vector<T> permuted(const std::vector<T>& values, const Order& order) {
  std::vector<T> result;
  result.reserve(order.size());
  for (int64_t d : order) result.push_back(values[static_cast<size_t>(d)]);
  return result;
}

// The best memory order for an elementwise operator on these inputs: that of an input view with the
// shape of the result. Nullopt means logical order.
std::optional<Order> shared_order(const std::vector<Tensor>& inputs, const Shape& shape);
// Applies `arranged` to all inputs, after leading dimensions of 1 extend them to `order.size()`.
std::vector<Tensor> all_arranged(Build& build, const std::vector<Tensor>& inputs,
                                 const Order& order);

}  // namespace dala::model
