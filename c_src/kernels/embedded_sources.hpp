// The OpenCL sources that the build put into this library.
//
// Every .cl and .h file below c_src/kernels is compiled in by cmake/embed_kernels.cmake,
// so that the library runs without its source tree.
#pragma once

#include "kernels/program_source.hpp"

namespace dala {

// Keyed by path relative to c_src/kernels, such as "elementwise/pointwise_cpu.cl".
const SourceFiles& embedded_sources();

}  // namespace dala
