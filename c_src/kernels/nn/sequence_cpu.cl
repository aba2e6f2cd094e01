// Goes through the steps of a sequence, see runtime/sequence.hpp, whose kernels are those of the
// convolutions and pools of pixels with their channels next to each other, and the model's move.
//
//   E        an unsigned integer as wide as T
//
//   memory   `count` steps, and where their addresses say the arguments of each
//   local    memory for the step that needs most
//
// A work-group is one item, one for each thread of the driver. Any of them can go through all steps
// alone.

typedef struct {
  ulong arguments;
  uint member;
  uint groups[3];
  uint next;  // work-group that nobody has taken
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

// How often somebody who waits looks, before leaving the rest to those who are at work: about a
// fifth of a millisecond. They wait that long only where others need the processor.
#define PATIENCE 4000
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
#if HAS_GROUPS
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

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void run_sequence(__global uchar *memory, const uint count, __local T *local_memory) {
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
      if (waited == PATIENCE) return;
      PAUSE;
    }
  }
}
