// conv2d in the NHWC layout with windows that overlap, CPU family. See conv2d_nhwc_cpu.cl for the
// formula and the arguments.
//
//   lines   local memory for the input lines of a strip, and LANES elements more
//
// A work-group is one item and owns a strip of output rows of one plane over a strip of panels. It
// copies the lines of the plane that its windows cover once, zeros for padding; the elements of a
// window are addressed relative to its first one. Edge rules: see panel_tile_cpu.cl. Preconditions:
// no extent is 0; dilation is 1; out overlaps no input; range is {batch * strips, ceil((end -
// first) / strip_panels)}.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/nn/conv_nhwc/conv2d_nhwc_args.h"
#include "kernels/nn/conv_nhwc/conv2d_nhwc_cpu.cl"
#include "kernels/nn/window.cl"

// Copies rows first.. of a plane, `count` of them, from column -pad_x on, `pixels` each, and of
// every pixel `line_channels` elements.
static inline void copy_lines(__global const T *plane, const Window window, const long pitch,
                              const long left, const long first, const int count, const int pixels,
                              const int line_channels, __local T *to) {
  const int line = pixels * line_channels;
  const int before = (int)min(window.pad_x, (long)pixels);
  const int inside = (int)min(window.width, (long)(pixels - before));
  for (int i = 0; i < count; ++i, to += line) {
    const long row = first + i;
    if (row < 0 || row >= window.height) {
      clear_run(line, to);
      continue;
    }
    const long from = row * window.width * pitch;
    if (before > 0) clear_run(before * line_channels, to);
    __local T *at = to + before * line_channels;
    if (line_channels == pitch) {
      copy_run(plane + from, left - from, inside * line_channels, at);
    } else {
      for (int x = 0; x < inside; ++x) {
        copy_run(plane + from + x * pitch, left - from - x * pitch, line_channels,
                 at + x * line_channels);
      }
    }
    const int after = pixels - before - inside;
    if (after > 0) clear_run(after * line_channels, at + inside * line_channels);
  }
}

static inline void patch_group(__global const T *restrict in, __global const T *restrict packed,
                               __global const T *restrict bias, __global const T *restrict residual,
                               __global T *restrict out, const Convolution conv, const Patch patch,
                               const T low, const T high, const T slope, __local T *lines,
                               const Group group) {
  const Window window = conv.window;
  const Panels panels = patch.panels;
  const long batch = group.x / patch.strips;
  const long row0 = group.x % patch.strips * patch.strip_rows;
  const int rows = (int)min(patch.strip_rows, window.out_height - row0);
  const long pixel0 = (batch * window.out_height + row0) * window.out_width;
  const long count = rows * window.out_width;
  const long panel0 = panels.first + group.y * panels.strip_panels;
  const long panel_end = min(panel0 + panels.strip_panels, panels.end);
  const long pitch = conv.groups * conv.in_channels, n = conv.groups * conv.out_channels;
  const long group0 = panel0 / panels.per_group, plane = window.height * window.width * pitch;
  const long skip = group0 * conv.in_channels;
  const int line_channels = (int)min(patch.line_channels, pitch - skip);
  const int pixels = (int)((window.out_width - 1) * window.stride_x + window.size_x);
  const int line = pixels * line_channels;
  copy_lines(in + batch * plane + skip, window, pitch, plane - skip,
             row0 * window.stride_y - window.pad_y,
             (int)((rows - 1) * window.stride_y + window.size_y), pixels, line_channels, lines);

  // The pixels of a window in a row are one run, unless channels of other groups are between them.
  const int across = (int)(window.size_x / patch.parts_x);
  const bool whole = line_channels == conv.in_channels;
  const InputView view = {window.stride_x * line_channels,
                          (int)conv.in_channels * (whole ? across : 1),
                          (int)window.out_width,
                          (int)window.stride_y * line,
                          (int)(window.size_y / patch.parts_y),
                          line,
                          whole ? 1 : across,
                          line_channels};
  const long part_products = view.run * view.runs_y * view.runs_x;
  const long parts = patch.parts_y * patch.parts_x;
  for (long index = panel0; index < panel_end; ++index) {
    const Panel panel = panel_at(conv, panels, index);
    const long to = pixel0 * n + panel.channel0;
    __local const T *first_input = lines + (panel.group - group0) * conv.in_channels;
    for (long part = 0; part < parts; ++part) {
      const bool first = part == 0, last = part + 1 == parts;
      const Pass pass = {first && conv.has_bias != 0, last && conv.has_residual != 0, !first};
      const long y = part / patch.parts_x * view.runs_y, x = part % patch.parts_x * across;
      copied_tiles(first_input + y * line + x * line_channels, view,
                   packed + panel.start + part * part_products * panel.vectors * LANES,
                   panel.vectors, out + to, n, count, panel.channels,
                   bias + (pass.has_bias ? panel.channel0 : 0),
                   residual + (pass.has_residual ? to : 0), pass, last ? low : -(T)INFINITY,
                   last ? high : (T)INFINITY, last ? conv.curve : CURVE_NONE, slope);
    }
  }
}

SINGLE_ITEM_KERNEL void conv2d_patch(__global const T *restrict in,
                                     __global const T *restrict packed,
                                     __global const T *restrict bias,
                                     __global const T *restrict residual, __global T *restrict out,
                                     const Convolution conv, const Patch patch, const T low,
                                     const T high, const T slope, __local T *lines) {
  patch_group(in, packed, bias, residual, out, conv, patch, low, high, slope, lines, OWN_GROUP);
}
