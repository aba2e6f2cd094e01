// Rows to be sorted. Row r = o * inner + i has the elements in[o][k][i], 0 <= k < length.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

typedef struct SortView {
  cl_long rows HOST_INIT(1);
  cl_long length HOST_INIT(0);
  cl_long inner HOST_INIT(1);
  cl_long keep HOST_INIT(0);    // how many of a sorted row are stored
  cl_long chunk HOST_INIT(0);   // elements of a row per work-group
  cl_long chunks HOST_INIT(1);  // work-groups per row
  cl_long units HOST_INIT(1);   // rows per work-group, for rows that are short (CPU class)
  cl_int shift HOST_INIT(0);    // the lowest bit of the digit of this pass
  cl_int descending HOST_INIT(0);
} SortView;
SHARED_STRUCT(SortView, 64)

SHARED_END
