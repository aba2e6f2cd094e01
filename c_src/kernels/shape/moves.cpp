// Kernels that move boxes of elements: slice, put_slice, pad, reverse, concatenate and tile.
#include "kernels/shape/moves.hpp"

#include <algorithm>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/elementwise/pointwise.hpp"
#include "kernels/shape/box.hpp"
#include "kernels/shape/box_args.h"

namespace dala {
namespace {

constexpr double kFarthest = 9007199254740992.0;  // 2^53: every smaller integer is a double
constexpr double kMostPadding = 1073741824;       // 2^30, so that extents do not overflow

// The common part of these descriptors: elements of any type, copied unchanged.
Descriptor mover(const std::string& name, const std::string& summary) {
  Descriptor descriptor;
  descriptor.name = name;
  descriptor.summary = summary;
  descriptor.dtypes = kMovedDTypes;
  return descriptor;
}

void need_same_dtypes(const std::string& kernel, const Call& call) {
  need_same_inputs(kernel, call);
  need_output_dtype(kernel, call, {call.inputs[0].dtype});
}

void need_rank(const std::string& kernel, const std::string& what, const Shape& shape,
               size_t rank) {
  if (shape.size() == rank) return;
  throw Error(Reason::shape_mismatch, text(what, " of ", kernel, " has shape ", to_string(shape),
                                           ", expected ", rank, " dimensions"));
}

// Whether `count` elements with this step and start are within `extent`.
bool lies_within(int64_t start, int64_t step, int64_t count, int64_t extent) {
  if (count == 0) return start <= extent;
  if (start >= extent) return false;
  return (count - 1) <= (extent - 1 - start) / step;
}

// Throws unless the box given by starts and strides is within the tensor.
void need_box(const std::string& kernel, const std::string& what, const Call& call,
              const Shape& box, const Shape& tensor) {
  const auto starts = per_dimension(kernel, call, "starts", tensor.size());
  const auto strides = per_dimension(kernel, call, "strides", tensor.size());
  for (size_t d = 0; d < tensor.size(); ++d) {
    if (lies_within(starts[d], strides[d], box[d], tensor[d])) continue;
    throw Error(Reason::shape_mismatch,
                text(kernel, " takes ", box[d], " elements from ", starts[d], " on, ", strides[d],
                     " apart, along axis ", d, ", but ", what, " has shape ", to_string(tensor)));
  }
}

std::vector<ParamSpec> box_params() {
  return {per_dimension_param("starts", 0, 0, kFarthest,
                              "where the part begins: one number, or one per dimension"),
          per_dimension_param("strides", 1, 1, kFarthest,
                              "from one element to the next: one number, or one per dimension")};
}

Descriptor slice_kernel() {
  Descriptor slice = mover("slice", "The part of a tensor that has the output's shape.");
  slice.output_rule = "the input's element type and number of dimensions, as long as the part is";
  slice.params = box_params();
  slice.check = [](const Call& call) {
    need_same_dtypes("slice", call);
    need_rank("slice", "the output", call.output.shape, call.inputs[0].shape.size());
    need_box("slice", "input 0", call, call.output.shape, call.inputs[0].shape);
  };
  slice.plan = [](const Call& call, Planner& planner) {
    Launch launch;
    if (call.output.count() == 0) return launch;
    const Shape& from = call.inputs[0].shape;
    launch.steps.push_back(
        box_step(planner, "slice", size_of(call.output.dtype), call.output.shape, input(0),
                 box_side(from, per_dimension("slice", call, "starts", from.size()),
                          per_dimension("slice", call, "strides", from.size())),
                 output(), whole(call.output.shape)));
    launch.work = 2.0 * static_cast<double>(call.output.bytes());
    return launch;
  };
  return slice;
}

Descriptor put_slice_kernel() {
  Descriptor put = mover("put_slice", "Input 0 with input 1 in place of a part of it.");
  put.inputs = 2;
  put.output_rule = "the element type and shape of input 0";
  put.params = box_params();
  put.check = [](const Call& call) {
    need_same_dtypes("put_slice", call);
    need_output_shape("put_slice", call, {call.inputs[0].shape});
    need_rank("put_slice", "input 1", call.inputs[1].shape, call.inputs[0].shape.size());
    need_box("put_slice", "input 0", call, call.inputs[1].shape, call.inputs[0].shape);
  };
  put.plan = [](const Call& call, Planner& planner) {
    Launch launch;
    const Shape& to = call.output.shape;
    if (call.output.count() == 0) return launch;
    launch.steps.push_back(CopyStep{input(0), output(), call.output.bytes()});
    launch.work = 2.0 * static_cast<double>(call.output.bytes() + call.inputs[1].bytes());
    if (call.inputs[1].count() == 0) return launch;
    launch.steps.push_back(
        box_step(planner, "put_slice", size_of(call.output.dtype), call.inputs[1].shape, input(1),
                 whole(call.inputs[1].shape), output(),
                 box_side(to, per_dimension("put_slice", call, "starts", to.size()),
                          per_dimension("put_slice", call, "strides", to.size()))));
    return launch;
  };
  return put;
}

// Padding along one dimension.
struct Pads {
  std::vector<int64_t> low;
  std::vector<int64_t> high;
  std::vector<int64_t> interior;
};

Pads pads_of(const Call& call) {
  const size_t rank = call.inputs[0].shape.size();
  return {per_dimension("pad", call, "low", rank), per_dimension("pad", call, "high", rank),
          per_dimension("pad", call, "interior", rank)};
}

Shape padded_shape(const Call& call) {
  const Pads pads = pads_of(call);
  Shape shape = call.inputs[0].shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t spread = shape[d] + std::max<int64_t>(0, shape[d] - 1) * pads.interior[d];
    shape[d] = std::max<int64_t>(0, spread + pads.low[d] + pads.high[d]);
  }
  return shape;
}

// Dimensions innermost first; a dimension that is only padded at its ends absorbs inner ones
// without padding.
PadView pad_view(const Call& call) {
  const Shape& in = call.inputs[0].shape;
  const Pads pads = pads_of(call);
  PadView view;
  view.count = call.output.count();
  view.rank = 0;
  int64_t stride = 1;
  bool plain = false;  // the innermost dimension so far has no padding
  for (size_t n = 0; n < in.size(); ++n) {
    const size_t d = in.size() - 1 - n;
    const bool merges = plain && pads.interior[d] == 0;
    if (!merges) {
      if (view.rank == BOX_RANK) {
        throw Error(Reason::unsupported,
                    text("pad takes at most ", BOX_RANK,
                         " dimensions that cannot be merged, got shape ", to_string(in)));
      }
      ++view.rank;
    }
    const auto at = static_cast<size_t>(view.rank - 1);
    const int64_t inner = merges ? view.dims[at] : 1;
    view.dims[at] = inner * call.output.shape[d];
    view.in_dims[at] = inner * in[d];
    view.low[at] = inner * pads.low[d];
    view.step[at] = merges ? 1 : pads.interior[d] + 1;
    if (!merges) view.in_strides[at] = stride;
    stride *= in[d];
    plain = pads.low[d] == 0 && pads.high[d] == 0 && pads.interior[d] == 0;
  }
  if (view.rank == 0) {
    view.rank = 1;
    view.dims[0] = view.in_dims[0] = view.in_strides[0] = view.step[0] = 1;
  }
  return view;
}

Descriptor pad_kernel() {
  Descriptor pad = mover("pad", "Adds elements around a tensor and between its elements.");
  pad.output_rule =
      "the input's element type, n + (n - 1) * interior + low + high for each dimension n";
  ParamSpec fill;
  fill.name = "value";
  fill.kind = ParamSpec::Kind::element;
  fill.fallback = int64_t{0};
  fill.summary = "what is added";
  pad.params = {
      per_dimension_param("low", 0, -kMostPadding, kMostPadding,
                          "how many before the first element, negative ones being left out: one "
                          "number, or one per dimension"),
      per_dimension_param("high", 0, -kMostPadding, kMostPadding,
                          "the same behind the last element"),
      per_dimension_param("interior", 0, 0, kMostPadding,
                          "how many between neighbours: one number, or one per dimension"),
      fill};
  pad.check = [](const Call& call) {
    need_same_dtypes("pad", call);
    need_output_shape("pad", call, {padded_shape(call)});
  };
  pad.plan = [](const Call& call, Planner& planner) {
    Launch launch;
    if (call.output.count() == 0) return launch;
    const Value fill_value = call.element("value", call.output.dtype);
    launch.work = static_cast<double>(call.inputs[0].bytes() + call.output.bytes());
    if (call.inputs[0].count() == 0) {
      launch.steps.push_back(FillStep{output(), fill_value, call.output.bytes()});
      return launch;
    }
    PadView view = pad_view(call);
    const Spread spread = spread_out(planner, view.count);
    view.chunk = spread.chunk;
    launch.steps.push_back(KernelStep{box_program(planner, size_of(call.output.dtype)),
                                      "pad",
                                      {input(0), output(), value(view), fill_value},
                                      spread.range});
    return launch;
  };
  return pad;
}

// Whether each dimension is named; all are without the parameter.
std::vector<bool> named_axes(const std::string& kernel, const Call& call) {
  const size_t rank = call.inputs[0].shape.size();
  if (!call.has("axes")) return std::vector<bool>(rank, true);
  std::vector<bool> named(rank, false);
  for (size_t axis : distinct_axes(kernel, call)) named[axis] = true;
  return named;
}

Descriptor reverse_kernel() {
  ParamSpec axes;
  axes.name = "axes";
  axes.kind = ParamSpec::Kind::axes;
  axes.summary = "the axes to reverse; all of them when absent";
  Descriptor reverse = mover("reverse", "The elements along axes in reverse order.");
  reverse.output_rule = "the input's element type and shape";
  reverse.params = {axes};
  reverse.check = [](const Call& call) {
    need_same_dtypes("reverse", call);
    need_output_shape("reverse", call, {call.inputs[0].shape});
    named_axes("reverse", call);
  };
  reverse.plan = [](const Call& call, Planner& planner) {
    Launch launch;
    if (call.output.count() == 0) return launch;
    const Shape& shape = call.output.shape;
    BoxSide side = whole(shape);
    const std::vector<bool> turned = named_axes("reverse", call);
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!turned[d]) continue;
      side.offset += (shape[d] - 1) * side.strides[d];
      side.strides[d] = -side.strides[d];
    }
    launch.steps.push_back(box_step(planner, "reverse", size_of(call.output.dtype), shape, input(0),
                                    side, output(), whole(shape)));
    launch.work = 2.0 * static_cast<double>(call.output.bytes());
    return launch;
  };
  return reverse;
}

