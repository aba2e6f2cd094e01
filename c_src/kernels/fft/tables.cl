// Roots of unity from two tables, each of about the square root of their number: w^k is the product
// of an entry of the coarse table and one of the fine table. Entries are pairs of re and im.
#pragma once

#include "kernels/common/paste.h"

#define T2 PASTE(T, 2)

static inline T2 times(const T2 a, const T2 b) {
  return (T2)(fma(a.x, b.x, -(a.y * b.y)), fma(a.x, b.y, a.y * b.x));
}

static inline T2 root_of(__global const T *tables, const long fine, const long coarse,
                         const int bits, const long k) {
  return times(vload2(coarse + (k >> bits), tables),
               vload2(fine + (k & ((1L << bits) - 1)), tables));
}
