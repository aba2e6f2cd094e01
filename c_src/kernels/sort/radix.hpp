// A radix sort of unsigned keys in the GPU class, as steps of a launch: for sort and argsort, and
// for kernels that sort indices.
#pragma once

#include "kernels/planner.hpp"
#include "kernels/sort/sort_args.h"
#include "runtime/schedule/launch.hpp"

namespace dala {

// Scratch areas that hold the rows, one after the other: the keys, and each key's original position
// as a uint.
struct RadixRows {
  Operand keys;
  Operand places;
};

// Adds scratch for the rows. The caller fills it before the passes.
RadixRows add_radix_rows(Launch& launch, const SortView& view, size_t key_bytes);

// Adds the passes of a stable sort of the rows by the lowest `bits` bits of their keys, and returns
// the areas with the sorted rows.
RadixRows add_radix_passes(Launch& launch, Planner& planner, SortView view, const RadixRows& rows,
                           size_t key_bytes, int bits);

// The largest number of keys in a row.
inline constexpr int64_t kLongestSortedRow = 0xffffffff;

}  // namespace dala
