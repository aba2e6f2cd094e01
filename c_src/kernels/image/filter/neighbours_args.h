// The neighbours of a pixel in a bilateral filter, see neighbours.cl.
#pragma once

#include "kernels/common/shared.h"

#define MAX_NEIGHBOURS 48

SHARED_BEGIN

typedef struct Neighbours {
  cl_int radius HOST_INIT(0);
  cl_int count HOST_INIT(0);
  cl_int skin HOST_INIT(0);
  cl_float strength HOST_INIT(1);
  cl_float range HOST_INIT(0);  // -1 / (2 range_sigma^2 log 2), for differences in elements
  cl_int unused HOST_INIT(0);
  SHARED_ARRAY(cl_int, dx, MAX_NEIGHBOURS);
  SHARED_ARRAY(cl_int, dy, MAX_NEIGHBOURS);
  SHARED_ARRAY(cl_float, space, MAX_NEIGHBOURS);  // the distance term, also as a power of 2
} Neighbours;
SHARED_STRUCT(Neighbours, 24 + 12 * MAX_NEIGHBOURS)

// The same without lists, for the GPU family, whose items find the neighbours themselves.
typedef struct Circle {
  cl_int radius HOST_INIT(0);
  cl_int skin HOST_INIT(0);
  cl_float strength HOST_INIT(1);
  cl_float range HOST_INIT(0);
  cl_float space HOST_INIT(0);  // the distance term for a distance of 1
  cl_int unused HOST_INIT(0);
} Circle;
SHARED_STRUCT(Circle, 24)

SHARED_END
