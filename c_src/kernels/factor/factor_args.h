// Arguments of the factorizations: a batch of matrices {rows, columns}, and the requested result.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

// Results, as the parameter `result` names them.
#define FACTOR_FIRST 0   // lu: both factors packed; qr: q; eigh, svd: values
#define FACTOR_SECOND 1  // lu: the permutation; qr: r; eigh: vectors; svd: u
#define FACTOR_THIRD 2   // eigh: values, then vectors; svd: v transposed

typedef struct FactorView {
  cl_long batch HOST_INIT(1);
  cl_long units HOST_INIT(1);  // matrices per work-group (CPU class)
  cl_int rows HOST_INIT(1);
  cl_int columns HOST_INIT(1);
  cl_int result HOST_INIT(FACTOR_FIRST);
  cl_int extent HOST_INIT(1);  // of the result: columns of q, rows of r, columns of u, rows of v
  cl_long work HOST_INIT(0);   // elements of scratch per matrix
} FactorView;
SHARED_STRUCT(FactorView, 40)

// Triangular systems a x = b: unknown i of system c is at i * step + c * across of b.
typedef struct SolveView {
  cl_long batch HOST_INIT(1);
  cl_long systems HOST_INIT(1);  // per matrix
  cl_long size HOST_INIT(1);     // unknowns
  cl_long step HOST_INIT(1);
  cl_long across HOST_INIT(1);
  cl_int upper HOST_INIT(0);  // which triangle is read, after transposition
  cl_int transposed HOST_INIT(0);
  cl_int unit HOST_INIT(0);   // the diagonal is taken as ones
  cl_int block HOST_INIT(1);  // systems per work-group (CPU class)
} SolveView;
SHARED_STRUCT(SolveView, 56)

SHARED_END
