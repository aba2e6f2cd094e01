// weights {output channels, channels of a group, size_y, size_x} -> packed {size_y, size_x,
// channels of a group, columns}, GPU family: output channels are adjacent, and those of a group are
// followed by zeros up to conv.group_columns.
//
// One item per element of packed. Edge rule: items past the last element do nothing. Precondition:
// packed does not overlap weights.
#pragma once

#include "kernels/nn/conv/convolution_args.h"

__kernel void conv2d_pack(__global const T *restrict weights, __global T *restrict packed,
                          const Convolution conv) {
  const long index = (long)get_global_id(0);
  const long area = conv.window.size_y * conv.window.size_x;
  if (index >= area * conv.in_channels * conv.columns) return;
  const long column = index % conv.columns, i = index / conv.columns % conv.in_channels;
  const long tap = index / conv.columns / conv.in_channels;
  const long group = column / conv.group_columns, o = column % conv.group_columns;
  const bool inside = group < conv.groups && o < conv.out_channels;
  packed[index] =
      inside ? weights[((group * conv.out_channels + o) * conv.in_channels + i) * area + tap]
             : (T)0;
}
