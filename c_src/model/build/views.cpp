#include "model/build/views.hpp"

#include <algorithm>
#include <utility>

#include "model/build/primitives.hpp"

namespace dala::model {
namespace {

// Whether the order leaves all dimensions other than 1 in sequence.
bool keeps_order(const Shape& shape, const Order& order) {
  int64_t last = -1;
  for (int64_t d : order) {
    if (shape[static_cast<size_t>(d)] == 1) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

Shape shape_of(const Tensor& source, const Order& order) {
  Shape shape(order.size());
  for (size_t d = 0; d < order.size(); ++d) {
    shape[static_cast<size_t>(order[d])] = source.shape[d];
  }
  return shape;
}

Tensor with_view(const Tensor& source, Order order, Shape shape) {
  Tensor result;
  result.type = source.type;
  result.shape = shape;
  result.view = std::make_shared<View>(View{source, std::move(order), std::move(shape)});
  return result;
}

// The memory of an earlier copy of the tensor in that order, if any.
PlacePtr moved_before(const Tensor& x, const Order& axes) {
  if (x.place == nullptr) return nullptr;
  for (const Place::Moved& moved : x.place->moved) {
    if (moved.shape == x.shape && moved.axes == axes) return moved.place;
  }
  return nullptr;
}

Tensor moved_once(Build& build, const Tensor& tensor, const Order& axes) {
  const Tensor x = in_own_order(build, tensor);
  if (const PlacePtr before = moved_before(x, axes)) {
    Tensor result;
    result.type = x.type;
    result.shape = permuted(x.shape, axes);
    result.place = before;
    return result;
  }
  Tensor result = moved(build, x, axes);
  if (x.place != nullptr && result.place != x.place) {
    x.place->moved.push_back({x.shape, axes, result.place});
  }
  return result;
}

Order inverse(const Order& order) {
  Order result(order.size());
  for (size_t d = 0; d < order.size(); ++d) {
    result[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
  }
  return result;
}

}  // namespace

Order channels_last_order(int64_t rank) {
  Order order{0};
  for (int64_t d = 2; d < rank; ++d) order.push_back(d);
  if (rank > 1) order.push_back(1);
  return order;
}

std::optional<Order> order_of(const Tensor& tensor) {
  if (tensor.view == nullptr || tensor.shape != tensor.view->shape) return std::nullopt;
  return tensor.view->order;
}

Tensor viewed(const Tensor& source, const Order& order) {
  Shape shape = shape_of(source, order);
  const auto inner = order_of(source);
  // Memory dimension d is dimension (*inner)[d] of the source, hence order[(*inner)[d]] of the
  // result.
  const Order whole = inner ? permuted(order, *inner) : order;
  if (keeps_order(shape, whole)) {
    return Build::reshaped(inner ? source.view->source : source, shape);
  }
  return with_view(inner ? source.view->source : source, whole, std::move(shape));
}

Tensor arranged(Build& build, const Tensor& x, const Order& order) {
  Shape shape = permuted(x.shape, order);
  const auto own = order_of(x);
  if (own == order) return x.view->source;
  if (!own) {
    return keeps_order(x.shape, order) ? Build::reshaped(x, shape) : moved_once(build, x, order);
  }
  Order axes;
  for (int64_t d : order) axes.push_back(place_in(*own, d));
  return moved_once(build, x.view->source, axes);
}

std::optional<Tensor> reshaped_view(const Tensor& tensor, const Shape& shape) {
  const auto order = order_of(tensor);
  if (!order || tensor.count() == 0) return std::nullopt;
  // Minimal groups of old and new dimensions with the same number of elements: {4, 6} and {2, 2, 6}
  // have two.
  struct Run {
    size_t old_first, old_end, first, end;
  };
  std::vector<Run> runs;
  size_t i = 0;
  size_t j = 0;
  while (i < tensor.shape.size() || j < shape.size()) {
    Run run{i, i, j, j};
    int64_t before = 1;
    int64_t after = 1;
    const auto empty_old = [&] {
      return run.old_end == run.old_first && run.old_end < tensor.shape.size();
    };
    const auto empty_new = [&] { return run.end == run.first && run.end < shape.size(); };
    do {
      if (empty_old() || (before < after && !empty_new()) || run.end == shape.size()) {
        before *= tensor.shape[run.old_end++];
      } else {
        after *= shape[run.end++];
      }
    } while (before != after || empty_old() || empty_new());
    i = run.old_end;
    j = run.end;
    runs.push_back(run);
  }
  // The old dimensions of every run must be contiguous and in order in memory.
  Order result;
  Shape memory_shape;
  for (size_t d = 0; d < order->size();) {
    const auto dimension = static_cast<size_t>((*order)[d]);
    const auto run = std::find_if(runs.begin(), runs.end(), [&](const Run& each) {
      return each.old_first <= dimension && dimension < each.old_end;
    });
    for (size_t expected = run->old_first; expected < run->old_end; ++expected, ++d) {
      if (d >= order->size() || (*order)[d] != static_cast<int64_t>(expected)) return std::nullopt;
    }
    for (size_t each = run->first; each < run->end; ++each) {
      result.push_back(static_cast<int64_t>(each));
      memory_shape.push_back(shape[each]);
    }
  }
  // New dimensions of 1 that belong to no run can be anywhere in memory.
  for (size_t each = 0; each < shape.size(); ++each) {
    if (std::find(result.begin(), result.end(), static_cast<int64_t>(each)) != result.end()) {
      continue;
    }
    result.push_back(static_cast<int64_t>(each));
    memory_shape.push_back(shape[each]);
  }
  return viewed(Build::reshaped(tensor.view->source, memory_shape), result);
}

Tensor in_own_order(Build& build, const Tensor& tensor) {
  if (tensor.view == nullptr) return tensor;
  const View& view = *tensor.view;
  return Build::reshaped(moved_once(build, view.source, inverse(view.order)), tensor.shape);
}

int64_t place_in(const Order& order, int64_t dimension) {
  return std::find(order.begin(), order.end(), dimension) - order.begin();
}

std::optional<Order> shared_order(const std::vector<Tensor>& inputs, const Shape& shape) {
  std::optional<Order> found;
  bool moved = false;  // a copy of that input in logical order exists, too
  bool other = false;  // another input of this shape is in logical order
  for (const Tensor& input : inputs) {
    if (input.shape != shape || input.known != nullptr) continue;
    const auto order = order_of(input);
    if (!order) {
      other = true;
    } else if (!found) {
      found = order;
      moved = moved_before(input.view->source, inverse(*order)) != nullptr;
    }
  }
  return moved && other ? std::nullopt : found;
}

std::vector<Tensor> all_arranged(Build& build, const std::vector<Tensor>& inputs,
                                 const Order& order) {
  std::vector<Tensor> result;
  for (const Tensor& input : inputs) {
    Shape shape = input.shape;
    shape.insert(shape.begin(), order.size() - shape.size(), 1);
    result.push_back(arranged(build, Build::reshaped(input, shape), order));
  }
  return result;
}

}  // namespace dala::model
