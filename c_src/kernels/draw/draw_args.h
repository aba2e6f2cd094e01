// Arguments of the drawing kernels on RGBA images, see draw.cl, and how the work is divided.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

// The rectangle of `columns` by `rows` pixels at (left, top), clipped to the image.
typedef struct Rect {
  cl_long width HOST_INIT(0);  // of the image
  cl_long left HOST_INIT(0);
  cl_long top HOST_INIT(0);
  cl_long columns HOST_INIT(0);
  cl_long rows HOST_INIT(0);
  cl_long span HOST_INIT(0);   // columns per item
  cl_long lines HOST_INIT(0);  // rows per item
  cl_int blend HOST_INIT(0);   // whether the colour is blended by its alpha, or replaces pixels
  SHARED_ARRAY(cl_uchar, color, 4);
} Rect;
SHARED_STRUCT(Rect, 64)

// Steps `first` to `first + count - 1` of the n that lead from (x, y) to (x + dx, y + dy). Each
// step is one pixel, since n is the larger of the two distances.
typedef struct Line {
  cl_long width HOST_INIT(0);  // of the image
  cl_long height HOST_INIT(0);
  cl_long x HOST_INIT(0);
  cl_long y HOST_INIT(0);
  cl_long dx HOST_INIT(0);
  cl_long dy HOST_INIT(0);
  cl_long n HOST_INIT(1);
  cl_long first HOST_INIT(0);
  cl_long count HOST_INIT(0);
  cl_long span HOST_INIT(0);  // steps per item
  SHARED_ARRAY(cl_uchar, color, 4);
  cl_int unused HOST_INIT(0);
} Line;
SHARED_STRUCT(Line, 88)

// Pixels whose squared distance from (x, y) is above `inner` and at most `outer`, in a rectangle
// around them.
typedef struct Circle {
  cl_long width HOST_INIT(0);  // of the image
  cl_long left HOST_INIT(0);
  cl_long top HOST_INIT(0);
  cl_long columns HOST_INIT(0);
  cl_long rows HOST_INIT(0);
  cl_long span HOST_INIT(0);   // columns per item
  cl_long lines HOST_INIT(0);  // rows per item
  cl_long x HOST_INIT(0);
  cl_long y HOST_INIT(0);
  cl_long inner HOST_INIT(-1);
  cl_long outer HOST_INIT(0);
  SHARED_ARRAY(cl_uchar, color, 4);
  cl_int unused HOST_INIT(0);
} Circle;
SHARED_STRUCT(Circle, 96)

// `count` pixels over an opaque background.
typedef struct Flatten {
  cl_long count HOST_INIT(0);
  cl_long span HOST_INIT(0);  // pixels per item
  SHARED_ARRAY(cl_uchar, background, 4);
  cl_int unused HOST_INIT(0);
} Flatten;
SHARED_STRUCT(Flatten, 24)

SHARED_END
