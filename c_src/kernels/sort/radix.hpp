// A radix sort of unsigned keys on the GPU class, as steps of a launch: for sort and argsort, and
// for kernels that have to bring indices into order.
#pragma once

#include "kernels/planner.hpp"
#include "kernels/sort/sort_args.h"
#include "runtime/launch.hpp"

namespace dala {

// Scratch areas of a launch that hold the rows, one behind the other: keys, and the place that each
// has come from, a uint.
struct RadixRows {
  Operand keys;
  Operand places;
};

// Adds scratch for the rows. The caller fills it before the passes.
RadixRows add_radix_rows(Launch& launch, const SortView& view, size_t key_bytes);

// Adds the passes that sort the rows by the lowest `bits` bits of their keys, equal ones in the
// order that they come in, and returns where the sorted rows are.
RadixRows add_radix_passes(Launch& launch, Planner& planner, SortView view, const RadixRows& rows,
                           size_t key_bytes, int bits);

// The most keys of a row.
inline constexpr int64_t kLongestSortedRow = 0xffffffff;

}  // namespace dala
