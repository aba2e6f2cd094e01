// Matrix factorizations and solvers: cholesky, lu, qr, eigh, svd and triangular_solve.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors factor_kernels();

}  // namespace dala
