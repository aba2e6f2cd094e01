// CLBlast, opened at run time when a device is served by it. Machines without it lose nothing but
// that choice.
#pragma once

#include <string>

#include "kernels/linalg/product.hpp"
#include "runtime/launch.hpp"
#include "runtime/tensor_type.hpp"

namespace dala {

// Opens the library once. The empty string, or the reason why it cannot be used.
const std::string& load_clblast();

// The product of inputs 0 and 1 into the output, f32 or f64, without bias and activation. Only
// after `load_clblast()` returned the empty string.
CallStep clblast_gemm(const Product& product, DType dtype);

}  // namespace dala
