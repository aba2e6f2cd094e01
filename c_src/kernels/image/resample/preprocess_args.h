// The mapping of a region of an image to a rectangle of a tensor, see preprocess.cl.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

typedef struct Preprocess {
  cl_long width HOST_INIT(0);  // of the image
  cl_long channels HOST_INIT(0);
  cl_long top HOST_INIT(0);  // the region of the image
  cl_long left HOST_INIT(0);
  cl_long height_in HOST_INIT(0);
  cl_long width_in HOST_INIT(0);
  cl_long to_top HOST_INIT(0);  // the rectangle of the result
  cl_long to_left HOST_INIT(0);
  cl_long height_to HOST_INIT(0);
  cl_long width_to HOST_INIT(0);
  cl_long out_height HOST_INIT(0);
  cl_long out_width HOST_INIT(0);
  cl_long plane HOST_INIT(0);    // stride between the channels of the result
  cl_long pixel HOST_INIT(0);    // stride between its pixels
  cl_long columns HOST_INIT(1);  // of the result, per work-group (CPU class)
  cl_long rows HOST_INIT(1);
  cl_long start HOST_INIT(0);  // offset of the result in its batch
  SHARED_ARRAY(cl_float, gain, 3);
  SHARED_ARRAY(cl_float, bias, 3);
  SHARED_ARRAY(cl_float, border, 3);
  cl_float unused HOST_INIT(0);
} Preprocess;
SHARED_STRUCT(Preprocess, 176)

// CPU class: the elements that a column of the result covers, in the line of preprocess_cpu.cl.
typedef struct Column {
  cl_int first HOST_INIT(0);
  cl_int last HOST_INIT(0);
  cl_float at_first HOST_INIT(0);
  cl_float at_last HOST_INIT(0);
} Column;
SHARED_STRUCT(Column, 16)

SHARED_END
