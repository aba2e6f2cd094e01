// Histograms of the tiles of a picture, and their use.
#pragma once

#include "kernels/common/shared.h"

#define TONE_LEVELS 256

SHARED_BEGIN

// A picture divided into tiles_x by tiles_y tiles. Tile i of n has the rows (or columns) from i *
// extent / n to (i + 1) * extent / n, exclusive.
typedef struct Tones {
  cl_long height HOST_INIT(0);
  cl_long width HOST_INIT(0);
  cl_long channels HOST_INIT(1);
  cl_long tiles_x HOST_INIT(1);
  cl_long tiles_y HOST_INIT(1);
  cl_long parts HOST_INIT(1);       // groups of rows whose counts are summed per tile
  cl_long histograms HOST_INIT(1);  // per tile: one per channel, or one of the luma
  cl_long luma HOST_INIT(0);        // 1: of the luma
} Tones;
SHARED_STRUCT(Tones, 64)

// A linear map of each channel: out = (in - low) * gain.
typedef struct Stretch {
  cl_float clip HOST_INIT(0);      // levels: the fraction of pixels that may saturate at each end
  cl_int together HOST_INIT(0);    // levels: 1 if all channels share one map
  cl_int gray_world HOST_INIT(0);  // 1: gains equalise the channels' means, without clipping
  cl_int unused HOST_INIT(0);
} Stretch;
SHARED_STRUCT(Stretch, 16)

// How a histogram becomes a table.
typedef struct Equalize {
  cl_float limit HOST_INIT(0);  // as a multiple of a level's mean count; 0: none
  cl_int unused HOST_INIT(0);
} Equalize;
SHARED_STRUCT(Equalize, 8)

SHARED_END
