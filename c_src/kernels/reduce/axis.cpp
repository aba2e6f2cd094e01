#include "kernels/reduce/axis.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/gemm_tiles.hpp"
#include "runtime/error.hpp"

namespace dala {
namespace {

constexpr int64_t kMaxColumns = 1024;  // COLUMNS in axis.cl
constexpr int64_t kMinColumns = 64;
constexpr int64_t kWorthCutting = 32 * 1024;  // elements that amortise a second launch
constexpr int64_t kPieceElements = 4 * 1024;  // elements that amortise the start of a group

// Long runs of adjacent columns make good use of cache lines, as long as every core has work.
int64_t columns_per_piece(const AxisView& view, const Planner& planner) {
  const int64_t wanted = ceil_div(planner.busy_groups(), view.outer * view.segments);
  return std::clamp(ceil_div(view.inner, wanted), kMinColumns, kMaxColumns);
}

// The reduced axes, ascending: all of them by default.
std::vector<size_t> reduced_axes(const Call& call) {
  if (call.has("axes")) return distinct_axes("", call);
  const Shape& shape = call.inputs[0].shape;
  if (call.has("axis") && !shape.empty()) return {static_cast<size_t>(call.integer("axis"))};
  std::vector<size_t> all(shape.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

int64_t pieces_of(const AxisView& view) {
  return view.outer * view.segments * ceil_div(view.inner, view.columns);
}

// GPU class: the number of items that share a line.
int64_t lanes_of(const Planner& planner, const AxisView& view, int64_t items) {
  constexpr int64_t kFew =
      8;  // lanes that pay off even with little work, since their reads coalesce
  constexpr int64_t kElements = 4;  // per lane, which amortise a step of the reduction across lanes
  constexpr int64_t kAdjacent = 32;  // lines whose accesses coalesce well
  int64_t lanes = 1;
  if (view.inner == 1) {
    while (2 * lanes <= items && 2 * lanes * (lanes < kFew ? 1 : kElements) <= view.segment) {
      lanes *= 2;
    }
    return lanes;
  }
  // Lines are shared only if there are fewer of them than items that fit on the device.
  const int64_t wanted = wanted_groups(planner) * items;
  while (2 * lanes * std::min(view.inner, kAdjacent) <= items &&
         2 * lanes * kElements <= view.segment && results_of(view) * lanes < wanted) {
    lanes *= 2;
  }
  return lanes;
}

// GPU class: the number of groups for a view that is not divided further.
int64_t groups_of(const Planner& planner, const AxisView& view) {
  const auto items = static_cast<int64_t>(items_for(planner, view, sizeof(int64_t)));
  return ceil_div(results_of(view) * lanes_of(planner, view, items), items);
}

}  // namespace

AxisView view_of(const Call& call) {
  const TensorType& input = call.inputs[0];
  AxisView view;
  if (call.has("axis") && !input.shape.empty()) {
    const auto axis = static_cast<size_t>(call.integer("axis"));
    for (size_t d = 0; d < axis; ++d) view.outer *= input.shape[d];
    for (size_t d = axis + 1; d < input.shape.size(); ++d) view.inner *= input.shape[d];
    view.axis = input.shape[axis];
  } else {
    view.axis = input.count();
  }
  view.segment = view.axis;
  view.total = view.axis;
  return view;
}

std::vector<AxisView> views_of(const Call& call) {
  const std::vector<size_t> axes = reduced_axes(call);
  Shape shape = call.inputs[0].shape;
  int64_t total = 1;
  for (size_t axis : axes) total *= shape[axis];
  std::vector<AxisView> views;
  for (size_t end = axes.size(); end > 0;) {
    // Axes [first, last] are adjacent.
    const size_t last = axes[--end];
    size_t first = last;
    while (end > 0 && axes[end - 1] + 1 == first) first = axes[--end];
    AxisView view;
    for (size_t d = 0; d < shape.size(); ++d) {
      (d < first ? view.outer : d <= last ? view.axis : view.inner) *= shape[d];
    }
    for (size_t d = first; d <= last; ++d) shape[d] = 1;
    view.segment = view.axis;
    view.total = total;
    views.push_back(view);
  }
  if (views.empty()) {
    // Nothing is reduced: every element is its own result.
    AxisView view;
    view.outer = call.inputs[0].count();
    views.push_back(view);
  }
  return views;
}

AxisView cut(const AxisView& view, const Planner& planner, int64_t longest) {
  AxisView result = view;
  const int64_t elements = view.outer * view.axis * view.inner;
  int64_t segments = 1;
  if (elements >= kWorthCutting) {
    const int64_t wanted = planner.cpu_class() ? planner.busy_groups() : 64;
    const int64_t there = planner.cpu_class() ? view.outer * ceil_div(view.inner, kMaxColumns)
                                              : groups_of(planner, view);
    const int64_t useful = std::max<int64_t>(1, elements / kPieceElements);
    segments = std::min(ceil_div(wanted, there), useful);
  }
  segments = std::clamp<int64_t>(segments, ceil_div(view.axis, longest), view.axis);
  result.segment = ceil_div(view.axis, segments);
  result.segments = ceil_div(view.axis, result.segment);
  return result;
}

AxisView merged(const AxisView& view) {
  AxisView result = view;
  result.axis = view.segments;
  result.segment = view.segments;
  result.segments = 1;
  return result;
}

Range piece_range(const Planner& planner, AxisView& view) {
  view.columns = columns_per_piece(view, planner);
  const int64_t pieces = pieces_of(view);
  const int64_t elements = std::max<int64_t>(1, view.outer * view.axis * view.inner / pieces);
  const int64_t enough = std::max<int64_t>(1, kPieceElements / elements);
  const int64_t fair = std::max<int64_t>(1, pieces / planner.busy_groups());
  // A small amount of work stays in one group. Otherwise groups take several small pieces, but not
  // so many that a core is idle.
  view.units = pieces * elements < kWorthCutting / 2 ? pieces : std::min(enough, fair);
  Range range;
  range.global[0] = static_cast<size_t>(ceil_div(pieces, view.units));
  return range;
}

size_t items_for(const Planner& planner, const AxisView& view, size_t local_bytes_per_item) {
  const TileChoice choice =
      tile_choice(planner.device().info(),
                  view.inner == 1 ? ShapeClass::reduce_rows : ShapeClass::reduce_columns);
  return planner.group_items(static_cast<size_t>(choice.items), local_bytes_per_item);
}

Range line_range(const Planner& planner, AxisView& view, size_t items) {
  view.units = lanes_of(planner, view, static_cast<int64_t>(items));
  view.columns = static_cast<int64_t>(items) / view.units;
  return group_per_result(ceil_div(results_of(view), view.columns), items);
}

Range group_per_result(int64_t groups, size_t items) {
  Range range;
  range.local[0] = items;
  range.global[0] = static_cast<size_t>(groups) * items;
  return range;
}

Range item_per_result(const Planner& planner, int64_t count) {
  const size_t items = planner.cpu_class() ? 1 : planner.group_items(256);
  return group_per_result(ceil_div(count, static_cast<int64_t>(items)), items);
}

std::vector<Shape> reduced_shapes(const Call& call) {
  if (!call.has("axis") && !call.has("axes")) return {{}, {1}};
  const std::vector<size_t> axes = reduced_axes(call);
  Shape without;
  Shape with_one = call.inputs[0].shape;
  for (size_t d = 0; d < with_one.size(); ++d) {
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) {
      without.push_back(with_one[d]);
    } else {
      with_one[d] = 1;
    }
  }
  return {without, with_one};
}

void need_elements_along_axis(const std::string& kernel, const Call& call) {
  int64_t elements = 1;
  for (size_t axis : reduced_axes(call)) elements *= call.inputs[0].shape[axis];
  if (elements > 0) return;
  const std::string where = call.has("axis") ? text(" along axis ", call.integer("axis"))
                            : call.has("axes")
                                ? text(" along axes ", to_string(call.params.at("axes")))
                                : std::string();
  throw Error(Reason::shape_mismatch,
              text("input 0 of ", kernel, " has shape ", to_string(call.inputs[0].shape),
                   ", which is empty", where));
}

ParamSpec axis_param(const std::string& summary, std::optional<int64_t> fallback) {
  ParamSpec axis;
  axis.name = "axis";
  axis.kind = ParamSpec::Kind::axis;
  if (fallback) axis.fallback = *fallback;
  axis.summary = summary;
  return axis;
}

std::vector<ParamSpec> reduced_axes_params(const std::string& verb) {
  ParamSpec axes;
  axes.name = "axes";
  axes.kind = ParamSpec::Kind::axes;
  axes.summary = "several axes to " + verb + " at once, in place of axis";
  return {axis_param("the axis to " + verb + "; the whole buffer when absent", {}), axes};
}

void need_one_of_axes(const std::string& kernel, const Call& call) {
  if (call.has("axes")) distinct_axes(kernel, call);
  if (!call.has("axis") || !call.has("axes")) return;
  throw Error(Reason::invalid_param, text(kernel, " takes axis or axes, not both"));
}

Defines axis_defines(DType dtype, bool fp64) {
  Defines defines = element_defines(dtype);
  defines.emplace_back("SUM", sum_type(dtype, fp64));
  defines.emplace_back("REAL", fp64 ? "double" : "float");
  return defines;
}

}  // namespace dala
