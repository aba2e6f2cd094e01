// Work along one axis: the view of a tensor as [outer][axis][inner], the shapes a result may have,
// and how the work is cut for the device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/descriptor.hpp"
#include "kernels/planner.hpp"

namespace dala {

// The same layout as the struct of that name in axis.cl.
struct AxisView {
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
  int64_t segment = 1;
  int64_t segments = 1;
  int64_t columns = 1;
  int64_t units = 1;
  int64_t total = 1;

  int64_t results() const { return outer * segments * inner; }
};

// Input 0 seen along the call's `axis`; the whole of it as one row when there is none. Uncut.
AxisView view_of(const Call& call);

// The same elements with the axis cut into segments, where that keeps more of the device busy.
// `longest` bounds a segment's length.
AxisView cut(const AxisView& view, const Planner& planner, int64_t longest);

// The view of a cut one's results, for the launch that merges them. The total stays.
AxisView merged(const AxisView& view);

// CPU class: the groups for all pieces; in `view`, how many columns a piece has and how many pieces
// a group takes.
Range piece_range(const Planner& planner, AxisView& view);

// GPU class: one group of `items` for each of `groups` results.
Range group_per_result(int64_t groups, size_t items);
// GPU class: one item for each of `count` results.
Range item_per_result(const Planner& planner, int64_t count);

// The shapes that a reduction along the call's axis may write to: without it, or 1 in its place.
std::vector<Shape> reduced_shapes(const Call& call);

// Throws `shape_mismatch` when there is nothing along the axis.
void need_elements_along_axis(const std::string& kernel, const Call& call);

// The parameter of that name, whose fallback is the given axis, or none.
ParamSpec axis_param(const std::string& summary, std::optional<int64_t> fallback);

// T, its sums and the widest float, for the files of this family.
Defines axis_defines(DType dtype, bool fp64);

}  // namespace dala
