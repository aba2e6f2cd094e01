// How indices address elements.
//
// A tensor is [outer][dims..][inner]: an index is a tuple of `depth` numbers, one per dimension in
// dims, and addresses `inner` adjacent elements. Strides are in elements of the tensor.
#pragma once

#include "kernels/common/shared.h"

#define INDEX_DEPTH 8

SHARED_BEGIN

typedef struct GatherView {
  cl_long count HOST_INIT(0);  // elements of the output
  cl_long chunk HOST_INIT(0);  // elements per work-group (CPU class)
  cl_long picks HOST_INIT(1);  // tuples; of take_along_axis: places along the axis of the output
  cl_long inner HOST_INIT(1);
  cl_long source HOST_INIT(0);  // elements of the tensor per outer step
  cl_long depth HOST_INIT(1);
  SHARED_ARRAY(cl_long, dims, INDEX_DEPTH);
  SHARED_ARRAY(cl_long, strides, INDEX_DEPTH);
} GatherView;
SHARED_STRUCT(GatherView, 8 * (6 + 2 * INDEX_DEPTH))

// The rows of a tensor to which updates are written; strides are in rows here.
typedef struct ScatterView {
  cl_long tuples HOST_INIT(0);
  cl_long rows HOST_INIT(0);
  cl_long inner HOST_INIT(1);
  cl_long chunk HOST_INIT(0);       // rows, or columns, per work-group (CPU class)
  cl_long by_columns HOST_INIT(0);  // 1: work-groups own columns of all rows, instead of rows
  cl_long depth HOST_INIT(1);
  SHARED_ARRAY(cl_long, dims, INDEX_DEPTH);
  SHARED_ARRAY(cl_long, strides, INDEX_DEPTH);
} ScatterView;
SHARED_STRUCT(ScatterView, 8 * (6 + 2 * INDEX_DEPTH))

SHARED_END