void check_concatenate(const Call& call) {
  need_same_dtypes("concatenate", call);
  const Shape& first = call.inputs[0].shape;
  if (first.empty()) {
    throw Error(Reason::shape_mismatch, "concatenate takes no scalars; reshape them to {1}");
  }
  const auto axis = static_cast<size_t>(call.integer("axis"));
  Shape joined = first;
  for (size_t n = 1; n < call.inputs.size(); ++n) {
    const Shape& other = call.inputs[n].shape;
    bool fits = other.size() == first.size();
    for (size_t d = 0; fits && d < first.size(); ++d) fits = d == axis || other[d] == first[d];
    if (!fits) {
      throw Error(Reason::shape_mismatch,
                  text("input ", n, " of concatenate has shape ", to_string(other), ", expected ",
                       to_string(first), " like input 0, but for axis ", axis));
    }
    joined[axis] += other[axis];
  }
  need_output_shape("concatenate", call, {joined});
}

Descriptor concatenate_kernel() {
  constexpr int kMostInputs = 1024;
  ParamSpec axis;
  axis.name = "axis";
  axis.kind = ParamSpec::Kind::axis;
  axis.fallback = int64_t{0};
  axis.summary = "the axis along which they are joined";
  Descriptor concatenate = mover("concatenate", "Tensors joined along an axis.");
  concatenate.optional_inputs = kMostInputs - 1;
  concatenate.output_rule =
      "the inputs' element type and shape, as long as all of them along the axis";
  concatenate.params = {axis};
  concatenate.check = check_concatenate;
  concatenate.plan = [](const Call& call, Planner& planner) {
    Launch launch;
    const Shape& shape = call.output.shape;
    const auto axis = static_cast<size_t>(call.integer("axis"));
    BoxSide target = whole(shape);
    for (size_t n = 0; n < call.inputs.size(); ++n) {
      const TensorType& part = call.inputs[n];
      if (part.count() == 0) continue;
      launch.steps.push_back(box_step(planner, "concatenate", size_of(part.dtype), part.shape,
                                      input(static_cast<int>(n)), whole(part.shape), output(),
                                      target));
      target.offset += part.shape[axis] * target.strides[axis];
    }
    launch.work = 2.0 * static_cast<double>(call.output.bytes());
    return launch;
  };
  return concatenate;
}

