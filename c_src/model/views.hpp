// Tensors whose elements lie in memory with their dimensions in another order, such as channels
// last. Nothing moves when one is made: an operator that can work on the elements as they lie does
// so, and whoever asks Build for the memory of a view gets its elements in their own order, moved
// there once.
#pragma once

#include <optional>
#include <vector>

#include "model/build.hpp"

namespace dala::model {

// Dimension d of what lies in memory, outermost first, is dimension order[d] of the tensor.
using Order = std::vector<int64_t>;

struct View {
  Tensor source;  // the elements as they lie
  Order order;
  Shape shape;  // in the tensor's own order
};

// {0, 2, .., 1}
Order channels_last(int64_t rank);

// The order of a view; none of a tensor that lies as its shape says, or that has another shape than
// its view.
std::optional<Order> order_of(const Tensor& tensor);

// The tensor whose elements lie as `source` has them. Its dimensions of 1 may be anywhere, so a
// view is only made where something else changes places.
Tensor viewed(const Tensor& source, const Order& order);

// The elements of a tensor as they lie in that order, moved there if need be: a tensor without a
// view, with the dimensions {x.dim(order[0]), ..}.
Tensor arranged(Build& build, const Tensor& x, const Order& order);

// The same tensor without a view.
Tensor in_own_order(Build& build, const Tensor& tensor);

// The same view under another shape, where that cuts or joins only what lies next to each other.
std::optional<Tensor> reshaped_view(const Tensor& tensor, const Shape& shape);

// Where a dimension of the tensor is in memory.
int64_t place_in(const Order& order, int64_t dimension);
template <typename T>
std::vector<T> permuted(const std::vector<T>& values, const Order& order) {
  std::vector<T> result;
  result.reserve(order.size());
  for (int64_t d : order) result.push_back(values[static_cast<size_t>(d)]);
  return result;
}

// The order in which something elementwise over these inputs is best worked out: that of a view
// which has the shape of the result. None: their own.
std::optional<Order> shared_order(const std::vector<Tensor>& inputs, const Shape& shape);
// Inputs that broadcast to `order.size()` dimensions, all arranged.
std::vector<Tensor> all_arranged(Build& build, const std::vector<Tensor>& inputs,
                                 const Order& order);

}  // namespace dala::model
