// The parameters of edge_detect, see edges.cl.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

typedef struct Edges {
  cl_long channels HOST_INIT(1);  // of the result: 1, or the channels of the image
  cl_float scale HOST_INIT(1);
  cl_float unused HOST_INIT(0);
} Edges;
SHARED_STRUCT(Edges, 16)

SHARED_END
