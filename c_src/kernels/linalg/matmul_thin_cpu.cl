// The matrix product of matmul_cpu.cl where a has few rows or b has few columns. Every element of
// the other operand is then used only a few times, so it is read once, in the order in which it is
// stored, and the product is memory-bound.
//
// Members of `product`, beside the extents:
//
//   thin_is_b      whether b is the thin operand, else a
//   thin           its number of rows or columns
//   strip_columns  rows or columns of the long operand per work-group, a multiple of LANES
//   block, split   see matmul_cpu.cl
//
//   thin_block     local memory for thin * block elements of type ACC
//   sums           local memory for thin * strip_columns of them
//
// A work-group is one item. For each block of k it loads the thin operand into local memory, then
// reads the long one: along k as dot products, four rows at a time, or across k, adding up four
// rows at a time. Edge rule: a dot product past the end repeats the last one and is not stored.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/linalg/product.cl"
#include "kernels/linalg/vectors_cpu.cl"

static inline void add_dots(__global const T *from, const long pitch, const int width,
                            const int depth, __local const ACC *factors, const int thin,
                            const int block, __local ACC *sums, const int strip) {
  for (int j = 0; j < width; j += 4) {
    __global const T *row0 = from + j * pitch;
    __global const T *row1 = from + min(j + 1, width - 1) * pitch;
    __global const T *row2 = from + min(j + 2, width - 1) * pitch;
    __global const T *row3 = from + min(j + 3, width - 1) * pitch;
    for (int i = 0; i < thin; ++i) {
      __local const ACC *x = factors + i * block;
      VECTOR sum0 = (VECTOR)(0), sum1 = (VECTOR)(0), sum2 = (VECTOR)(0), sum3 = (VECTOR)(0);
      int p = 0;
      for (; p + LANES <= depth; p += LANES) {
        const VECTOR factor = LOAD(x + p);
        sum0 = MULTIPLY_ADD(factor, load_elements(row0 + p), sum0);
        sum1 = MULTIPLY_ADD(factor, load_elements(row1 + p), sum1);
        sum2 = MULTIPLY_ADD(factor, load_elements(row2 + p), sum2);
        sum3 = MULTIPLY_ADD(factor, load_elements(row3 + p), sum3);
      }
      ACC rest[4] = {across(sum0), across(sum1), across(sum2), across(sum3)};
      for (; p < depth; ++p) {
        rest[0] = MULTIPLY_ADD(x[p], (ACC)row0[p], rest[0]);
        rest[1] = MULTIPLY_ADD(x[p], (ACC)row1[p], rest[1]);
        rest[2] = MULTIPLY_ADD(x[p], (ACC)row2[p], rest[2]);
        rest[3] = MULTIPLY_ADD(x[p], (ACC)row3[p], rest[3]);
      }
      for (int r = 0; r < 4 && j + r < width; ++r) sums[i * strip + j + r] += rest[r];
    }
  }
}

static inline void add_rows(__global const T *from, const long pitch, const int width,
                            const int depth, __local const ACC *factors, const int thin,
                            const int block, __local ACC *sums, const int strip) {
  int p = 0;
  for (; p + 4 <= depth; p += 4) {
    __global const T *row0 = from + p * pitch, *row1 = row0 + pitch;
    __global const T *row2 = row1 + pitch, *row3 = row2 + pitch;
    for (int i = 0; i < thin; ++i) {
      __local const ACC *x = factors + i * block + p;
      __local ACC *to = sums + i * strip;
      int j = 0;
      for (; j + LANES <= width; j += LANES) {
        VECTOR sum = LOAD(to + j);
        sum = MULTIPLY_ADD((VECTOR)(x[0]), load_elements(row0 + j), sum);
        sum = MULTIPLY_ADD((VECTOR)(x[1]), load_elements(row1 + j), sum);
        sum = MULTIPLY_ADD((VECTOR)(x[2]), load_elements(row2 + j), sum);
        sum = MULTIPLY_ADD((VECTOR)(x[3]), load_elements(row3 + j), sum);
        STORE(sum, to + j);
      }
      for (; j < width; ++j) {
        ACC sum = to[j];
        sum = MULTIPLY_ADD(x[0], (ACC)row0[j], sum);
        sum = MULTIPLY_ADD(x[1], (ACC)row1[j], sum);
        sum = MULTIPLY_ADD(x[2], (ACC)row2[j], sum);
        to[j] = MULTIPLY_ADD(x[3], (ACC)row3[j], sum);
      }
    }
  }
  for (; p < depth; ++p) {
    for (int i = 0; i < thin; ++i) {
      const ACC factor = factors[i * block + p];
      for (int j = 0; j < width; ++j) {
        sums[i * strip + j] = MULTIPLY_ADD(factor, (ACC)from[p * pitch + j], sums[i * strip + j]);
      }
    }
  }
}

SINGLE_ITEM_KERNEL void matmul_thin(__global const T *restrict a, __global const T *restrict b,
                                    __global const T *restrict bias, __global T *restrict out,
                                    const Product product, const T low, const T high,
                                    __local ACC *thin_block, __local ACC *sums) {
  const long n = product.n, k = product.k;
  const bool thin_is_b = product.thin_is_b;
  const long batch = (long)get_group_id(1) % product.batch;
  const long k_first = (long)get_group_id(1) / product.batch * product.split;
  const long first = (long)get_group_id(0) * product.strip_columns;
  const long extent = thin_is_b ? product.m : n;
  if (first >= extent || k_first >= k) return;
  const int strip = (int)product.strip_columns, block = (int)product.block;
  const int width = (int)min((long)strip, extent - first);
  const int thin = (int)product.thin;
  const long k_end = min(k_first + product.split, k);
  const bool whole = product.split >= k;
  a += matrix_at(&product, product.a_steps, batch);
  b += matrix_at(&product, product.b_steps, batch);
  out += (long)get_group_id(1) * product.m * n;

  __global const T *few = thin_is_b ? b : a, *many = thin_is_b ? a : b;
  const long few_pitch = thin_is_b ? product.b_pitch : product.a_pitch;
  const long pitch = thin_is_b ? product.a_pitch : product.b_pitch;
  // Whether adjacent elements in memory are adjacent along k.
  const bool few_along = thin_is_b ? product.transpose_b : !product.transpose_a;
  const bool along = thin_is_b ? !product.transpose_a : product.transpose_b;

  for (int i = 0; i < thin * strip; ++i) sums[i] = 0;
  for (long k0 = k_first; k0 < k_end; k0 += block) {
    const int depth = (int)min((long)block, k_end - k0);
    for (int i = 0; i < thin; ++i) {
      __global const T *from = few + (few_along ? i * few_pitch + k0 : k0 * few_pitch + i);
      const long step = few_along ? 1 : few_pitch;
      for (int p = 0; p < depth; ++p) thin_block[i * block + p] = (ACC)from[p * step];
    }
    if (along) {
      add_dots(many + first * pitch + k0, pitch, width, depth, thin_block, thin, block, sums,
               strip);
    } else {
      add_rows(many + k0 * pitch + first, pitch, width, depth, thin_block, thin, block, sums,
               strip);
    }
  }
  for (int i = 0; i < thin; ++i) {
    for (int j = 0; j < width; ++j) {
      const long row = thin_is_b ? first + j : i, column = thin_is_b ? i : first + j;
      const UT sum = (UT)sums[i * strip + j];
      const UT own = whole && product.has_bias ? (UT)bias[column] : (UT)0;
      out[row * n + column] = whole ? finished(sum, own, low, high) : (T)sum;
    }
  }
}
