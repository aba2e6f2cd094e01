// conv2d in the NHWC layout with windows of 3 x 3, stride 1 and one group by Winograd's algorithm
// F(4 x 4, 3 x 3), CPU family. See conv2d_nhwc_cpu.cl for the formula and the arguments.
//
//   packed   the transformed weights as panels of 36 * in_channels products, see winograd_pack
//   memory   scratch memory, for each work-group block * 36 * (in_channels + widest panel) elements
//
// A tile of 4 x 4 outputs depends on 6 x 6 inputs. Inputs and weights are transformed such that a
// tile takes 36 products per pair of channels instead of 144; for each of the 36 positions, these
// are a matrix product of all tiles and the weights. The polynomials behind the transforms are
// evaluated at 0, +-A, +-B and infinity with A = sqrt(1/2), B = sqrt(2): rounding errors are about
// eight times those of the direct sum, and a quarter of those with the usual points (1 and 2).
//
// A work-group is one item and owns a strip of tiles over a strip of panels. Per block of tiles it
// transforms the inputs, multiplies them with one panel at a time and transforms the products back.
// Edge rules: inputs outside of the plane are zeros; outputs outside of it, and channels past the
// end, are not stored; an infinity or NaN in the input spreads over the tiles that read it.
// Preconditions: no extent is 0; out overlaps no input; range is {ceil(batch * tiles_y * tiles_x /
// strip_tiles), ceil(end / strip_panels)}.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/nn/conv_nhwc/conv2d_nhwc_cpu.cl"
#include "kernels/nn/winograd/winograd_args.h"

#define A ((T)0.70710678118654752)
#define B ((T)1.41421356237309505)
#define TILE 4
#define SIDE 6
#define POSITIONS 36

// Six numbers of a line of inputs, `step` apart, transformed in place.
static inline void transform_input(VECTOR *d, const int step) {
  const VECTOR d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step];
  const VECTOR even_a = fma((VECTOR)(-2), d2, d4), odd_a = fma((VECTOR)(-2), d1, d3);
  const VECTOR even_b = fma((VECTOR)(-0.5f), d2, d4), odd_b = fma((VECTOR)(-0.5f), d1, d3);
  d[0] = fma((VECTOR)(-2.5f), d2, d0 + d4);
  d[step] = fma((VECTOR)(A), odd_a, even_a);
  d[2 * step] = fma((VECTOR)(-A), odd_a, even_a);
  d[3 * step] = fma((VECTOR)(B), odd_b, even_b);
  d[4 * step] = fma((VECTOR)(-B), odd_b, even_b);
  d[5 * step] = fma((VECTOR)(-2.5f), d3, d1 + d[5 * step]);
}

// Six numbers of a line of products, `step` apart, to four outputs in their place.
static inline void transform_output(VECTOR *m, const int step) {
  const VECTOR sum_a = m[step] + m[2 * step], difference_a = m[step] - m[2 * step];
  const VECTOR sum_b = m[3 * step] + m[4 * step], difference_b = m[3 * step] - m[4 * step];
  const VECTOR a = (VECTOR)(A)*difference_a, b = (VECTOR)(B)*difference_b;
  m[0] = m[0] + sum_a + sum_b;
  m[step] = a + b;
  m[2 * step] = fma((VECTOR)(2), sum_b, (VECTOR)(0.5f) * sum_a);
  m[3 * step] = fma((VECTOR)(2), b, fma((VECTOR)(0.5f), a, m[5 * step]));
}

// A tile of the output: which plane, and its first pixel.
typedef struct {
  long batch, y, x;
} Tile;

static inline Tile tile_at(const Winograd winograd, const long index) {
  const long area = winograd.tiles_y * winograd.tiles_x, within = index % area;
  const Tile tile = {index / area, within / winograd.tiles_x * TILE,
                     within % winograd.tiles_x * TILE};
  return tile;
}

// Transforms the inputs of a tile; position p of it goes to `to + p * apart`.
static inline void input_tile(__global const T *in, const Convolution conv, const Tile tile,
                              __global T *to, const long apart) {
  const Window window = conv.window;
  const long channels = conv.in_channels;
  const long top = tile.y - window.pad_y, left = tile.x - window.pad_x;
  in += tile.batch * window.height * window.width * channels;
  for (long c = 0; c < channels; c += LANES) {
    const int count = (int)min(channels - c, (long)LANES);
    VECTOR d[POSITIONS];
    for (int y = 0; y < SIDE; ++y) {
      const long row = top + y;
      for (int x = 0; x < SIDE; ++x) {
        const long column = left + x;
        const bool inside = row >= 0 && row < window.height && column >= 0 && column < window.width;
        d[y * SIDE + x] = inside
                              ? load_first(in + (row * window.width + column) * channels + c, count)
                              : (VECTOR)(0);
      }
      transform_input(d + y * SIDE, 1);
    }
    for (int x = 0; x < SIDE; ++x) transform_input(d + x, SIDE);
    for (int p = 0; p < POSITIONS; ++p) store_first(d[p], to + p * apart + c, count);
  }
}

