// The work-group of a kernel over windows, see window_args.h, and the range inside the plane.
#pragma once

#include "kernels/nn/window_args.h"

// The index of a work-group.
typedef struct {
  long x, y, z;
} Group;
#define OWN_GROUP ((Group){get_group_id(0), get_group_id(1), get_group_id(2)})

// The range of o, within 0..count, for which o * stride + shift is within 0..extent.
static inline int first_inside(const long shift, const long stride, const long count) {
  if (shift >= 0) return 0;
  return (int)min(count, stride == 1 ? -shift : (stride - 1 - shift) / stride);
}
static inline int end_inside(const long shift, const long stride, const long extent,
                             const long count) {
  if (shift >= extent) return 0;
  return (int)min(count, stride == 1 ? extent - shift : (extent - 1 - shift) / stride + 1);
}