Descriptor tile_kernel() {
  Descriptor tile =
      mover("tile", "Repeats a tensor along its dimensions until it fills the output.");
  tile.output_rule =
      "the input's element type; each dimension a multiple of the input's, with further ones in "
      "front";
  tile.check = [](const Call& call) {
    need_same_dtypes("tile", call);
    const Shape& in = call.inputs[0].shape;
    const Shape& out = call.output.shape;
    bool fits = out.size() >= in.size();
    for (size_t d = 0; fits && d < in.size(); ++d) {
      const int64_t extent = out[out.size() - in.size() + d];
      fits = in[d] == 0 ? extent == 0 : extent % in[d] == 0;
    }
    if (fits) return;
    throw Error(Reason::shape_mismatch, text("input 0 of tile has shape ", to_string(in),
                                             ", which does not fill the "
                                             "output's ",
                                             to_string(out), " evenly"));
  };
  tile.plan = [](const Call& call, Planner& planner) {
    Launch launch;
    if (call.output.count() == 0) return launch;
    const Shape& in = call.inputs[0].shape;
    const Shape& out = call.output.shape;
    const Shape own = strides_of(in);
    // Each dimension becomes two: the repetitions and the extent.
    Shape box;
    Shape walked;
    for (size_t d = 0; d < out.size(); ++d) {
      const bool added = d < out.size() - in.size();
      const size_t at = added ? 0 : d - (out.size() - in.size());
      const int64_t extent = added ? 1 : in[at];
      box.insert(box.end(), {out[d] / extent, extent});
      walked.insert(walked.end(), {0, added ? 0 : own[at]});
    }
    launch.steps.push_back(box_step(planner, "tile", size_of(call.output.dtype), box, input(0),
                                    {0, walked}, output(), whole(box)));
    launch.work = static_cast<double>(call.inputs[0].bytes() + call.output.bytes());
    return launch;
  };
  return tile;
}

}  // namespace

Descriptors move_kernels() {
  return {slice_kernel(),   put_slice_kernel(),   pad_kernel(),
          reverse_kernel(), concatenate_kernel(), tile_kernel()};
}

}  // namespace dala
