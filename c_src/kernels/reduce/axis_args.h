// The view of a tensor as [outer][axis][inner], with the axis divided into segments that are
// reduced independently, so that one long axis can keep several work-groups busy. An axis that is
// not divided has one segment.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

typedef struct AxisView {
  cl_long outer HOST_INIT(1);
  cl_long axis HOST_INIT(1);
  cl_long inner HOST_INIT(1);
  cl_long segment HOST_INIT(1);   // elements of the axis per segment; the last one may be shorter
  cl_long segments HOST_INIT(1);  // ceil(axis / segment)
  // CPU class: adjacent columns per piece of work, at most COLUMNS. GPU class: lines per group.
  cl_long columns HOST_INIT(1);
  // CPU class: pieces of work per group. GPU class: items per line.
  cl_long units HOST_INIT(1);
  cl_long total HOST_INIT(1);  // elements per result, over all segments
} AxisView;
SHARED_STRUCT(AxisView, 64)

SHARED_END
