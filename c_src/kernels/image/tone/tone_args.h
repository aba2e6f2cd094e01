// How often levels occur in the parts of a picture, and what is made of that.
#pragma once

#include "kernels/common/shared.h"

#define TONE_LEVELS 256

SHARED_BEGIN

// A picture in tiles_x by tiles_y tiles. Tile i of n has the rows (or columns) from i * extent / n
// up to, but without, (i + 1) * extent / n.
typedef struct Tones {
  cl_long height HOST_INIT(0);
  cl_long width HOST_INIT(0);
  cl_long channels HOST_INIT(1);
  cl_long tiles_x HOST_INIT(1);
  cl_long tiles_y HOST_INIT(1);
  cl_long parts HOST_INIT(1);       // groups of rows that a tile's counting is split into
  cl_long histograms HOST_INIT(1);  // per tile: one for each channel, or one of the luma
  cl_long luma HOST_INIT(0);        // 1: of the luma
} Tones;
SHARED_STRUCT(Tones, 64)

// What is done to each channel by itself: out = (in - low) * gain.
typedef struct Stretch {
  cl_float clip HOST_INIT(0);      // levels: the part of the pixels that may saturate at each end
  cl_int together HOST_INIT(0);    // levels: 1 for the same line in all channels
  cl_int gray_world HOST_INIT(0);  // 1: gains that make the channels' means equal, and no clip
  cl_int unused HOST_INIT(0);
} Stretch;
SHARED_STRUCT(Stretch, 16)

// How a histogram becomes a table.
typedef struct Equalize {
  cl_float limit HOST_INIT(0);  // times the mean count of a level; 0: none
  cl_int unused HOST_INIT(0);
} Equalize;
SHARED_STRUCT(Equalize, 8)

SHARED_END
