// out[b][y][x][o] = activation(bias[o] + residual[b][y][x][o] + sum over i, ky, kx of
//     weights[o][i][ky][kx] * in[b][y * stride_y + ky * dilation_y - pad_y][...][i])
// where o and i are channels of the same group, CPU family.
//
//   in, out, residual   row-major elements of type T: {batch, height, width, channels}
//   packed              the weights as panels, see panels_cpu.cl
//   bias                one element per output channel if conv.has_bias, otherwise not read
//   residual            read if conv.has_residual
//   low, high, slope    of the activation
//   windows             local memory for strip_pixels * block + LANES elements
//
// For each group of channels this is a matrix product of patches and weights. A work-group is one
// item and owns a strip of output pixels over a strip of panels, which it processes tile by tile.
// conv2d_pointwise, for windows of one pixel, reads pixels in place; conv2d_windows copies the
// patches (im2col) first, zeros for padding, and skips products with padding for a whole strip. For
// windows that overlap there is also conv2d_patch_cpu.cl.
//
// Edge rules: see panel_tile_cpu.cl. Preconditions: no extent is 0; out overlaps no input; range is
// {ceil(batch * out_height * out_width / strip_pixels), ceil((end - first) / strip_panels)}.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/nn/conv_nhwc/panels_cpu.cl"
#include "kernels/nn/window.cl"

#define PREFIX pixels
#define SPACE __global
#define IN_LINES 0
#include "kernels/nn/conv_nhwc/panel_tiles_cpu.cl"
#undef PREFIX
#undef SPACE
#undef IN_LINES

#define PREFIX copied
#define SPACE __local
#define IN_LINES 1
#include "kernels/nn/conv_nhwc/panel_tiles_cpu.cl"
#undef PREFIX
#undef SPACE
#undef IN_LINES

// Tiles of one panel over `count` pixels: full tiles of ROWS, then one of half the height if that
// is enough. TILE and HALF are the functions. Each tile prefetches a piece of the following
// weights, until all of them are in the cache.
#define TILES(TILE, HALF, ROWS)                                                                    \
  for (long i = 0; i < count; i += ROWS) {                                                         \
    const int height = (int)min((long)ROWS, count - i);                                            \
    const long piece = i / ROWS * depth * (LANES / 2), size = (long)depth * vectors * LANES;       \
    __global const T *ahead = b + (piece < size ? size + piece : 0);                               \
    if (height * 2 > ROWS) {                                                                       \
      TILE(a, view, (int)i, b, ahead, out + i * n, n, height, width, bias, residual + i * n, pass, \
           low, high);                                                                             \
    } else {                                                                                       \
      HALF(a, view, (int)i, b, ahead, out + i * n, n, height, width, bias, residual + i * n, pass, \
           low, high);                                                                             \
    }                                                                                              \
    if (curve != CURVE_NONE) apply_curve(out + i * n, n, height, width, curve, slope);             \
  }

