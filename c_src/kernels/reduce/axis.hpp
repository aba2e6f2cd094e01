// Work along one axis: the view of a tensor as [outer][axis][inner], the shapes that a result may
// have, and how the work is divided for the device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/descriptor.hpp"
#include "kernels/planner.hpp"
#include "kernels/reduce/axis_args.h"

namespace dala {

inline int64_t results_of(const AxisView& view) { return view.outer * view.segments * view.inner; }

// Input 0 along the call's `axis`, as one segment; as one row when there is no axis.
AxisView view_of(const Call& call);

// The views of a reduction along the call's `axis`, or its `axes`, one after the other: axes that
// are neighbours are reduced at once, the innermost first, each view being of the results of the
// one before. `total` is the number of elements of the whole in all of them. Uncut.
std::vector<AxisView> views_of(const Call& call);

// The same elements with the axis cut into segments, where that keeps more of the device busy.
// `longest` bounds a segment's length.
AxisView cut(const AxisView& view, const Planner& planner, int64_t longest);

// The view of the partial results of `view`, for the launch that merges them. The total stays.
AxisView merged(const AxisView& view);

// CPU class: the range of groups that covers all pieces. Sets the columns per piece and the pieces
// per group in `view`.
Range piece_range(const Planner& planner, AxisView& view);

// GPU class: one group of `items` for each of `groups` results.
Range group_per_result(int64_t groups, size_t items);
// GPU class: one item for each of `count` results.
Range item_per_result(const Planner& planner, int64_t count);

// The shapes that a reduction along the call's axis, or axes, may write to: without them, or 1 in
// their place.
std::vector<Shape> reduced_shapes(const Call& call);

// Throws `shape_mismatch` when the axis has no elements.
void need_elements_along_axis(const std::string& kernel, const Call& call);

// The parameter `axis`, whose fallback is the given axis, or none.
ParamSpec axis_param(const std::string& summary, std::optional<int64_t> fallback);

// The parameters `axis` and `axes` of reductions, and the rule that only one of them is given.
std::vector<ParamSpec> reduced_axes_params(const std::string& verb);
void need_one_of_axes(const std::string& kernel, const Call& call);

// T, its sums and the widest float, for the files of this family.
Defines axis_defines(DType dtype, bool fp64);

}  // namespace dala
