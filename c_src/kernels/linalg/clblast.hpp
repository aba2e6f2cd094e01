// CLBlast, loaded at run time. If it is missing, only the choice "clblast" is.
#pragma once

#include <string>

#include "kernels/linalg/product.hpp"
#include "runtime/memory/tensor_type.hpp"
#include "runtime/schedule/launch.hpp"

namespace dala {

// Loads the library once. Returns the empty string, or the reason why it cannot be used.
const std::string& load_clblast();

// The product of inputs 0 and 1 into the output, f32 or f64, without bias and activation.
// Precondition: `load_clblast()` returned the empty string.
CallStep clblast_gemm(const Product& product, DType dtype);

}  // namespace dala
