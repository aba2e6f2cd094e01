// Windows that slide over planes: their parameters, and the shapes of their outputs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/descriptor.hpp"
#include "kernels/nn/window_args.h"

namespace dala {

// Rows and columns from the first to the last element of a window.
inline int64_t span_y(const Window& window) { return (window.size_y - 1) * window.dilation_y + 1; }
inline int64_t span_x(const Window& window) { return (window.size_x - 1) * window.dilation_x + 1; }

// An integer, or a list of two for y and x.
ParamSpec pair_param(const std::string& name, const std::string& summary);
// `groups`: the number of groups of channels.
ParamSpec groups_param();
// `pad`: an integer, {y, x} or {top, left, bottom, right}; 0 by default.
ParamSpec pad_param();

// Such a parameter of a call as {y, x}.
std::array<int64_t, 2> pair_of(const Call& call, const std::string& name);
// `pad` of a call as {top, left, bottom, right}.
std::array<int64_t, 4> pads_of(const Call& call);

// `layout`: the position of the channels among the dimensions of planes.
ParamSpec layout_param();
bool is_nhwc(const Call& call);

// The extents of planes, in either layout.
struct Planes {
  int64_t batch;
  int64_t channels;
  int64_t height;
  int64_t width;
};
Planes planes_of(const Shape& shape, bool nhwc);
Shape shape_of(const Planes& planes, bool nhwc);

// Throws `shape_mismatch` unless input 0 is {n, c, h, w}, or {n, h, w, c} by `layout`, with no
// extent of 0 but the batch.
void need_planes(const std::string& kernel, const Call& call);

// The windows of that size over the planes of input 0, according to the parameters `layout`, `pad`,
// `stride`, which defaults to the size, and `dilation`, which defaults to 1. The output's extents
// are not set.
Window window_over(const Call& call, const std::array<int64_t, 2>& size);

// The same with the output's extents set: as many windows as fit. Throws `shape_mismatch` when the
// padded planes are smaller than a window.
Window window_of(const std::string& kernel, const Call& call, const std::array<int64_t, 2>& size);

}  // namespace dala
