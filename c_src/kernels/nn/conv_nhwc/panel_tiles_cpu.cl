// Tile functions of each width, and of half the height for each: PREFIX_<vectors> and
// PREFIX_half_<vectors>; see panel_tile_cpu.cl for SPACE and IN_LINES.
//
//   MAX_VECTORS                vectors of the widest tile: 2 or 4
//   ROWS_OF_n, HALF_ROWS_OF_n  rows of a tile of n vectors, and half as many

#include "kernels/common/paste.h"

#define NAME PASTE(PREFIX, _1)
#define ROWS ROWS_OF_1
#define VECS 1
#include "kernels/nn/conv_nhwc/panel_tile_cpu.cl"
#undef NAME
#undef ROWS
#undef VECS

#define NAME PASTE(PREFIX, _half_1)
#define ROWS HALF_ROWS_OF_1
#define VECS 1
#include "kernels/nn/conv_nhwc/panel_tile_cpu.cl"
#undef NAME
#undef ROWS
#undef VECS

#define NAME PASTE(PREFIX, _2)
#define ROWS ROWS_OF_2
#define VECS 2
#include "kernels/nn/conv_nhwc/panel_tile_cpu.cl"
#undef NAME
#undef ROWS
#undef VECS

#define NAME PASTE(PREFIX, _half_2)
#define ROWS HALF_ROWS_OF_2
#define VECS 2
#include "kernels/nn/conv_nhwc/panel_tile_cpu.cl"
#undef NAME
#undef ROWS
#undef VECS

#if MAX_VECTORS == 4

#define NAME PASTE(PREFIX, _3)
#define ROWS ROWS_OF_3
#define VECS 3
#include "kernels/nn/conv_nhwc/panel_tile_cpu.cl"
#undef NAME
#undef ROWS
#undef VECS

#define NAME PASTE(PREFIX, _half_3)
#define ROWS HALF_ROWS_OF_3
#define VECS 3
#include "kernels/nn/conv_nhwc/panel_tile_cpu.cl"
#undef NAME
#undef ROWS
#undef VECS

#define NAME PASTE(PREFIX, _4)
#define ROWS ROWS_OF_4
#define VECS 4
#include "kernels/nn/conv_nhwc/panel_tile_cpu.cl"
#undef NAME
#undef ROWS
#undef VECS

#define NAME PASTE(PREFIX, _half_4)
#define ROWS HALF_ROWS_OF_4
#define VECS 4
#include "kernels/nn/conv_nhwc/panel_tile_cpu.cl"
#undef NAME
#undef ROWS
#undef VECS

#endif
