// Windows that slide along the axes of a tensor.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

// Along one axis of [outer][length][inner], to [outer][places][inner].
typedef struct SlideView {
  cl_long outer HOST_INIT(1);
  cl_long length HOST_INIT(1);
  cl_long inner HOST_INIT(1);
  cl_long places HOST_INIT(1);  // of the window
  cl_long size HOST_INIT(1);    // elements of the window
  cl_long stride HOST_INIT(1);
  cl_long dilation HOST_INIT(1);
  cl_long low HOST_INIT(0);    // padding in front of the first element
  cl_long chunk HOST_INIT(1);  // results per work-group (CPU class)
} SlideView;
SHARED_STRUCT(SlideView, 72)

#define WINDOW_MOST_AXES 8

// Along all axes.
typedef struct WindowView {
  cl_long elements HOST_INIT(0);  // of the tensor
  cl_long windows HOST_INIT(0);
  cl_long inside HOST_INIT(1);  // elements of a window
  cl_long chunk HOST_INIT(1);   // results per work-group (CPU class)
  cl_int rank HOST_INIT(0);
  cl_int largest HOST_INIT(1);  // whether the largest element of a window is selected
  SHARED_ARRAY(cl_long, extent, WINDOW_MOST_AXES);  // of the tensor
  SHARED_ARRAY(cl_long, places, WINDOW_MOST_AXES);  // of the window
  SHARED_ARRAY(cl_long, size, WINDOW_MOST_AXES);
  SHARED_ARRAY(cl_long, stride, WINDOW_MOST_AXES);
  SHARED_ARRAY(cl_long, low, WINDOW_MOST_AXES);
} WindowView;
SHARED_STRUCT(WindowView, 360)

SHARED_END
