// Video frames and the coefficients with which they are decoded and encoded, see yuv.cl.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

typedef struct Decoding {
  cl_long height HOST_INIT(0);
  cl_long width HOST_INIT(0);
  cl_long interleaved HOST_INIT(0);  // 1: nv12
  cl_long strip HOST_INIT(0);        // pairs of rows per work-group (CPU class)
  cl_float gain HOST_INIT(0);
  cl_float r_v HOST_INIT(0);
  cl_float r_0 HOST_INIT(0);
  cl_float g_u HOST_INIT(0);
  cl_float g_v HOST_INIT(0);
  cl_float g_0 HOST_INIT(0);
  cl_float b_u HOST_INIT(0);
  cl_float b_0 HOST_INIT(0);
} Decoding;
SHARED_STRUCT(Decoding, 64)

// Factors of r, g and b, and an offset.
typedef struct Encoding {
  cl_long height HOST_INIT(0);
  cl_long width HOST_INIT(0);
  cl_long interleaved HOST_INIT(0);
  cl_long strip HOST_INIT(0);
  SHARED_ARRAY(cl_float, to_y, 4);
  SHARED_ARRAY(cl_float, to_u, 4);
  SHARED_ARRAY(cl_float, to_v, 4);
} Encoding;
SHARED_STRUCT(Encoding, 80)

SHARED_END