#define PANEL_TILES(NAME, SPACE, PREFIX)                                                       \
  static inline void NAME(SPACE const T *a, const InputView view, __global const T *b,         \
                          const int vectors, __global T *out, const long n, const long count,  \
                          const int width, __global const T *bias, __global const T *residual, \
                          const Pass pass, const T low, const T high, const long curve,        \
                          const T slope) {                                                     \
    const int depth = view.run * view.runs_y * view.runs_x;                                    \
    if (vectors == 1) {                                                                        \
      TILES(PREFIX##_1, PREFIX##_half_1, ROWS_OF_1)                                            \
    } else if (vectors == 2) {                                                                 \
      TILES(PREFIX##_2, PREFIX##_half_2, ROWS_OF_2)                                            \
    }                                                                                          \
    WIDE_TILES(PREFIX)                                                                         \
  }
#if MAX_VECTORS == 4
#define WIDE_TILES(PREFIX)                        \
  else if (vectors == 3) {                        \
    TILES(PREFIX##_3, PREFIX##_half_3, ROWS_OF_3) \
  }                                               \
  else {                                          \
    TILES(PREFIX##_4, PREFIX##_half_4, ROWS_OF_4) \
  }
#else
#define WIDE_TILES(PREFIX)
#endif

PANEL_TILES(pointwise_tiles, __global, pixels)
PANEL_TILES(copied_tiles, __local, copied)

static inline void pointwise_group(__global const T *restrict in, __global const T *restrict packed,
                                   __global const T *restrict bias,
                                   __global const T *restrict residual, __global T *restrict out,
                                   const Convolution conv, const Panels panels, const T low,
                                   const T high, const T slope, const Group group) {
  const Window window = conv.window;
  const long pixels = conv.slices / conv.groups * window.height * window.width;
  const long pixel0 = group.x * panels.strip_pixels;
  const long count = min(panels.strip_pixels, pixels - pixel0);
  const long panel0 = panels.first + group.y * panels.strip_panels;
  const long panel_end = min(panel0 + panels.strip_panels, panels.end);
  const long pitch = conv.groups * conv.in_channels, n = conv.groups * conv.out_channels;
  const Pass pass = {conv.has_bias != 0, conv.has_residual != 0, false};
  const InputView view = {pitch, (int)conv.in_channels, 0, 0, 1, 0, 1, 0};
  for (long index = panel0; index < panel_end; ++index) {
    const Panel panel = panel_at(conv, panels, index);
    const long to = pixel0 * n + panel.channel0;
    pointwise_tiles(in + pixel0 * pitch + panel.group * conv.in_channels, view,
                    packed + panel.start, panel.vectors, out + to, n, count, panel.channels,
                    bias + (pass.has_bias ? panel.channel0 : 0),
                    residual + (pass.has_residual ? to : 0), pass, low, high, conv.curve, slope);
  }
}

// Copies the input elements of products first.. of the sum from one row of a window: size_x pixels
// of `channels` elements each, from `skip` elements on, `count` of them. x is the column of the
// window's first pixel, `row` the offset of column 0 of its row; the row is padding if `outside`.
static inline void copy_row(__global const T *in, const long total, const long row,
                            const bool outside, const long x, const Convolution conv,
                            const int skip, const int count, __local T *to) {
  const Window window = conv.window;
  const long pitch = conv.groups * conv.in_channels;
  if (outside) {
    clear_run(count, to);
    return;
  }
  if (conv.groups == 1 && window.dilation_x == 1) {
    // One contiguous run, of which the part inside the row is copied.
    const long start = x * pitch + skip;
    const int low = (int)clamp(-start, 0L, (long)count);
    const int high = (int)clamp(window.width * pitch - start, (long)low, (long)count);
    if (low > 0) clear_run(low, to);
    copy_run(in + row + start + low, total - row - start - low, high - low, to + low);
    if (high < count) clear_run(count - high, to + high);
    return;
  }
  const int channels = (int)conv.in_channels;
  for (int i = 0; i < count;) {
    const int at = skip + i;
    const long column = x + at / channels * window.dilation_x;
    const int run = min(channels - at % channels, count - i);
    const long from = row + column * pitch + at % channels;
    if (column < 0 || column >= window.width) {
      clear_run(run, to + i);
    } else {
      copy_run(in + from, total - from, run, to + i);
    }
    i += run;
  }
}

// Copies the input elements of products k0.. of the sum, `depth` of them, for `count` output
// pixels.
static inline void copy_windows(__global const T *in, const Convolution conv, const long group,
                                const long pixel0, const long count, const long k0, const int depth,
                                __local T *to) {
  const Window window = conv.window;
  const long pitch = conv.groups * conv.in_channels;
  const long plane = window.height * window.width * pitch;
  const long total = conv.slices / conv.groups * plane;
  const int row_products = (int)(window.size_x * conv.in_channels);
  // Windows inside the plane that are copied as a whole need no bounds check per row.
  const bool runs =
      conv.groups == 1 && window.dilation_x == 1 && depth == window.size_y * row_products;
  const long next_row = window.dilation_y * window.width * pitch;
  long x = pixel0 % window.out_width, rest = pixel0 / window.out_width;
  long y = rest % window.out_height, batch = rest / window.out_height;
  for (long i = 0; i < count; ++i, to += depth) {
    const long y0 = y * window.stride_y - window.pad_y, x0 = x * window.stride_x - window.pad_x;
    const long from = batch * plane + (y0 * window.width + x0) * pitch;
    const bool inside = y0 >= 0 && y0 + (window.size_y - 1) * window.dilation_y < window.height &&
                        x0 >= 0 && x0 + window.size_x <= window.width &&
                        from + (window.size_y - 1) * next_row + row_products + LANES <= total;
    if (runs && inside) {
      __global const T *row = in + from;
      for (int done = 0; done < depth; done += row_products, row += next_row) {
        for (int j = 0; j < row_products; j += LANES) STORE(LOAD(row + j), to + done + j);
      }
    }
    long ky = k0 / row_products;
    int skip = (int)(k0 % row_products);
    for (int done = runs && inside ? depth : 0; done < depth; ++ky, skip = 0) {
      const int run = min(row_products - skip, depth - done);
      const long row = y0 + ky * window.dilation_y;
      copy_row(in, total, batch * plane + row * window.width * pitch + group * conv.in_channels,
               row < 0 || row >= window.height, x0, conv, skip, run, to + done);
      done += run;
    }
    if (++x < window.out_width) continue;
    x = 0;
    if (++y < window.out_height) continue;
    y = 0;
    ++batch;
  }
}

// Whether any of the windows of `count` output pixels has elements inside the plane for products
// k0.. of the sum. Near the sides of a plane, windows with a large dilation have mostly padding.
static inline bool any_inside(const Convolution conv, const long pixel0, const long count,
                              const long k0, const int depth) {
  const Window window = conv.window;
  const long end = pixel0 + count;
  for (long tap = k0 / conv.in_channels; tap * conv.in_channels < k0 + depth; ++tap) {
    const long down = tap / window.size_x * window.dilation_y - window.pad_y;
    const long across = tap % window.size_x * window.dilation_x - window.pad_x;
    const int x_first = first_inside(across, window.stride_x, window.out_width);
    const int x_end = end_inside(across, window.stride_x, window.width, window.out_width);
    for (long pixel = pixel0; pixel < end;) {
      const long x = pixel % window.out_width, row = pixel / window.out_width;
      const long y = row % window.out_height * window.stride_y + down;
      const long x_last = min(window.out_width, x + end - pixel);
      if (y >= 0 && y < window.height && max(x, (long)x_first) < min(x_last, (long)x_end)) {
        return true;
      }
      pixel += x_last - x;
    }
  }
  return false;
}

static inline void windows_group(__global const T *restrict in, __global const T *restrict packed,
                                 __global const T *restrict bias,
                                 __global const T *restrict residual, __global T *restrict out,
                                 const Convolution conv, const Panels panels, const T low,
                                 const T high, const T slope, __local T *windows,
                                 const Group group) {
  const Window window = conv.window;
  const long pixels = conv.slices / conv.groups * window.out_height * window.out_width;
  const long pixel0 = group.x * panels.strip_pixels;
  const long count = min(panels.strip_pixels, pixels - pixel0);
  const long panel0 = panels.first + group.y * panels.strip_panels;
  const long panel_end = min(panel0 + panels.strip_panels, panels.end);
  const long k = conv.in_channels * window.size_y * window.size_x;
  const long n = conv.groups * conv.out_channels;
  for (long index = panel0; index < panel_end;) {
    const long channel_group = index / panels.per_group;
    const long group_end = min(panel_end, (channel_group + 1) * panels.per_group);
    long first_k = k, last_k = 0;
    for (long k0 = 0; k0 < k; k0 += panels.block) {
      if (!any_inside(conv, pixel0, count, k0, (int)min(panels.block, k - k0))) continue;
      first_k = min(first_k, k0);
      last_k = k0;
    }
    first_k = min(first_k, last_k);  // windows of nothing but padding still get their bias
    for (long k0 = first_k; k0 <= last_k; k0 += panels.block) {
      const int depth = (int)min(panels.block, k - k0);
      const bool first = k0 == first_k, last = k0 == last_k;
      if (!first && !last && !any_inside(conv, pixel0, count, k0, depth)) continue;
      const Pass pass = {first && conv.has_bias != 0, last && conv.has_residual != 0, !first};
      const InputView view = {depth, depth, INT_MAX, 0, 1, 0, 1, 0};
      copy_windows(in, conv, channel_group, pixel0, count, k0, depth, windows);
      for (long i = index; i < group_end; ++i) {
        const Panel panel = panel_at(conv, panels, i);
        const long to = pixel0 * n + panel.channel0;
        copied_tiles(windows, view, packed + panel.start + k0 * panel.vectors * LANES,
                     panel.vectors, out + to, n, count, panel.channels,
                     bias + (pass.has_bias ? panel.channel0 : 0),
                     residual + (pass.has_residual ? to : 0), pass, last ? low : -(T)INFINITY,
                     last ? high : (T)INFINITY, last ? conv.curve : CURVE_NONE, slope);
      }
    }
    index = group_end;
  }
}

SINGLE_ITEM_KERNEL void conv2d_pointwise(
    __global const T *restrict in, __global const T *restrict packed,
    __global const T *restrict bias, __global const T *restrict residual, __global T *restrict out,
    const Convolution conv, const Panels panels, const T low, const T high, const T slope) {
  pointwise_group(in, packed, bias, residual, out, conv, panels, low, high, slope, OWN_GROUP);
}

SINGLE_ITEM_KERNEL void conv2d_windows(__global const T *restrict in,
                                       __global const T *restrict packed,
                                       __global const T *restrict bias,
                                       __global const T *restrict residual,
                                       __global T *restrict out, const Convolution conv,
                                       const Panels panels, const T low, const T high,
                                       const T slope, __local T *windows) {
  windows_group(in, packed, bias, residual, out, conv, panels, low, high, slope, windows,
                OWN_GROUP);
}
