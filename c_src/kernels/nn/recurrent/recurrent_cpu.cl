// All steps of a recurrent layer in one launch, CPU family; recurrent_cell.cl has the formulas.
//
//   products  {steps, batch, directions, tiles, gates, RECURRENT_TILE}: the products of the inputs
//             with their weights, with the biases
//   weights   {directions, tiles, hidden, gates, RECURRENT_TILE}: those of the state
//   first_h, first_c   {directions, batch, hidden}: the initial states; first_c only of an LSTM
//   extra     {directions, tiles, 3, RECURRENT_TILE}: peepholes of an LSTM, or as the first of the
//             three the bias that GRU_LINEAR adds to the product with the state
//   lengths   {batch}: steps of each sequence, if layer.has_lengths
//   out       {steps, directions, batch, hidden}, then {directions, batch, hidden} of the last
//             states and the same of the last cells of an LSTM, if layer.states
//   room      {3, directions, batch, hidden}: cells, update gates, and states times reset gates
//   control   counters of each phase, zero at the start; see below
//
// Edge rule: a step beyond the length of its sequence gives 0 and leaves the state as it is.
//
// A step depends on the one before, so each phase (a step or, in a GRU that applies the reset gate
// before the product, half of one) is divided into tasks: a tile of a direction for all sequences.
// With COOPERATE there is one work-group per thread of the driver. Each first takes the tasks of
// its own share, whose weights are in its core's cache, then tasks that no other has taken, and
// spins until the others complete theirs. Every work-group can do all tasks, so progress does not
// depend on how many the driver runs concurrently, and one that has spun for long leaves the rest
// to the others. Without COOPERATE there is one work-group.
#pragma once

#define V float16
#define AS_V as_float16
#define AS_INT_V as_int16
#include "kernels/common/kernel.h"
#include "kernels/nn/recurrent/recurrent_cell.cl"

#define NAME sums_1_1
#define GATES 1
#define ROWS 1
#include "kernels/nn/recurrent/recurrent_sums_cpu.cl"
#define NAME sums_2_1
#define GATES 2
#define ROWS 1
#include "kernels/nn/recurrent/recurrent_sums_cpu.cl"
#define NAME sums_3_1
#define GATES 3
#define ROWS 1
#include "kernels/nn/recurrent/recurrent_sums_cpu.cl"
#define NAME sums_4_1
#define GATES 4
#define ROWS 1
#include "kernels/nn/recurrent/recurrent_sums_cpu.cl"
#define NAME sums_1_4
#define GATES 1
#define ROWS 4
#include "kernels/nn/recurrent/recurrent_sums_cpu.cl"
#define NAME sums_2_4
#define GATES 2
#define ROWS 4
#include "kernels/nn/recurrent/recurrent_sums_cpu.cl"
#define NAME sums_3_4
#define GATES 3
#define ROWS 4
#include "kernels/nn/recurrent/recurrent_sums_cpu.cl"
#define NAME sums_4_4
#define GATES 4
#define ROWS 4
#include "kernels/nn/recurrent/recurrent_sums_cpu.cl"

#define MOST_GATES 4
#define BLOCK_ROWS 4

typedef struct {
  __global const float *products, *weights, *first_h, *first_c, *extra;
  __global const int *lengths;
  __global float *out, *room;
  const Recurrence *layer;
  long slab;  // elements of {directions, batch, hidden}
} Layer;

// The first `count` elements of a vector, and zeros.
static inline float16 load_units(__global const float *from, const long count) {
  if (count >= RECURRENT_TILE) return vload16(0, from);
  float units[RECURRENT_TILE];
  for (long i = 0; i < RECURRENT_TILE; ++i) units[i] = i < count ? from[i] : 0.0f;
  return vload16(0, units);
}

static inline void store_units(const float16 x, __global float *to, const long count) {
  if (count >= RECURRENT_TILE) {
    vstore16(x, 0, to);
    return;
  }
  float units[RECURRENT_TILE];
  vstore16(x, 0, units);
  for (long i = 0; i < count; ++i) to[i] = units[i];
}

