// An image, and how work on it is divided.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

// Rows of pixels with adjacent channels.
typedef struct Image {
  cl_long height HOST_INIT(0);
  cl_long width HOST_INIT(0);
  cl_long channels HOST_INIT(1);  // 1, 3 or 4, the fourth being alpha
} Image;
SHARED_STRUCT(Image, 24)

// The tile of a work-group in the CPU family, in pixels.
typedef struct Tile {
  cl_int columns HOST_INIT(1);
  cl_int rows HOST_INIT(1);
} Tile;
SHARED_STRUCT(Tile, 8)

SHARED_END
