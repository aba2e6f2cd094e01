// One pass of a stable radix sort of long rows, CPU family, by the eight bits from view.shift on.
//
//   NAME_count     counts[row][chunk][digit] = the number of elements of the chunk with the digit
//   NAME_scatter   moves the elements of the chunk behind those of smaller digits, and of the same
//                  digit in earlier chunks
//
//   NAME        the pass's name
//   FIRST, LAST 1 if it reads elements of the input, or writes results
//   WITH_INDEX  1 if indices are sorted along with keys: they are then the results
//   OUT         type of the results
//   KEY, T      see keys.cl
//
// A work-group is one item and owns a chunk of a row. Preconditions: length < 2^32; nothing
// overlaps.

#include "kernels/common/kernel.h"
#include "kernels/common/paste.h"
#include "kernels/sort/keys.cl"

#if FIRST
#define FROM T
#define KEY_AT(k) key_of(from[(k)*step], view)
#define INDEX_AT(k) ((uint)(k))
#else
#define FROM KEY
#define KEY_AT(k) from[k]
#define INDEX_AT(k) places[k]
#endif
#if LAST
#define TO OUT
#else
#define TO KEY
#endif

SINGLE_ITEM_KERNEL void PASTE(NAME, _count)(__global const FROM *restrict from,
                                            __global uint *restrict counts, const SortView view) {
  const long row = (long)get_group_id(0) / view.chunks, chunk = (long)get_group_id(0) % view.chunks;
  const long begin = chunk * view.chunk, end = min(begin + view.chunk, view.length);
  if (row >= view.rows) return;
#if FIRST
  const long step = view.inner;
  from += row_start(row, view.length, view.inner);
#else
  from += row * view.length;
#endif
  uint own[256];
  for (int d = 0; d < 256; ++d) own[d] = 0;
  for (long k = begin; k < end; ++k) ++own[(KEY_AT(k) >> view.shift) & 255];
  counts += (row * view.chunks + chunk) * 256;
  for (int d = 0; d < 256; ++d) counts[d] = own[d];
}

SINGLE_ITEM_KERNEL void PASTE(NAME, _scatter)(__global const FROM *restrict from,
#if WITH_INDEX && !FIRST
                                              __global const uint *restrict places,
#endif
                                              __global TO *restrict to,
#if WITH_INDEX && !LAST
                                              __global uint *restrict to_places,
#endif
                                              __global const uint *restrict counts,
                                              const SortView view) {
  const long row = (long)get_group_id(0) / view.chunks, chunk = (long)get_group_id(0) % view.chunks;
  const long begin = chunk * view.chunk, end = min(begin + view.chunk, view.length);
  if (row >= view.rows) return;

  uint next[256];
  uint before = 0;
  counts += row * view.chunks * 256;
  for (int d = 0; d < 256; ++d) {
    uint all = 0, earlier = 0;
    for (long c = 0; c < view.chunks; ++c) {
      const uint count = counts[c * 256 + d];
      earlier += c < chunk ? count : 0;
      all += count;
    }
    next[d] = before + earlier;
    before += all;
  }

#if FIRST
  const long step = view.inner;
  from += row_start(row, view.length, view.inner);
#else
  from += row * view.length;
#endif
#if WITH_INDEX && !FIRST
  places += row * view.length;
#endif
#if LAST
  to += row_start(row, view.keep, view.inner);
#else
  to += row * view.length;
#if WITH_INDEX
  to_places += row * view.length;
#endif
#endif
  for (long k = begin; k < end; ++k) {
    const KEY key = KEY_AT(k);
    const uint at = next[(key >> view.shift) & 255]++;
#if !LAST
    to[at] = key;
#if WITH_INDEX
    to_places[at] = INDEX_AT(k);
#endif
#elif WITH_INDEX
    if (at < view.keep) to[at * view.inner] = (OUT)INDEX_AT(k);
#else
    if (at < view.keep) to[at * view.inner] = element_of(key, view);
#endif
  }
}

#undef FROM
#undef TO
#undef KEY_AT
#undef INDEX_AT
