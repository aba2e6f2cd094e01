// All steps of a recurrent layer in one launch, GPU family. The arguments are those of
// recurrent_cpu.cl; `control` is not used.
//
// A work-group owns a sequence in one direction, and a work-item units of it. The states go through
// global memory, with a barrier between the phases of a step. All work-items of a group take the
// same branches around the barriers.
#pragma once

#define V float
#define AS_V as_float
#define AS_INT_V as_int
#include "kernels/common/loops.h"
#include "kernels/nn/recurrent/recurrent_cell.cl"

// The product of a state with the weights of one gate of one unit.
static inline float state_sum(__global const float *weights, const long pitch, const long hidden,
                              __global const float *state) {
  float sum = 0;
  for (long k = 0; k < hidden; ++k) sum = fma(weights[k * pitch], state[k], sum);
  return sum;
}

// One unit of a phase of a step, which is the whole step except for a GRU whose reset gate comes
// first. `row` is the sequence within the directions.
static inline void run_unit(__global const float *products, __global const float *weights,
                            __global const float *first_h, __global const float *first_c,
                            __global const float *extra, __global float *out, __global float *room,
                            const Recurrence *layer, const long row, const long length,
                            const long count, const long phase, const long unit) {
  const long hidden = layer->hidden, steps = layer->steps;
  const long direction = row / layer->batch, sequence = row % layer->batch;
  const long slab = layer->directions * layer->batch * hidden;
  const int kind = layer->kind;
  const long gates = kind == RECURRENT_RNN ? 1 : kind == RECURRENT_LSTM ? 4 : 3;
  const long pitch = gates * RECURRENT_TILE;
  const bool backwards = direction == 1 || layer->backwards;
  const long step = backwards ? steps - 1 - count : count;
  const long tile = unit / RECURRENT_TILE, lane = unit % RECURRENT_TILE;
  __global float *to = out + step * slab + row * hidden;
  if (step >= length) {
    to[unit] = 0;
    return;
  }
  const bool begins = backwards ? step == length - 1 : step == 0;
  __global const float *state = first_h + row * hidden;
  if (!begins) state = out + (backwards ? step + 1 : step - 1) * slab + row * hidden;
  __global float *cells = room + row * hidden, *updates = cells + slab, *resets = updates + slab;
  __global const float *x =
      products +
      (((step * layer->batch + sequence) * layer->directions + direction) * layer->tiles + tile) *
          pitch +
      lane;
  __global const float *w = weights + (direction * layer->tiles + tile) * hidden * pitch + lane;
  __global const float *more =
      extra + (direction * layer->tiles + tile) * 3 * RECURRENT_TILE + lane;
  float sums[4] = {0, 0, 0, 0};
  EACH_DIMENSION(g, gates, 4) {
    if (kind == RECURRENT_GRU && (g == 2) != (phase == 1)) continue;
    sums[g] = state_sum(w + g * RECURRENT_TILE, pitch, hidden, phase == 1 ? resets : state);
  }
  const float before = state[unit];
  float next = 0;
  if (kind == RECURRENT_LSTM) {
    const bool peeps = layer->has_peepholes;
    float c = begins ? first_c[row * hidden + unit] : cells[unit];
    next = lstm_cell(x[0] + sums[0], x[RECURRENT_TILE] + sums[1], x[2 * RECURRENT_TILE] + sums[2],
                     x[3 * RECURRENT_TILE] + sums[3], peeps ? more[0] : 0,
                     peeps ? more[RECURRENT_TILE] : 0, peeps ? more[2 * RECURRENT_TILE] : 0, &c,
                     layer, direction);
    cells[unit] = c;
    if (layer->states) out[(steps + 1) * slab + row * hidden + unit] = c;
  } else if (kind == RECURRENT_RNN) {
    next = activated_by(x[0] + sums[0], layer, direction, 0);
  } else if (kind == RECURRENT_GRU && phase == 0) {
    updates[unit] = activated_by(x[0] + sums[0], layer, direction, 0);
    resets[unit] = activated_by(x[RECURRENT_TILE] + sums[1], layer, direction, 0) * before;
    return;
  } else if (kind == RECURRENT_GRU) {
    next = mixed(updates[unit], activated_by(x[2 * RECURRENT_TILE] + sums[2], layer, direction, 1),
                 before);
  } else {
    const float update = activated_by(x[0] + sums[0], layer, direction, 0);
    const float reset = activated_by(x[RECURRENT_TILE] + sums[1], layer, direction, 0);
    const float candidate = fma(reset, sums[2] + more[0], x[2 * RECURRENT_TILE]);
    next = mixed(update, activated_by(candidate, layer, direction, 1), before);
  }
  to[unit] = next;
  // The last step of a sequence is written last.
  if (layer->states) out[steps * slab + row * hidden + unit] = next;
}

__kernel void recurrent(__global const float *restrict products,
                        __global const float *restrict weights,
                        __global const float *restrict first_h,
                        __global const float *restrict first_c,
                        __global const float *restrict extra, __global const int *restrict lengths,
                        __global float *out, __global float *room, __global uint *control,
                        const Recurrence layer) {
  const long items = (long)get_local_size(0), item = (long)get_local_id(0);
  const long row = (long)get_group_id(0);
  const long phases = layer.kind == RECURRENT_GRU ? 2 : 1;
  const long length =
      layer.has_lengths ? clamp((long)lengths[row % layer.batch], 0L, layer.steps) : layer.steps;
  // A sequence without a step keeps its initial states.
  if (layer.states && length == 0) {
    const long slab = layer.directions * layer.batch * layer.hidden;
    for (long unit = item; unit < layer.hidden; unit += items) {
      const long at = row * layer.hidden + unit;
      out[layer.steps * slab + at] = first_h[at];
      if (layer.kind == RECURRENT_LSTM) out[(layer.steps + 1) * slab + at] = first_c[at];
    }
  }
  for (long i = 0; i < layer.steps * phases; ++i) {
    for (long unit = item; unit < layer.hidden; unit += items) {
      run_unit(products, weights, first_h, first_c, extra, out, room, &layer, row, length,
               i / phases, i % phases, unit);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
}
