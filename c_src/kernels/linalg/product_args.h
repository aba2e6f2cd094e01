// A matrix product: out {batch, m, n} = a {batch, m, k} * b {batch, k, n}.
#pragma once

#include "kernels/common/shared.h"

#define MAX_BATCH_RANK 8

SHARED_BEGIN

typedef struct Product {
  cl_long m HOST_INIT(0);
  cl_long n HOST_INIT(0);
  cl_long k HOST_INIT(0);
  cl_long a_pitch HOST_INIT(0);  // elements from one stored row to the next
  cl_long b_pitch HOST_INIT(0);
  cl_long transpose_a HOST_INIT(0);  // stored as {k, m}
  cl_long transpose_b HOST_INIT(0);  // stored as {n, k}
  cl_long has_bias HOST_INIT(0);
  cl_long batch HOST_INIT(1);  // number of products; its dimensions are listed innermost first
  cl_long batch_rank HOST_INIT(0);
  SHARED_ARRAY(cl_long, batch_dims, MAX_BATCH_RANK);
  SHARED_ARRAY(cl_long, a_steps, MAX_BATCH_RANK);  // strides in elements; 0 where repeated
  SHARED_ARRAY(cl_long, b_steps, MAX_BATCH_RANK);
  // How the CPU family divides the work, see matmul_cpu.cl and matmul_thin_cpu.cl.
  cl_long strip_rows HOST_INIT(0);
  cl_long strip_columns HOST_INIT(0);
  cl_long block HOST_INIT(0);
  cl_long block_rows HOST_INIT(0);
  cl_long split HOST_INIT(0);  // the part of k per work-group; k if sums are not split
  cl_long thin HOST_INIT(0);
  cl_long thin_is_b HOST_INIT(0);
} Product;
SHARED_STRUCT(Product, 8 * (17 + 3 * MAX_BATCH_RANK))

SHARED_END
