// A box of elements that is moved from one tensor to another.
//
// Dimensions are listed innermost first; strides are in elements: 0 along a dimension in which the
// source repeats, negative along one that is reversed.
#pragma once

#include "kernels/common/shared.h"

#define BOX_RANK 8

SHARED_BEGIN

typedef struct BoxMove {
  cl_long count HOST_INIT(0);  // elements
  cl_long chunk HOST_INIT(0);  // elements per work-group (CPU class)
  cl_long rank HOST_INIT(1);
  cl_long from HOST_INIT(0);  // the first element in the source, and in the target
  cl_long to HOST_INIT(0);
  SHARED_ARRAY(cl_long, dims, BOX_RANK);
  SHARED_ARRAY(cl_long, in_strides, BOX_RANK);
  SHARED_ARRAY(cl_long, out_strides, BOX_RANK);
} BoxMove;
SHARED_STRUCT(BoxMove, 8 * (5 + 3 * BOX_RANK))

// The geometry of pad: in every dimension, input element i is at `low` + i * `step` in the output.
// A negative `low` crops.
typedef struct PadView {
  cl_long count HOST_INIT(0);  // elements of the output
  cl_long chunk HOST_INIT(0);  // elements per work-group (CPU class)
  cl_long rank HOST_INIT(1);
  SHARED_ARRAY(cl_long, dims, BOX_RANK);  // of the output
  SHARED_ARRAY(cl_long, in_dims, BOX_RANK);
  SHARED_ARRAY(cl_long, in_strides, BOX_RANK);
  SHARED_ARRAY(cl_long, low, BOX_RANK);
  SHARED_ARRAY(cl_long, step, BOX_RANK);
} PadView;
SHARED_STRUCT(PadView, 8 * (3 + 5 * BOX_RANK))

SHARED_END
