// Runs the steps of a sequence, see runtime/sequence.hpp. Its kernels are the NHWC convolutions and
// pools and the model's move.
//
//   memory   `count` steps; the arguments of each are at the address that it contains
//   local    local memory for the step that needs the most
//
// A work-group is one item, and there is one for each thread of the driver. Each of them is able to
// run all steps alone.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/nn/conv_nhwc/conv2d_nhwc_cpu.cl"
#include "kernels/nn/conv_nhwc/conv2d_patch_cpu.cl"
#include "kernels/nn/conv_nhwc/depthwise_nhwc_cpu.cl"
#include "kernels/nn/conv_nhwc/scale_nhwc_cpu.cl"
#include "kernels/nn/pool/pools_cpu.cl"
#if LANES > 2
#include "kernels/nn/conv_nhwc/conv2d_groups_cpu.cl"
#endif

// The unsigned integer type of T's width, for the model's move.
#if T_BITS == 64
#define E ulong
#else
#define E uint
#endif
#include "kernels/model/move.cl"

// The same layout as the struct of that name in runtime/sequence.cpp, which must not include files
// of this folder.
typedef struct {
  ulong arguments;
  uint member;
  uint groups[3];
  uint next;  // the first work-group that is not taken
  uint done;  // work-groups
  uint unused[8];
} SequenceStep;

// The arguments of the kernels, in their order.
typedef struct {
  __global const T *in, *packed, *bias, *residual;
  __global T *out;
  Convolution conv;
  Panels panels;
  T low, high, slope;
} PanelArguments;

typedef struct {
  __global const T *in, *packed, *bias, *residual;
  __global T *out;
  Convolution conv;
  Patch patch;
  T low, high, slope;
} PatchArguments;

typedef struct {
  __global const T *in, *packed, *bias, *residual;
  __global T *out;
  Convolution conv;
  Rows rows;
  T low, high, slope;
} RowsArguments;

typedef struct {
  __global const T *in, *packed, *bias, *residual;
  __global T *out;
  Convolution conv;
  long strip_pixels;
  T low, high, slope;
} ScaleArguments;

typedef struct {
  __global const T *in;
  __global T *out;
  Window window;
  long channels, pixels, units;
  int count_padding;
} PoolArguments;

typedef struct {
  __global const E *in;
  __global E *out;
  Walk walk;
} MoveArguments;

// The number of polls before a waiting work-item leaves the rest of the sequence to the others:
// about a fifth of a millisecond. A wait is that long only if other processes need the processor.
#define MAX_POLLS 4000
#if defined(__x86_64__) || defined(__i386__)
#define PAUSE __builtin_ia32_pause()
#else
#define PAUSE
#endif

static inline void run_group(const uint member, const ulong arguments, const Group group,
                             __local T *local_memory) {
  switch (member) {
    case MEMBER_conv2d_pointwise: {
      __global const PanelArguments *a = (__global const PanelArguments *)arguments;
      pointwise_group(a->in, a->packed, a->bias, a->residual, a->out, a->conv, a->panels, a->low,
                      a->high, a->slope, group);
      break;
    }
    case MEMBER_conv2d_windows: {
      __global const PanelArguments *a = (__global const PanelArguments *)arguments;
      windows_group(a->in, a->packed, a->bias, a->residual, a->out, a->conv, a->panels, a->low,
                    a->high, a->slope, local_memory, group);
      break;
    }
    case MEMBER_conv2d_patch: {
      __global const PatchArguments *a = (__global const PatchArguments *)arguments;
      patch_group(a->in, a->packed, a->bias, a->residual, a->out, a->conv, a->patch, a->low,
                  a->high, a->slope, local_memory, group);
      break;
    }
    case MEMBER_conv2d_depthwise_nhwc: {
      __global const RowsArguments *a = (__global const RowsArguments *)arguments;
      depthwise_group(a->in, a->packed, a->bias, a->residual, a->out, a->conv, a->rows, a->low,
                      a->high, a->slope, group);
      break;
    }
#if LANES > 2
    case MEMBER_conv2d_groups: {
      __global const RowsArguments *a = (__global const RowsArguments *)arguments;
      groups_group(a->in, a->packed, a->bias, a->residual, a->out, a->conv, a->rows, a->low,
                   a->high, a->slope, group);
      break;
    }
#endif
    case MEMBER_conv2d_scale: {
      __global const ScaleArguments *a = (__global const ScaleArguments *)arguments;
      scale_group(a->in, a->packed, a->bias, a->residual, a->out, a->conv, a->strip_pixels, a->low,
                  a->high, a->slope, group);
      break;
    }
    case MEMBER_max_pool2d_nhwc: {
      __global const PoolArguments *a = (__global const PoolArguments *)arguments;
      max_pool2d_nhwc_group(a->in, a->out, a->window, a->channels, a->pixels, a->units,
                            a->count_padding, group);
      break;
    }
    case MEMBER_avg_pool2d_nhwc: {
      __global const PoolArguments *a = (__global const PoolArguments *)arguments;
      avg_pool2d_nhwc_group(a->in, a->out, a->window, a->channels, a->pixels, a->units,
                            a->count_padding, group);
      break;
    }
    case MEMBER_move: {
      __global const MoveArguments *a = (__global const MoveArguments *)arguments;
      const Walk walk = a->walk;
      const long first = group.x * walk.chunk;
      move_elements(a->in, a->out, walk, first, min(first + walk.chunk, walk.count));
      break;
    }
  }
}

SINGLE_ITEM_KERNEL void run_sequence(__global uchar *memory, const uint count,
                                     __local T *local_memory) {
  __global SequenceStep *steps = (__global SequenceStep *)memory;
  for (uint i = 0; i < count; ++i) {
    __global SequenceStep *step = steps + i;
    const uint member = step->member;
    const ulong arguments = step->arguments;
    const uint width = step->groups[0], plane = width * step->groups[1];
    const uint total = plane * step->groups[2];
    uint finished = 0;
    for (;;) {
      const uint taken = __atomic_fetch_add(&step->next, 1, __ATOMIC_RELAXED);
      if (taken >= total) break;
      const Group group = {taken % width, taken % plane / width, taken / plane};
      run_group(member, arguments, group, local_memory);
      ++finished;
    }
    if (finished > 0) __atomic_fetch_add(&step->done, finished, __ATOMIC_RELEASE);
    for (uint waited = 0; __atomic_load_n(&step->done, __ATOMIC_ACQUIRE) < total; ++waited) {
      if (waited == MAX_POLLS) return;
      PAUSE;
    }
  }
}

#undef E