// Transforms the products of a tile and a panel, and stores the outputs.
static inline void output_tile(__global const T *from, const long apart, const Convolution conv,
                               const Panel panel, const Tile tile, __global const T *bias,
                               __global const T *residual, __global T *out, const T low,
                               const T high, const T slope) {
  const Window window = conv.window;
  const int height = (int)min((long)TILE, window.out_height - tile.y);
  const int width = (int)min((long)TILE, window.out_width - tile.x);
  const long first = (tile.batch * window.out_height + tile.y) * window.out_width + tile.x;
  for (int v = 0; v < panel.vectors; ++v) {
    const int count = panel.channels - v * LANES;
    const long channel = panel.channel0 + v * LANES;
    VECTOR m[POSITIONS];
    for (int p = 0; p < POSITIONS; ++p) m[p] = LOAD(from + p * apart + v * LANES);
    for (int y = 0; y < SIDE; ++y) transform_output(m + y * SIDE, 1);
    for (int x = 0; x < TILE; ++x) transform_output(m + x, SIDE);
    const VECTOR start = conv.has_bias ? load_first(bias + channel, count) : (VECTOR)(0);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const long at = (first + y * window.out_width + x) * conv.out_channels + channel;
        VECTOR sum = m[y * SIDE + x] + start;
        if (conv.has_residual) sum += load_first(residual + at, count);
        sum = ACTIVATED(sum, (VECTOR)(low), (VECTOR)(high));
        if (conv.curve != CURVE_NONE) sum = curved_lanes(sum, conv.curve, slope);
        store_first(sum, out + at, count);
      }
    }
  }
}

SINGLE_ITEM_KERNEL void conv2d_winograd(__global const T *restrict in,
                                        __global const T *restrict packed,
                                        __global const T *restrict bias,
                                        __global const T *restrict residual,
                                        __global T *restrict out, const Convolution conv,
                                        const Winograd winograd, const T low, const T high,
                                        const T slope, __global T *restrict memory) {
  const Panels panels = winograd.panels;
  Convolution weights = conv;
  weights.window.size_y = SIDE;
  weights.window.size_x = SIDE;
  const long channels = conv.in_channels, widest = panels.vectors * LANES;
  const long own = (long)(get_group_id(1) * get_num_groups(0) + get_group_id(0));
  __global T *inputs = memory + own * winograd.block * POSITIONS * (channels + widest);
  __global T *products = inputs + winograd.block * POSITIONS * channels;
  const long tiles = conv.slices * winograd.tiles_y * winograd.tiles_x;
  const long tile0 = (long)get_group_id(0) * winograd.strip_tiles;
  const long tile_end = min(tile0 + winograd.strip_tiles, tiles);
  const long panel0 = (long)get_group_id(1) * panels.strip_panels;
  const long panel_end = min(panel0 + panels.strip_panels, panels.end);
  const Pass pass = {false, false, false};
  const InputView view = {channels, (int)channels, 0, 0, 1, 0, 1, 0};
  for (long block = tile0; block < tile_end; block += winograd.block) {
    const long count = min(winograd.block, tile_end - block), apart = winograd.block * channels;
    for (long t = 0; t < count; ++t) {
      input_tile(in, conv, tile_at(winograd, block + t), inputs + t * channels, apart);
    }
    for (long index = panel0; index < panel_end; ++index) {
      const Panel panel = panel_at(weights, panels, index);
      const int lanes = panel.vectors * LANES;
      for (int p = 0; p < POSITIONS; ++p) {
        pointwise_tiles(inputs + p * apart, view, packed + panel.start + p * channels * lanes,
                        panel.vectors, products + p * winograd.block * lanes, lanes, count, lanes,
                        bias, residual, pass, -(T)INFINITY, (T)INFINITY, CURVE_NONE, slope);
      }
      for (long t = 0; t < count; ++t) {
        output_tile(products + t * lanes, winograd.block * lanes, conv, panel,
                    tile_at(winograd, block + t), bias, residual, out, low, high, slope);
      }
    }
  }
}

// weights {output channels, input channels, 3, 3} -> packed, the panels of panels_cpu.cl with the
// 36 positions of the transformed weights in place of the elements of a window.
//
// A work-group is one item and owns a panel. Edge rule: elements past the last channel are zeros.
// Preconditions: packed overlaps no input; range is {end}.
static inline void transform_weights(const T *g, const int step, T *u) {
  const T third = (T)1 / 3, even_a = -(g[0] + g[2 * step] / 2) * 2 * third;
  const T odd_a = -g[step] * A * 2 * third;
  const T even_b = (g[0] + 2 * g[2 * step]) * third / 2, odd_b = g[step] * B * third / 2;
  u[0] = g[0];
  u[1] = even_a + odd_a;
  u[2] = even_a - odd_a;
  u[3] = even_b + odd_b;
  u[4] = even_b - odd_b;
  u[5] = g[2 * step];
}

SINGLE_ITEM_KERNEL void winograd_pack(__global const T *restrict weights,
                                      __global T *restrict packed, const Convolution conv,
                                      const Panels panels) {
  const long channels = conv.in_channels;
  const Panel panel = panel_at(conv, panels, (long)get_group_id(0));
  const int lanes = panel.vectors * LANES;
  packed += panel.start;
  for (long i = 0; i < channels; ++i) {
    for (int j = 0; j < lanes; ++j) {
      T g[9], across[3 * SIDE], u[SIDE];
      for (int tap = 0; tap < 9; ++tap) {
        g[tap] =
            j < panel.channels ? weights[((panel.channel0 + j) * channels + i) * 9 + tap] : (T)0;
      }
      for (int y = 0; y < 3; ++y) transform_weights(g + 3 * y, 1, across + y * SIDE);
      for (int x = 0; x < SIDE; ++x) {
        transform_weights(across + x, SIDE, u);
        for (int y = 0; y < SIDE; ++y) {
          packed[((long)(y * SIDE + x) * channels + i) * lanes + j] = u[y];
        }
      }
    }
  }
  if (panel.channel0 + panel.channels < conv.out_channels) return;
  const long rest = conv.group_columns - panel.channel0 - lanes;
  packed += POSITIONS * channels * lanes;
  for (long i = 0; i < rest * POSITIONS * channels; ++i) packed[i] = 0;
}

#undef A
#undef B
#undef TILE
#undef SIDE
#undef POSITIONS
