// The OpenCL sources that the build put into this library.
//
// Every .cl file below c_src/kernels is compiled in by cmake/embed_kernels.cmake,
// so that the library runs without its source tree.
#pragma once

#include <map>
#include <string_view>

namespace dala {

// Keyed by path relative to c_src/kernels, such as "elementwise/pointwise_cpu.cl".
const std::map<std::string_view, std::string_view>& embedded_sources();

}  // namespace dala
