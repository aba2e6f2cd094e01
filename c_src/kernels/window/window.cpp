#include "kernels/window/window.hpp"

#include <algorithm>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/reduce/axis.hpp"
#include "kernels/shape/box.hpp"
#include "kernels/window/window_args.h"

namespace dala {
namespace {

const std::vector<DType> kWindowed{DType::f32, DType::f64, DType::s32,
                                   DType::s64, DType::u32, DType::u8};

constexpr double kFarthest = 0x1p30;
constexpr int64_t kSmallChunk = 4 * 1024;  // results that amortise the start of a group

struct Operation {
  std::string name;  // as in reductions
  std::string identity;
  bool widens = false;  // accumulates in a wider type than the elements'
};

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all{
      {"sum", "0", true}, {"product", "1", true}, {"max", "LOWEST"}, {"min", "HIGHEST"}};
  return all;
}

// The windows of a call, dimension by dimension.
struct Windows {
  std::vector<int64_t> size;
  std::vector<int64_t> stride;
  std::vector<int64_t> dilation;
  std::vector<int64_t> low;
  std::vector<int64_t> high;
  Shape places;
};

Windows windows_of(const std::string& kernel, const Call& call) {
  const Shape& shape = call.inputs[0].shape;
  const size_t rank = shape.size();
  Windows windows{per_dimension(kernel, call, "size", rank),
                  per_dimension(kernel, call, "stride", rank),
                  std::vector<int64_t>(rank, 1),
                  per_dimension(kernel, call, "low", rank),
                  per_dimension(kernel, call, "high", rank),
                  Shape(rank)};
  if (call.has("dilation")) windows.dilation = per_dimension(kernel, call, "dilation", rank);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t reach = (windows.size[d] - 1) * windows.dilation[d] + 1;
    const int64_t room = shape[d] + windows.low[d] + windows.high[d] - reach;
    windows.places[d] = room < 0 ? 0 : room / windows.stride[d] + 1;
  }
  return windows;
}

std::vector<ParamSpec> window_params(bool dilates) {
  ParamSpec size = per_dimension_param("size", 1, 1, kFarthest,
                                       "elements of a window: one number, or one per dimension");
  size.fallback.reset();
  size.required = true;
  std::vector<ParamSpec> params{
      size,
      per_dimension_param("stride", 1, 1, kFarthest,
                          "the distance between windows: one number, or one per dimension"),
      per_dimension_param(
          "low", 0, 0, kFarthest,
          "padding in front of the first element: one number, or one per dimension"),
      per_dimension_param("high", 0, 0, kFarthest, "the same behind the last element")};
  if (dilates) {
    params.push_back(per_dimension_param(
        "dilation", 1, 1, kFarthest,
        "the distance between the elements of a window: one number, or one per dimension"));
  }
  return params;
}

std::shared_ptr<Program> slide_program(Planner& planner, DType dtype) {
  return planner.program(text("window ", to_string(dtype)), [&] {
    ProgramSource source{axis_defines(dtype, planner.fp64()), {}};
    for (const Operation& operation : operations()) {
      source.parts.push_back(
          {"window/slide.cl",
           {{"ENTRY", "window_" + operation.name},
            {"ACC", operation.widens ? sum_type(dtype, planner.fp64()) : cl_name(dtype)},
            {"IDENTITY", "((ACC)" + operation.identity + ")"},
            {"COMBINE", "combine_" + operation.name}}});
    }
    return source;
  });
}

// One group per chunk of results on CPUs, elsewhere one item per result.
Range result_range(const Planner& planner, int64_t count, cl_long& chunk) {
  if (!planner.cpu_class()) return item_per_result(planner, count);
  chunk = std::max(kSmallChunk, ceil_div(count, planner.busy_groups()));
  Range range;
  range.global[0] = static_cast<size_t>(ceil_div(count, chunk));
  return range;
}

Launch plan_window(const std::string& name, const Call& call, Planner& planner) {
  planner.need_arithmetic(name, call);
  Launch launch;
  if (call.output.count() == 0) return launch;
  const Windows windows = windows_of(name, call);
  const DType dtype = call.output.dtype;
  Shape shape = call.inputs[0].shape;
  // Axes along which windows do anything; those that shrink most come first, to reduce the later
  // work.
  std::vector<size_t> axes;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool idle = windows.size[d] == 1 && windows.places[d] == shape[d] && windows.low[d] == 0;
    if (!idle) axes.push_back(d);
  }
  const auto growth = [&](size_t d) {
    return static_cast<double>(windows.places[d]) /
           static_cast<double>(std::max<int64_t>(1, shape[d]));
  };
  std::stable_sort(axes.begin(), axes.end(),
                   [&](size_t a, size_t b) { return growth(a) < growth(b); });
  if (axes.empty()) {
    launch.steps.push_back(CopyStep{input(0), output(), call.output.bytes()});
    return launch;
  }
  Operand from = input(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = axes[i];
    SlideView view;
    for (size_t d = 0; d < shape.size(); ++d) {
      (d < axis ? view.outer : d == axis ? view.length : view.inner) *= shape[d];
    }
    view.places = windows.places[axis];
    view.size = windows.size[axis];
    view.stride = windows.stride[axis];
    view.dilation = windows.dilation[axis];
    view.low = windows.low[axis];
    shape[axis] = view.places;
    const TensorType result{dtype, shape};
    const bool last = i + 1 == axes.size();
    if (!last) launch.scratch.push_back(result.bytes());
    const Operand to = last ? output() : scratch(static_cast<int>(i));
    const Range range = result_range(planner, result.count(), view.chunk);
    launch.steps.push_back(
        KernelStep{slide_program(planner, dtype), name, {from, to, value(view)}, range});
    launch.work += static_cast<double>(result.bytes()) * static_cast<double>(view.size + 1);
    from = to;
  }
  return launch;
}

