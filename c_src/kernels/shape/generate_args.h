// Arguments of the kernels without inputs: a view of the output as [outer][extent][inner].
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

typedef struct GenerateView {
  cl_long count HOST_INIT(0);   // elements of the output
  cl_long chunk HOST_INIT(0);   // elements per work-group (CPU class)
  cl_long extent HOST_INIT(1);  // iota: along the axis; eye: rows
  cl_long inner HOST_INIT(1);   // iota: elements under each; eye: columns
} GenerateView;
SHARED_STRUCT(GenerateView, 32)

SHARED_END
