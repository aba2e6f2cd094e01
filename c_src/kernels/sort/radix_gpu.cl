// A radix sort of keys, four bits at a time, GPU family.
//
//   radix_count     counts[row][digit][tile] = how many keys of the tile have the digit
//   radix_offsets   counts of a row to how many keys come before, in place
//   radix_scatter   sorts a tile by the digit in local memory, and writes its runs where they go
//
//   KEY          the unsigned type of the keys; each has its place beside it, a uint
//   ITEMS        items of a group, a power of two: a tile has as many keys
//   view         see sort_args.h: chunk is ITEMS, chunks the tiles of a row
//
// The sort is stable. Edge rules: items past the end of a row only take part in barriers.
// Preconditions: length < 2^32; nothing overlaps.
#pragma once

#include "kernels/sort/sort_args.h"

#define DIGIT_BITS 4
#define DIGIT_VALUES 16

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void radix_count(
    __global const KEY *restrict keys, __global uint *restrict counts, const SortView view) {
  __local uint own[DIGIT_VALUES];
  const long row = (long)get_group_id(0) / view.chunks, tile = (long)get_group_id(0) % view.chunks;
  const int item = (int)get_local_id(0);
  const long k = tile * ITEMS + item;
  for (int d = item; d < DIGIT_VALUES; d += ITEMS) own[d] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (k < view.length) {
    atomic_inc(own + ((keys[row * view.length + k] >> view.shift) & (DIGIT_VALUES - 1)));
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = item; d < DIGIT_VALUES; d += ITEMS) {
    counts[(row * DIGIT_VALUES + d) * view.chunks + tile] = own[d];
  }
}

// The inclusive prefix sum of `x` over the items of the group. Every item calls it.
static inline uint sum_up_to_here(const uint x, __local uint *sums) {
  const int item = (int)get_local_id(0);
  sums[item] = x;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int reach = 1; reach < ITEMS; reach *= 2) {
    const uint more = item >= reach ? sums[item - reach] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[item] += more;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return sums[item];
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void radix_offsets(
    __global uint *restrict counts, const SortView view) {
  __local uint sums[ITEMS];
  const long total = DIGIT_VALUES * view.chunks;
  const int item = (int)get_local_id(0);
  counts += (long)get_group_id(0) * total;
  uint before = 0;
  for (long first = 0; first < total; first += ITEMS) {
    const uint count = first + item < total ? counts[first + item] : 0;
    const uint with = sum_up_to_here(count, sums);
    const uint all = sums[ITEMS - 1];
    if (first + item < total) counts[first + item] = before + with - count;
    before += all;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void radix_scatter(
    __global const KEY *restrict keys, __global const uint *restrict places,
    __global KEY *restrict to_keys, __global uint *restrict to_places,
    __global const uint *restrict offsets, const SortView view) {
  __local uint sums[ITEMS];
  __local uint digits[ITEMS];   // of the tile's keys, in the current order
  __local uint sources[ITEMS];  // the item that held each key
  __local uint starts[DIGIT_VALUES];
  const long row = (long)get_group_id(0) / view.chunks, tile = (long)get_group_id(0) % view.chunks;
  const int item = (int)get_local_id(0);
  const long first = tile * ITEMS;
  const int count = (int)min((long)ITEMS, view.length - first);
  keys += row * view.length + first;
  places += row * view.length + first;

  // Items past the end get the highest digit, so they stay behind all others.
  digits[item] =
      item < count ? (uint)((keys[item] >> view.shift) & (DIGIT_VALUES - 1)) : DIGIT_VALUES - 1;
  sources[item] = (uint)item;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int bit = 0; bit < DIGIT_BITS; ++bit) {
    const uint digit = digits[item], source = sources[item];
    const uint zero = ((digit >> bit) & 1) == 0 ? 1 : 0;
    const uint zeros = sum_up_to_here(zero, sums);
    const uint all = sums[ITEMS - 1];
    const uint at = zero ? zeros - 1 : all + (uint)item - zeros;
    barrier(CLK_LOCAL_MEM_FENCE);
    digits[at] = digit;
    sources[at] = source;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const uint digit = digits[item];
  if (item == 0 || digits[item - 1] != digit) starts[digit] = (uint)item;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint source = sources[item];
  if (source < (uint)count) {
    const long at = row * view.length + offsets[(row * DIGIT_VALUES + digit) * view.chunks + tile] +
                    ((uint)item - starts[digit]);
    to_keys[at] = keys[source];
    to_places[at] = places[source];
  }
}
