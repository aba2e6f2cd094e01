// The source of each output pixel: one pixel of the input, or an interpolation of the four around a
// position.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

typedef struct Move {
  cl_long height HOST_INIT(0);  // of the output
  cl_long width HOST_INIT(0);
  cl_long strip HOST_INIT(0);   // rows per work-group (CPU class)
  cl_long start HOST_INIT(0);   // the source of the first output pixel
  cl_long down HOST_INIT(0);    // stride in pixels of the input, per row of the output
  cl_long across HOST_INIT(0);  // and per column
} Move;
SHARED_STRUCT(Move, 48)

// Output pixel (y, x) is at x' = (x, y) . to_x + x_0, y' = (x, y) . to_y + y_0 in the input.
typedef struct Turn {
  cl_long height HOST_INIT(0);
  cl_long width HOST_INIT(0);
  cl_long strip HOST_INIT(0);
  cl_long in_height HOST_INIT(0);
  cl_long in_width HOST_INIT(0);
  SHARED_ARRAY(cl_float, to_x, 2);
  SHARED_ARRAY(cl_float, to_y, 2);
  cl_float x_0 HOST_INIT(0);
  cl_float y_0 HOST_INIT(0);
} Turn;
SHARED_STRUCT(Turn, 64)

SHARED_END
