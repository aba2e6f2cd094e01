// Decodes and encodes video frames, GPU family: one item per 2 x 2 pixels. Items past the edges do
// nothing. The formats are in yuv.cl; images are RGBA.
#pragma once

#include "kernels/image/video/yuv.cl"

__kernel void yuv_to_rgba(__global const uchar *in, __global uchar *out, const Decoding view) {
  const long column = (long)get_global_id(0), row = (long)get_global_id(1);
  if (2 * column >= view.width || 2 * row >= view.height) return;
  __global const uchar *chroma = in +
                                 chroma_offset(view.height, view.width, view.interleaved, row) +
                                 column * chroma_step(view.interleaved);
  const float u = chroma[0], v = chroma[v_distance(view.height, view.width, view.interleaved)];
  for (long y = 2 * row; y < min(2 * row + 2, view.height); ++y) {
    for (long x = 2 * column; x < min(2 * column + 2, view.width); ++x) {
      const long pixel = y * view.width + x;
      decode_pixel((float)in[pixel], u, v, view, out + 4 * pixel);
    }
  }
}

__kernel void rgba_to_yuv(__global const uchar *in, __global uchar *out, const Encoding view) {
  const long column = (long)get_global_id(0), row = (long)get_global_id(1);
  if (2 * column >= view.width || 2 * row >= view.height) return;
  encode_block(in, out, view, row, column);
}