static inline void add_sums(const long gates, const bool block, __global const float *weights,
                            const long pitch, const long hidden,
                            __global const float *const *states, float16 *sums) {
  if (gates == 4) {
    if (block) {
      sums_4_4(weights, pitch, hidden, states, sums);
    } else {
      sums_4_1(weights, pitch, hidden, states, sums);
    }
  } else if (gates == 3) {
    if (block) {
      sums_3_4(weights, pitch, hidden, states, sums);
    } else {
      sums_3_1(weights, pitch, hidden, states, sums);
    }
  } else if (gates == 2) {
    if (block) {
      sums_2_4(weights, pitch, hidden, states, sums);
    } else {
      sums_2_1(weights, pitch, hidden, states, sums);
    }
  } else if (block) {
    sums_1_4(weights, pitch, hidden, states, sums);
  } else {
    sums_1_1(weights, pitch, hidden, states, sums);
  }
}

// One phase of step number `count` for a tile of a direction and `rows` sequences from `first` on.
static inline void run_rows(const Layer *of, const long count, const long phase,
                            const long direction, const long tile, const long first,
                            const long rows) {
  const Recurrence *layer = of->layer;
  const long hidden = layer->hidden, batch = layer->batch, steps = layer->steps;
  const int kind = layer->kind;
  const bool lstm = kind == RECURRENT_LSTM, gru = kind == RECURRENT_GRU;
  const long all_gates = kind == RECURRENT_RNN ? 1 : lstm ? 4 : 3;
  const long first_gate = gru && phase == 1 ? 2 : 0;
  const long gates = !gru ? all_gates : phase == 0 ? 2 : 1;
  const bool backwards = direction == 1 || layer->backwards;
  const long step = backwards ? steps - 1 - count : count;
  const long unit = tile * RECURRENT_TILE, units = min((long)RECURRENT_TILE, hidden - unit);
  __global const float *extra = of->extra + (direction * layer->tiles + tile) * 3 * RECURRENT_TILE;

  bool alive[BLOCK_ROWS];
  __global const float *before[BLOCK_ROWS];   // the states
  __global const float *factors[BLOCK_ROWS];  // what the weights are multiplied with
  float16 sums[BLOCK_ROWS * MOST_GATES];
  float16 own[BLOCK_ROWS];  // GRU_LINEAR: the product of the input for the candidate
  for (long r = 0; r < rows; ++r) {
    const long row = direction * batch + first + r;
    const long length = layer->has_lengths ? clamp((long)of->lengths[first + r], 0L, steps) : steps;
    alive[r] = step < length;
    const bool begins = backwards ? step == length - 1 : step == 0;
    before[r] = !alive[r] || begins
                    ? of->first_h + row * hidden
                    : of->out + (backwards ? step + 1 : step - 1) * of->slab + row * hidden;
    factors[r] = first_gate == 2 ? of->room + 2 * of->slab + row * hidden : before[r];
    __global const float *product =
        of->products +
        ((((step * batch + first + r) * layer->directions + direction) * layer->tiles + tile) *
             all_gates +
         first_gate) *
            RECURRENT_TILE;
    for (long g = 0; g < gates; ++g) sums[r * gates + g] = vload16(g, product);
    if (kind == RECURRENT_GRU_LINEAR) {
      own[r] = sums[r * gates + 2];
      sums[r * gates + 2] = vload16(0, extra);
    }
  }
  const long pitch = all_gates * RECURRENT_TILE;
  __global const float *weights = of->weights + (direction * layer->tiles + tile) * hidden * pitch +
                                  first_gate * RECURRENT_TILE;
  if (rows == BLOCK_ROWS) {
    add_sums(gates, true, weights, pitch, hidden, factors, sums);
  } else {
    for (long r = 0; r < rows; ++r) {
      add_sums(gates, false, weights, pitch, hidden, factors + r, sums + r * gates);
    }
  }

  for (long r = 0; r < rows; ++r) {
    const long at = (direction * batch + first + r) * hidden + unit;
    __global float *to = of->out + step * of->slab + at;
    if (!alive[r]) {
      if (!gru || phase == 1) store_units((float16)(0.0f), to, units);
      continue;
    }
    const float16 *sum = sums + r * gates;
    const float16 state = load_units(before[r] + unit, units);
    float16 next;
    if (lstm) {
      const float16 none = (float16)(0.0f);
      const bool peeps = layer->has_peepholes;
      __global float *cell = of->room + at;
      const bool begins = before[r] == of->first_h + (direction * batch + first + r) * hidden;
      float16 c = load_units(begins ? of->first_c + at : cell, units);
      next = lstm_cell(sum[0], sum[1], sum[2], sum[3], peeps ? vload16(0, extra) : none,
                       peeps ? vload16(1, extra) : none, peeps ? vload16(2, extra) : none, &c,
                       layer, direction);
      store_units(c, cell, units);
      if (layer->states) store_units(c, of->out + (steps + 1) * of->slab + at, units);
    } else if (kind == RECURRENT_RNN) {
      next = activated_by(sum[0], layer, direction, 0);
    } else if (gru && phase == 0) {
      store_units(activated_by(sum[0], layer, direction, 0), of->room + of->slab + at, units);
      store_units(activated_by(sum[1], layer, direction, 0) * state, of->room + 2 * of->slab + at,
                  units);
      continue;
    } else if (gru) {
      next = mixed(load_units(of->room + of->slab + at, units),
                   activated_by(sum[0], layer, direction, 1), state);
    } else {
      const float16 update = activated_by(sum[0], layer, direction, 0);
      const float16 reset = activated_by(sum[1], layer, direction, 0);
      next = mixed(update, activated_by(fma(reset, sum[2], own[r]), layer, direction, 1), state);
    }
    store_units(next, to, units);
    // The last step of a sequence is written last.
    if (layer->states) store_units(next, of->out + steps * of->slab + at, units);
  }
}

