// The memory layout of a pointwise kernel's operands.
//
// The output is row-major and contiguous. Dimensions are listed innermost first, after adjacent
// ones that every operand traverses with one stride have been merged; strides are in elements,
// 0 along a dimension in which an input repeats. There is always at least one dimension.
#pragma once

#include "kernels/common/shared.h"

#define MAX_RANK 8
#define MAX_INPUTS 4

SHARED_BEGIN

typedef struct PointwiseLayout {
  cl_long count HOST_INIT(0);  // elements of the output
  cl_long chunk HOST_INIT(0);  // elements per work-group (CPU class)
  cl_long rank HOST_INIT(1);
  SHARED_ARRAY(cl_long, dims, MAX_RANK);
  SHARED_ARRAY(cl_long, strides, MAX_INPUTS *MAX_RANK);  // a row of MAX_RANK per input
} PointwiseLayout;
SHARED_STRUCT(PointwiseLayout, 8 * (3 + MAX_RANK + MAX_INPUTS * MAX_RANK))

SHARED_END
