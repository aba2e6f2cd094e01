// Windows that slide over planes: the parameters they come from, and the shapes they lead to.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/descriptor.hpp"

namespace dala {

// The same layout as the struct of that name in window.cl.
struct Window {
  int64_t height = 0;
  int64_t width = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t size_y = 1;
  int64_t size_x = 1;
  int64_t stride_y = 1;
  int64_t stride_x = 1;
  int64_t pad_y = 0;
  int64_t pad_x = 0;
  int64_t dilation_y = 1;
  int64_t dilation_x = 1;

  // Rows and columns from the first to the last element of a window.
  int64_t span_y() const { return (size_y - 1) * dilation_y + 1; }
  int64_t span_x() const { return (size_x - 1) * dilation_x + 1; }
};

// An integer, or a list of two for y and x.
ParamSpec pair_param(const std::string& name, const std::string& summary);
// `groups`: into how many parts channels are split.
ParamSpec groups_param();
// `pad`: an integer, {y, x} or {top, left, bottom, right}; 0 by default.
ParamSpec pad_param();

// Such a parameter of a call as {y, x}.
std::array<int64_t, 2> pair_of(const Call& call, const std::string& name);
// `pad` of a call as {top, left, bottom, right}.
std::array<int64_t, 4> pads_of(const Call& call);

// `layout`: where the channels of planes are.
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

// The windows of that size over the planes of input 0, by the parameters `layout`, `pad`, `stride`,
// if it is there, else the windows' size, and `dilation`, if it is there. How many there are is not
// said yet.
Window window_over(const Call& call, const std::array<int64_t, 2>& size);

// The same, as many as fit. Throws `shape_mismatch` when the padded planes are smaller than a
// window.
Window window_of(const std::string& kernel, const Call& call, const std::array<int64_t, 2>& size);

}  // namespace dala
