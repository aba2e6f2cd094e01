// Fourier transforms: fft, ifft, rfft and irfft.
#pragma once

#include "kernels/registry.hpp"

namespace dala {

Descriptors fft_kernels();

}  // namespace dala
