#include "kernels/reduce/axis.hpp"

#include <algorithm>

#include "kernels/element.hpp"
#include "runtime/error.hpp"

namespace dala {
namespace {

constexpr int64_t kMostColumns = 1024;  // COLUMNS in axis.cl
constexpr int64_t kFewestColumns = 64;
constexpr int64_t kWorthCutting = 32 * 1024;  // elements that outweigh a second launch
constexpr int64_t kPieceElements = 4 * 1024;  // elements that outweigh the start of a group

// Long runs of neighbouring columns suit the memory, as long as every core gets some.
int64_t columns_per_piece(const AxisView& view, const Planner& planner) {
  const int64_t wanted = ceil_div(planner.busy_groups(), view.outer * view.segments);
  return std::clamp(ceil_div(view.inner, wanted), kFewestColumns, kMostColumns);
}

int64_t pieces_of(const AxisView& view) {
  return view.outer * view.segments * ceil_div(view.inner, view.columns);
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

AxisView cut(const AxisView& view, const Planner& planner, int64_t longest) {
  AxisView result = view;
  const int64_t elements = view.outer * view.axis * view.inner;
  int64_t segments = 1;
  if (elements >= kWorthCutting) {
    // On GPUs a result is served by a group at most, so more of them are wanted.
    const int64_t wanted = planner.cpu_class() ? planner.busy_groups() : 64;
    const int64_t there = planner.cpu_class() ? view.outer * ceil_div(view.inner, kMostColumns)
                                              : view.outer * view.inner;
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
  // Little work stays in one group; otherwise groups hold several pieces when these are small,
  // but never so many that a core has nothing to do.
  view.units = pieces * elements < kWorthCutting / 2 ? pieces : std::min(enough, fair);
  Range range;
  range.global[0] = static_cast<size_t>(ceil_div(pieces, view.units));
  return range;
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
  if (!call.has("axis")) return {{}, {1}};
  const auto axis = call.integer("axis");
  Shape without = call.inputs[0].shape;
  Shape with_one = without;
  without.erase(without.begin() + axis);
  with_one[static_cast<size_t>(axis)] = 1;
  return {without, with_one};
}

void need_elements_along_axis(const std::string& kernel, const Call& call) {
  if (view_of(call).axis > 0) return;
  const std::string where =
      call.has("axis") ? text("along axis ", call.integer("axis")) : std::string("in it");
  throw Error(Reason::shape_mismatch,
              text("input 0 of ", kernel, " has shape ", to_string(call.inputs[0].shape),
                   ", which is empty ", where));
}

ParamSpec axis_param(const std::string& summary, std::optional<int64_t> fallback) {
  ParamSpec axis;
  axis.name = "axis";
  axis.kind = ParamSpec::Kind::axis;
  if (fallback) axis.fallback = *fallback;
  axis.summary = summary;
  return axis;
}

Defines axis_defines(DType dtype, bool fp64) {
  Defines defines = element_defines(dtype);
  defines.emplace_back("SUM", sum_type(dtype, fp64));
  defines.emplace_back("REAL", fp64 ? "double" : "float");
  return defines;
}

}  // namespace dala