static inline void run_task(const Layer *of, const long count, const long phase, const long task) {
  const long direction = task / of->layer->tiles, tile = task % of->layer->tiles;
  for (long row = 0; row < of->layer->batch; row += BLOCK_ROWS) {
    run_rows(of, count, phase, direction, tile, row, min((long)BLOCK_ROWS, of->layer->batch - row));
  }
}

// Sequences without a step keep their initial states.
static inline void keep_states(const Layer *of) {
  const Recurrence *layer = of->layer;
  for (long row = 0; row < layer->directions * layer->batch; ++row) {
    if (of->lengths[row % layer->batch] > 0) continue;
    for (long i = row * layer->hidden; i < (row + 1) * layer->hidden; ++i) {
      of->out[layer->steps * of->slab + i] = of->first_h[i];
      if (layer->kind == RECURRENT_LSTM) {
        of->out[(layer->steps + 1) * of->slab + i] = of->first_c[i];
      }
    }
  }
}

#if COOPERATE
#define MAX_POLLS 4000
#if defined(__x86_64__) || defined(__i386__)
#define PAUSE __builtin_ia32_pause()
#else
#define PAUSE
#endif
#endif

SINGLE_ITEM_KERNEL void recurrent(
    __global const float *restrict products, __global const float *restrict weights,
    __global const float *restrict first_h, __global const float *restrict first_c,
    __global const float *restrict extra, __global const int *restrict lengths, __global float *out,
    __global float *room, __global uint *control, const Recurrence layer) {
  const Layer of = {
      products, weights, first_h, first_c, extra,
      lengths,  out,     room,    &layer,  layer.directions * layer.batch * layer.hidden};
  const long phases = layer.kind == RECURRENT_GRU ? 2 : 1;
  const long tasks = layer.directions * layer.tiles;
  const long groups = layer.groups, own = (long)get_group_id(0);
  if (own == 0 && layer.states && layer.has_lengths) keep_states(&of);
  for (long i = 0; i < layer.steps * phases; ++i) {
#if COOPERATE
    __global uint *next = control + i * (groups + 1), *done = next + groups;
    uint finished = 0;
    for (long g = 0; g < groups; ++g) {
      const long share = (own + g) % groups;
      const long begin = share * tasks / groups, end = (share + 1) * tasks / groups;
      for (;;) {
        const long taken = begin + (long)__atomic_fetch_add(next + share, 1, __ATOMIC_RELAXED);
        if (taken >= end) break;
        run_task(&of, i / phases, i % phases, taken);
        ++finished;
      }
    }
    if (finished > 0) __atomic_fetch_add(done, finished, __ATOMIC_RELEASE);
    for (uint waited = 0; __atomic_load_n(done, __ATOMIC_ACQUIRE) < (uint)tasks; ++waited) {
      if (waited == MAX_POLLS) return;
      PAUSE;
    }
#else
    for (long task = 0; task < tasks; ++task) run_task(&of, i / phases, i % phases, task);
#endif
  }
}
