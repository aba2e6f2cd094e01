// Panels: the weights of conv2d in the order in which the tiles of panel_tile_cpu.cl read them. The
// output channels of a group are divided into panels of panels.vectors * LANES, the last one being
// the rest; a panel has a row of weights per product of a sum, ordered by the elements of the
// window, then by input channel. Lanes past the last channel are zeros.
#pragma once

#include "kernels/nn/activation/activation.cl"
#include "kernels/nn/conv_nhwc/conv2d_nhwc_args.h"
#include "kernels/nn/conv/convolution_args.h"
#include "kernels/nn/conv/vectors_cpu.cl"

// The epilogue of a tile; the products of a sum may be computed in several passes.
typedef struct {
  bool has_bias;
  bool has_residual;
  bool adds;  // to the values in the output
} Pass;

// The input elements of output pixels: for each pixel, runs of elements of consecutive products.
// The first run begins `pitch` elements after that of the pixel before, or on the next line.
typedef struct {
  long pitch;
  int run;  // elements
  // For pixels in lines that have several runs; otherwise not read.
  int line, line_pitch;  // pixels, and elements from one line to the next
  int runs_y, apart_y, runs_x, apart_x;
} InputView;

// The memory of a panel, and its channels of the output.
typedef struct {
  long start;  // in memory, in elements
  int vectors;
  int channels;
  long group;
  long channel0;  // among those of all groups
} Panel;

static inline Panel panel_at(const Convolution conv, const Panels panels, const long index) {
  const long k = conv.in_channels * conv.window.size_y * conv.window.size_x;
  const long group_vectors = (conv.out_channels + LANES - 1) / LANES;
  const long first_vector = panels.first / panels.per_group * conv.group_columns / LANES +
                            panels.first % panels.per_group * panels.vectors;
  const long own = index % panels.per_group * panels.vectors;
  Panel panel;
  panel.group = index / panels.per_group;
  panel.start = (panel.group * conv.group_columns / LANES + own - first_vector) * LANES * k;
  panel.vectors = (int)min(panels.vectors, group_vectors - own);
  panel.channels = (int)min((long)panel.vectors * LANES, conv.out_channels - own * LANES);
  panel.channel0 = panel.group * conv.out_channels + own * LANES;
  return panel;
}

// Prefetches into the private cache of a core, from the one that cores share.
#if HAS_PREFETCH && defined(__clang__)
#define PREFETCH(pointer) __builtin_prefetch(pointer, 0, 2)
#else
#define PREFETCH(pointer)
#endif

#define DOWN_1(DO) DO(0)
#define DOWN_2(DO) DOWN_1(DO) DO(1)
#define DOWN_3(DO) DOWN_2(DO) DO(2)
#define DOWN_4(DO) DOWN_3(DO) DO(3)
#define DOWN_5(DO) DOWN_4(DO) DO(4)
#define DOWN_6(DO) DOWN_5(DO) DO(5)
#define DOWN_7(DO) DOWN_6(DO) DO(6)
#define DOWN_8(DO) \
  DOWN_7(DO)       \
  DO(7)
#define DOWN_9(DO) DOWN_8(DO) DO(8)
#define DOWN_12(DO) DOWN_9(DO) DO(9) DO(10) DO(11)
#define ACROSS_1(DO, r) DO(r, 0)
#define ACROSS_2(DO, r) ACROSS_1(DO, r) DO(r, 1)
#define ACROSS_3(DO, r) ACROSS_2(DO, r) DO(r, 2)
#define ACROSS_4(DO, r) ACROSS_3(DO, r) DO(r, 3)

LOGISTIC(logistic_of_lanes, VECTOR, PASTE(as_int, LANES), PASTE(as_float, LANES))
CURVED(curved_lanes, logistic_of_lanes, VECTOR)

// Applies the curve of an activation to a tile that is already stored.
static inline void apply_curve(__global T *out, const long n, const int height, const int width,
                               const long curve, const T slope) {
  for (int r = 0; r < height; ++r, out += n) {
    for (int j = 0; j < width; j += LANES) {
      const int count = width - j;
      store_first(curved_lanes(load_first(out + j, count), curve, slope), out + j, count);
    }
  }
}
