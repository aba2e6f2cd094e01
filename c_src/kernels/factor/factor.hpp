// Factorizations of matrices and what is solved with them: cholesky, lu, qr, eigh, svd and
// triangular_solve.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors factor_kernels();

}  // namespace dala
