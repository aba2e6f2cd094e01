// weights {output channels, channels of a group, size_y, size_x} -> packed, CPU family: as panels,
// see panels_cpu.cl; for depthwise convolutions one row of all channels per element of the window;
// for several groups per vector as blocks, see conv2d_groups_cpu.cl.
//
// A work-group is one item and owns a panel, a row or a block. Edge rule: elements past the last
// channel, of a group or of all, are zeros. Preconditions: packed overlaps no input; range is
// {end - first}, {size_y * size_x} or {ceil(channels / LANES)}.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/nn/conv_nhwc/panels_cpu.cl"

SINGLE_ITEM_KERNEL void conv2d_pack(__global const T *restrict weights, __global T *restrict packed,
                                    const Convolution conv, const Panels panels) {
  const long area = conv.window.size_y * conv.window.size_x, k = conv.in_channels * area;
  const Panel panel = panel_at(conv, panels, panels.first + (long)get_group_id(0));
  const int lanes = panel.vectors * LANES;
  packed += panel.start;
  weights += panel.channel0 * k;
  for (long tap = 0; tap < area; ++tap) {
    for (long i = 0; i < conv.in_channels; ++i, packed += lanes) {
      __global const T *from = weights + i * area + tap;
      for (int j = 0; j < lanes; ++j) packed[j] = j < panel.channels ? from[j * k] : (T)0;
    }
  }
  const long own = (panel.channel0 - panel.group * conv.out_channels) + lanes;
  if (panel.channel0 + panel.channels < (panel.group + 1) * conv.out_channels) return;
  for (long i = 0; i < (conv.group_columns - own) * k; ++i) packed[i] = 0;
}

SINGLE_ITEM_KERNEL void conv2d_pack_depthwise(__global const T *restrict weights,
                                              __global T *restrict packed, const Convolution conv) {
  const long area = conv.window.size_y * conv.window.size_x;
  const long tap = (long)get_group_id(0);
  packed += tap * conv.columns;
  for (long c = 0; c < conv.columns; ++c) {
    packed[c] = c < conv.groups ? weights[c * area + tap] : (T)0;
  }
}

SINGLE_ITEM_KERNEL void conv2d_pack_groups(__global const T *restrict weights,
                                           __global T *restrict packed, const Convolution conv) {
  const long area = conv.window.size_y * conv.window.size_x;
  const long width = conv.in_channels, channels = conv.groups * width;
  const long block = (long)get_group_id(0), blocks = (channels + LANES - 1) / LANES;
  const long first = min(block * LANES, channels - LANES);
  const long size = area * width * LANES;
  __global T *to = packed + block * size;
  for (long tap = 0; tap < area; ++tap) {
    for (long i = 0; i < width; ++i, to += LANES) {
      for (long l = 0; l < LANES; ++l) {
        to[l] = weights[((first + l) * width + ((l ^ i) % width)) * area + tap];
      }
    }
  }
  if (block + 1 < blocks) return;
  for (long j = blocks * size; j < area * width * conv.columns; ++j) packed[j] = 0;
}
