// A tile of a matrix product, sums of a {m, k} times b {k, n}, GPU family: the part that matmul and
// the convolutions share.
//
//   ACC             type of products and sums
//   SIDE            edge of a work-group of SIDE x SIDE items, a power of two
//   TILE_K          products of k between two barriers, a power of two of at least 4
//
// A work-group owns SIDE * rows by SIDE * columns sums, an item `rows` by `columns` of them in
// registers: 8 x 8, 4 x 4, or 1 x 4 for matrices of few rows. The work-group walks along k in steps
// of TILE_K. In each step the tiles of a and b are copied to local memory, four elements by each
// item, and every element there is used by SIDE items. Elements of the next step are fetched from
// global memory before the sums of this one are computed, so that the two overlap.
//
// In local memory both tiles are stored with k as the slow dimension. An item's rows and columns
// come in fours, SIDE fours apart: adjacent items read adjacent fours, which avoids bank conflicts.
#pragma once

#include "kernels/common/paste.h"

#define ACC4 PASTE(ACC, 4)
#define ITEMS (SIDE * SIDE)

// Elements from one k to the next. The padding of four keeps fours aligned and reduces bank
// conflicts of stores along k.
#define TILE_PITCH(extent) ((extent) + 4)
#define TILE_ELEMENTS(extent) (TILE_K * TILE_PITCH(extent))

// A tile is fetched in fours: either along k, `TILE_K / 4` of them for each row (or column), or
// along the rows (or columns), `extent / 4` for each k.
#define FOURS_PER_ITEM(extent) (((extent)*TILE_K / 4 + ITEMS - 1) / ITEMS)
#define FOURS(extent) ((extent)*TILE_K / 4)

// The place of a four in its tile: the row (or column), and k, of its first element.
static inline int four_outer(const int four, const int extent, const bool along_k) {
  return along_k ? four / (TILE_K / 4) : four % (extent / 4) * 4;
}
static inline int four_k(const int four, const int extent, const bool along_k) {
  return along_k ? four % (TILE_K / 4) * 4 : four / (extent / 4);
}

static inline void keep_four(__local ACC *tile, const int four, const int extent,
                             const bool along_k, const ACC4 values) {
  const int pitch = TILE_PITCH(extent);
  tile += four_k(four, extent, along_k) * pitch + four_outer(four, extent, along_k);
  if (along_k) {
    tile[0] = values.x;
    tile[pitch] = values.y;
    tile[2 * pitch] = values.z;
    tile[3 * pitch] = values.w;
  } else {
    vstore4(values, 0, tile);
  }
}

#if T_FLOAT
#define MULTIPLY_ADD(a, b, sum) fma((ACC4)(a), b, sum)
#else
#define MULTIPLY_ADD(a, b, sum) ((a) * (b) + (sum))
#endif
