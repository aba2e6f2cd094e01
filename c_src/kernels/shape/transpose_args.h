// The dimensions and strides of a transpose in the CPU family, see transpose_cpu.cl.
#pragma once

#include "kernels/common/shared.h"

#define MAX_OUTER 6

SHARED_BEGIN

typedef struct TransposeView {
  cl_long rows HOST_INIT(1);        // innermost dimension of the output
  cl_long columns HOST_INIT(1);     // innermost dimension of the input
  cl_long in_stride HOST_INIT(1);   // from row to row of the input, in elements
  cl_long out_stride HOST_INIT(1);  // from column to column of the output
  cl_long outer HOST_INIT(0);       // number of other dimensions, whose sizes and strides follow
  SHARED_ARRAY(cl_long, dims, MAX_OUTER);
  SHARED_ARRAY(cl_long, in_strides, MAX_OUTER);
  SHARED_ARRAY(cl_long, out_strides, MAX_OUTER);
  cl_long total HOST_INIT(0);  // tiles in total
  cl_long tiles HOST_INIT(1);  // tiles per work-group
} TransposeView;
SHARED_STRUCT(TransposeView, 8 * (7 + 3 * MAX_OUTER))

SHARED_END