Descriptor window_kernel(const std::string& operation, const std::string& summary) {
  const std::string name = "window_" + operation;
  Descriptor window;
  window.name = name;
  window.summary = summary;
  window.dtypes = kWindowed;
  window.output_rule =
      "the input's element type, (n + low + high - (size - 1) * dilation - 1) / stride + 1 for "
      "each dimension n, or 0";
  window.params = window_params(true);
  window.check = [name](const Call& call) {
    need_output_dtype(name, call, {call.inputs[0].dtype});
    need_output_shape(name, call, {windows_of(name, call).places});
  };
  window.plan = [name](const Call& call, Planner& planner) {
    return plan_window(name, call, planner);
  };
  return window;
}

Launch plan_scatter(const std::string& name, const Call& call, Planner& planner) {
  planner.need_arithmetic(name, call);
  Launch launch;
  if (call.output.count() == 0) return launch;
  const Windows windows = windows_of(name, call);
  const DType dtype = call.output.dtype;
  WindowView view;
  view.elements = call.output.count();
  view.windows = call.inputs[1].count();
  view.largest = name == "window_scatter_max" ? 1 : 0;
  view.rank = static_cast<cl_int>(windows.size.size());
  for (size_t d = 0; d < windows.size.size(); ++d) {
    view.inside *= windows.size[d];
    view.extent[d] = call.inputs[0].shape[d];
    view.places[d] = windows.places[d];
    view.size[d] = windows.size[d];
    view.stride[d] = windows.stride[d];
    view.low[d] = windows.low[d];
  }
  const auto program = planner.program(text("window select ", to_string(dtype)), [&] {
    return ProgramSource{element_defines(dtype), {{"window/select.cl"}}};
  });
  launch.scratch = {std::max<size_t>(1, static_cast<size_t>(view.windows)) * sizeof(cl_long)};
  if (view.windows > 0) {
    const Range range = result_range(planner, view.windows, view.chunk);
    launch.steps.push_back(
        KernelStep{program, "window_select", {input(0), scratch(0), value(view)}, range});
  }
  const Range range = result_range(planner, view.elements, view.chunk);
  launch.steps.push_back(
      KernelStep{program,
                 "window_scatter",
                 {input(1), scratch(0), output(), call.element("initial", dtype), value(view)},
                 range});
  launch.work = static_cast<double>(2 * call.output.bytes()) +
                static_cast<double>(view.windows * view.inside);
  return launch;
}

Descriptor scatter_kernel(const std::string& which, const std::string& adjective) {
  const std::string name = "window_scatter_" + which;
  ParamSpec initial;
  initial.name = "initial";
  initial.kind = ParamSpec::Kind::element;
  initial.fallback = int64_t{0};
  initial.summary = "the value of an element that no window selects";
  Descriptor scatter;
  scatter.name = name;
  scatter.summary = "The elements of input 1 added up at the first " + adjective +
                    " element of each window of input 0, NaN being it: the gradient of window_" +
                    which + ". Integers wrap.";
  scatter.inputs = 2;
  scatter.dtypes = kWindowed;
  scatter.output_rule =
      "the element type and shape of input 0; input 1 has the shape that window_" + which +
      " gives";
  scatter.params = window_params(false);
  scatter.params.push_back(initial);
  scatter.check = [name](const Call& call) {
    need_same_inputs(name, call);
    const Shape& shape = call.inputs[0].shape;
    if (shape.size() > WINDOW_MOST_AXES) {
      throw Error(Reason::unsupported, text(name, " of more than ", WINDOW_MOST_AXES,
                                            " dimensions is not supported, got ", shape.size()));
    }
    const Shape places = windows_of(name, call).places;
    if (call.inputs[1].shape != places) {
      throw Error(Reason::shape_mismatch,
                  text("input 1 of ", name, " has shape ", to_string(call.inputs[1].shape),
                       ", expected ", to_string(places)));
    }
    need_output_dtype(name, call, {call.inputs[0].dtype});
    need_output_shape(name, call, {shape});
  };
  scatter.plan = [name](const Call& call, Planner& planner) {
    return plan_scatter(name, call, planner);
  };
  return scatter;
}

}  // namespace

Descriptors window_kernels() {
  return {
      window_kernel("sum",
                    "The sum of each window that slides along the axes; integers wrap, padding "
                    "adds nothing."),
      window_kernel("product",
                    "The product of each window that slides along the axes; integers wrap, padding "
                    "counts as 1."),
      window_kernel("max",
                    "The largest element of each window that slides along the axes; NaN if there "
                    "is one, the lowest number of its type if there is only padding."),
      window_kernel("min",
                    "The smallest element of each window that slides along the axes; NaN if there "
                    "is one, the highest number of its type if there is only padding."),
      scatter_kernel("max", "largest"),
      scatter_kernel("min", "smallest"),
  };
}

}  // namespace dala
