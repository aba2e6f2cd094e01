// Kernels that read and write elements by index.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors index_kernels();

// The members of the family: those that read, and those that write.
Descriptors gather_kernels();
Descriptors scatter_kernels();

// The rule that indices in tuples of `depth` numbers are integers for input 0. Throws
// `dtype_mismatch` or `shape_mismatch`.
void need_tuples(const std::string& kernel, const Call& call);

}  // namespace dala
