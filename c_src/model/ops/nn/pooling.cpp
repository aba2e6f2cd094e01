// Pooling: the maximum, mean or norm of windows or of all spatial dimensions.
#include <algorithm>

#include "model/build/views.hpp"
#include "model/ops/families.hpp"
#include "model/ops/nn/windows.hpp"

namespace dala::model {
namespace {

Shape pooled_shape(const Tensor& x, const WindowAttributes& attributes) {
  Shape shape{x.dim(0), x.dim(1)};
  shape.insert(shape.end(), attributes.out.begin(), attributes.out.end());
  return shape;
}

// Whether max_pool2d or avg_pool2d, which pool 2-D windows of floats, compute the same.
bool planes(const Tensor& x, const WindowAttributes& attributes) {
  const auto one = [](int64_t dilation) { return dilation == 1; };
  bool covered = true;
  for (size_t d = 0; d < attributes.out.size(); ++d) {
    // With ceil_mode, windows may extend beyond the padding.
    const int64_t end = (attributes.out[d] - 1) * attributes.stride[d] + attributes.size[d];
    const int64_t room = x.shape[d + 2] + attributes.before[d] + attributes.after[d];
    covered = covered && end <= room && attributes.before[d] < attributes.size[d] &&
              attributes.after[d] < attributes.size[d] &&
              (room - attributes.size[d]) / attributes.stride[d] + 1 == attributes.out[d];
  }
  return x.rank() == 4 && computed_as(x.type) == ElementType::f32 && x.known == nullptr &&
         std::all_of(attributes.dilation.begin(), attributes.dilation.end(), one) && covered &&
         x.count() > 0;
}

// Extends the padding at the end to the reach of the last windows, which ceil_mode may place beyond
// it. Only for pools whose result does not depend on the padding.
WindowAttributes reaching(const Tensor& x, WindowAttributes attributes) {
  for (size_t d = 0; d < attributes.out.size(); ++d) {
    const int64_t span = (attributes.size[d] - 1) * attributes.dilation[d] + 1;
    const int64_t end = (attributes.out[d] - 1) * attributes.stride[d] + span;
    attributes.after[d] =
        std::max(attributes.after[d], end - attributes.before[d] - x.shape[d + 2]);
  }
  return attributes;
}

// Runs max_pool2d or avg_pool2d; an NHWC view is pooled in its memory order.
Tensor pooled_planes(OpCall& call, const char* kernel, const WindowAttributes& attributes,
                     Params params) {
  const Tensor& x = call.in(0);
  const Order order = channels_last_order(4);
  const bool last = order_of(x) == order;
  const Shape shape = pooled_shape(x, attributes);
  params["size"] = as_numbers(attributes.size);
  params["stride"] = as_numbers(attributes.stride);
  params["pad"] = pads_as_numbers(attributes);
  params["layout"] = std::string(last ? "nhwc" : "nchw");
  if (!last) return call.build.kernel(kernel, {x}, x.type, shape, params);
  return viewed(call.build.kernel(kernel, {x.view->source}, x.type, permuted(shape, order), params),
                order);
}

Tensor pooled(OpCall& call, Pool op, const WindowAttributes& attributes, bool count_padding,
              int64_t power) {
  const Tensor& x = call.in(0);
  Windows view = windows_of(x, attributes);
  view.flag = count_padding ? 1 : 0;
  view.power = power;
  Tensor output = call.build.fresh(x.type, pooled_shape(x, attributes));
  view.count = output.count();
  call.build.run(math_family(x.type), "pool", {x}, output, {value(static_cast<int32_t>(op))}, view,
                 3.0 * static_cast<double>(view.size[0] * view.size[1] * view.size[2]));
  return output;
}

void max_pool(OpCall& call) {
  const Tensor& x = call.in(0);
  const auto attributes = window_attributes(call, x, {}, call.integer("ceil_mode", 0) != 0);
  const WindowAttributes wide = reaching(x, attributes);
  if (planes(x, wide)) {
    call.set(0, pooled_planes(call, "max_pool2d", wide, {}));
  } else {
    call.set(0, pooled(call, POOL_MAX, attributes, false, 2));
  }
  if (!call.wants(1)) return;
  Windows view = windows_of(x, attributes);
  view.flag = call.integer("storage_order", 0);
  Tensor places = call.build.fresh(ElementType::i64, pooled_shape(x, attributes));
  view.count = places.count();
  call.build.run(math_family(x.type), "pool_places", {x}, places, {}, view,
                 3.0 * static_cast<double>(view.size[0] * view.size[1] * view.size[2]));
  call.set(1, places);
}

void average_pool(OpCall& call) {
  const Tensor& x = call.in(0);
  const auto attributes = window_attributes(call, x, {}, call.integer("ceil_mode", 0) != 0);
  const bool count_padding = call.integer("count_include_pad", 0) != 0;
  const WindowAttributes wide = count_padding ? attributes : reaching(x, attributes);
  if (planes(x, wide)) {
    call.set(0, pooled_planes(call, "avg_pool2d", wide, {{"count_include_pad", count_padding}}));
  } else {
    call.set(0, pooled(call, POOL_AVERAGE, attributes, count_padding, 2));
  }
}

void lp_pool(OpCall& call) {
  const auto attributes =
      window_attributes(call, call.in(0), {}, call.integer("ceil_mode", 0) != 0);
  call.set(0, pooled(call, POOL_LP, attributes, false, std::max<int64_t>(1, call.integer("p", 2))));
}

// Reduces all dimensions after the channels.
template <Reducer op>
void global_pool(OpCall& call) {
  const Tensor& x = call.in(0);
  if (op == REDUCE_MEAN && x.rank() == 4 && order_of(x) == channels_last_order(4)) {
    WindowAttributes whole;
    whole.size = {x.dim(2), x.dim(3)};
    whole.stride = whole.dilation = whole.out = {1, 1};
    whole.before = whole.after = {0, 0};
    if (planes(x, whole)) {
      call.set(0, pooled_planes(call, "avg_pool2d", whole, {}));
      return;
    }
  }
  if (x.rank() < 3) {
    throw Error(Reason::shape_mismatch,
                text("input 0 has shape ", to_string(x.shape), ", expected at least 3 dimensions"));
  }
  std::vector<int64_t> axes;
  for (int64_t d = 2; d < x.rank(); ++d) axes.push_back(d);
  call.set(0, reduce(call.build, op, x, axes, true));
}

// Writes elements to the positions that MaxPool recorded; the rest is zero.
void max_unpool(OpCall& call) {
  const Tensor& x = call.in(0);
  const Tensor& places = call.in(1);
  if (x.rank() < 3) {
    throw Error(Reason::shape_mismatch,
                text("input 0 has shape ", to_string(x.shape), ", expected at least 3 dimensions"));
  }
  need_moderate(x);
  const auto rank = static_cast<size_t>(x.rank() - 2);
  const std::vector<int64_t> size = call.integers("kernel_shape");
  std::vector<int64_t> stride = call.integers("strides");
  std::vector<int64_t> pads = call.integers("pads");
  if (stride.empty()) stride.assign(rank, 1);
  if (pads.empty()) pads.assign(2 * rank, 0);
  if (size.size() != rank || stride.size() != rank || pads.size() != 2 * rank ||
      places.shape != x.shape) {
    throw Error(Reason::shape_mismatch,
                text("kernel_shape, strides, pads or indices of shape ", to_string(places.shape),
                     " do not fit an input of shape ", to_string(x.shape)));
  }
  Shape natural{x.dim(0), x.dim(1)};
  for (size_t d = 0; d < rank; ++d) {
    checked_type(DType::s64, {x.shape[d + 2], stride[d]});
    natural.push_back((x.shape[d + 2] - 1) * stride[d] - pads[d] - pads[d + rank] + size[d]);
  }
  const Shape shape = call.has(2) ? call.build.integers(call.in(2)) : natural;
  if (shape.size() != natural.size()) {
    throw Error(Reason::shape_mismatch, text("output shape ", to_string(shape), ", expected ",
                                             natural.size(), " dimensions"));
  }
  // The indices refer to the natural shape, which is placed at the origin of the result.
  Tensor whole = filled(call.build, x.type, natural, 0);
  if (whole.known != nullptr) {
    const Tensor device = call.build.fresh(x.type, natural);
    Tensor target = device;
    call.build.copy(whole, target);
    whole = device;
  }
  IndexWalk walk{};
  walk.rank = 1;
  walk.wide = 1;
  walk.dims[0] = whole.count();
  walk.strides[0] = 1;
  walk.slice = 1;
  walk.tuples = x.count();
  walk.count = 1;
  call.build.run(math_family(x.type), "scatter_nd", {places, x}, whole, {}, walk,
                 4.0 * static_cast<double>(walk.tuples));
  if (shape == natural) {
    call.set(0, whole);
    return;
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < natural[d]) {
      throw Error(Reason::shape_mismatch,
                  text("output shape ", to_string(shape), " is smaller than ", to_string(natural)));
    }
  }
  Tensor output = call.build.fresh(x.type, shape);
  call.build.fill(output, dala::Value{scalar_of(x.type, 0)->bytes});
  place_into(call.build, whole, output, std::vector<int64_t>(shape.size(), 0));
  call.set(0, output);
}

}  // namespace

Operators pooling_operators() {
  return {
      {"AveragePool", average_pool},
      {"GlobalAveragePool", global_pool<REDUCE_MEAN>},
      {"GlobalMaxPool", global_pool<REDUCE_MAX>},
      {"LpPool", lp_pool},
      {"MaxPool", max_pool},
      {"MaxUnpool", max_unpool},
  };
}

}  // namespace dala::model
