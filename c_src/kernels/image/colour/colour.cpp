#include "kernels/image/colour/colour.hpp"

#include <iterator>

#include "kernels/image/kernels.hpp"

namespace dala {

Descriptors colour_kernels() {
  Descriptors all{lut_kernel(), gradient_kernel(), matte_kernel()};
  for (auto kind : {pixel_filter_kernels, yuv_kernels, geometry_kernels, composite_kernels}) {
    Descriptors kernels = kind();
    std::move(kernels.begin(), kernels.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace dala
