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

// Input 0 along the call's `axis`, as one segment; without an axis, as one row.
AxisView view_of(const Call& call);

// The views of a reduction along the call's `axis` or `axes`, one after the other: adjacent axes
// are reduced at once, the innermost first, and each view describes the results of the one before.
// In all of them, `total` is the number of elements per final result. Axes are not divided into
// segments.
std::vector<AxisView> views_of(const Call& call);

// The same elements with the axis divided into segments of at most `longest`, if that keeps more of
// the device busy.
AxisView cut(const AxisView& view, const Planner& planner, int64_t longest);

// The view of the partial results of `view`, for the launch that merges them; `total` stays the
// same.
AxisView merged(const AxisView& view);

// CPU class: the range of groups that covers all pieces. Sets the columns per piece and the pieces
// per group in `view`.
Range piece_range(const Planner& planner, AxisView& view);

// GPU class: the items of a work-group that works along this axis, with that much local memory for
// each.
size_t items_for(const Planner& planner, const AxisView& view, size_t local_bytes_per_item);

// GPU class: the range of groups of `items`, a power of two, that covers all lines. Sets the lines
// per group and the items per line in `view`; see lines_gpu.cl.
Range line_range(const Planner& planner, AxisView& view, size_t items);

// GPU class: one group of `items` for each of `groups` results.
Range group_per_result(int64_t groups, size_t items);
// GPU class: one item for each of `count` results.
Range item_per_result(const Planner& planner, int64_t count);

// The shapes that the output of a reduction may have: without the reduced axes, or with 1 in their
// place.
std::vector<Shape> reduced_shapes(const Call& call);

// Throws `shape_mismatch` if the axis has no elements.
void need_elements_along_axis(const std::string& kernel, const Call& call);

// The parameter `axis` with this default, or none.
ParamSpec axis_param(const std::string& summary, std::optional<int64_t> fallback);

// The parameters `axis` and `axes` of reductions, and the rule that only one of them is given.
std::vector<ParamSpec> reduced_axes_params(const std::string& verb);
void need_one_of_axes(const std::string& kernel, const Call& call);

// T, its sums and the widest float, for the files of this family.
Defines axis_defines(DType dtype, bool fp64);

}  // namespace dala
