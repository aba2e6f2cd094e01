// How often each of 256 levels occurs in each tile of a picture:
//
//   counts[tile][c][v] += number of pixels of the tile whose channel c has level v
//   counts[tile][v]    += number of pixels of the tile whose luma is v             (tones.luma)
//
//   in       the picture
//   counts   zeros before the first group adds to them
//   bins     local memory: tones.histograms * 256 numbers
//
// A work-group counts a part of a tile's rows in local memory, and adds what it has counted. CPU
// class: groups of one item. Edge rule: parts without rows add nothing. Preconditions: range is
// {parts * items, tiles_x, tiles_y} in groups of {items, 1, 1}.
#pragma once

#include "kernels/image/tone/tone.cl"

#if CPU_CLASS
#define COUNT(bin) ++*(bin)
#else
#define COUNT(bin) atomic_inc(bin)
#endif

__kernel void histogram(__global const T *restrict in, __global uint *restrict counts,
                        const Tones tones, __local uint *bins) {
  const int item = (int)get_local_id(0), items = (int)get_local_size(0);
  const int size = (int)tones.histograms * TONE_LEVELS;
  const long part = (long)get_group_id(0), tile_x = (long)get_group_id(1);
  const long tile_y = (long)get_group_id(2);
  const long left = tile_x * tones.width / tones.tiles_x;
  const long columns = (tile_x + 1) * tones.width / tones.tiles_x - left;
  const long top = tile_y * tones.height / tones.tiles_y;
  const long rows = (tile_y + 1) * tones.height / tones.tiles_y - top;
  const long first = top + part * rows / tones.parts, end = top + (part + 1) * rows / tones.parts;

  for (int i = item; i < size; i += items) bins[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (long y = first; y < end; ++y) {
    __global const T *row = in + (y * tones.width + left) * tones.channels;
    for (long x = item; x < columns; x += items) {
      __global const T *pixel = row + x * tones.channels;
      if (tones.luma) {
        COUNT(bins + luma_of(pixel, tones.channels));
      } else {
        for (int c = 0; c < (int)tones.histograms; ++c) {
          COUNT(bins + c * TONE_LEVELS + level_of(pixel[c]));
        }
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  counts += (tile_y * tones.tiles_x + tile_x) * size;
  for (int i = item; i < size; i += items) {
    if (bins[i] != 0) atomic_add(counts + i, bins[i]);
  }
}
