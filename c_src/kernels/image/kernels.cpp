#include "kernels/image/kernels.hpp"

#include <iterator>

namespace dala {

Descriptors image_kernels() {
  Descriptors all = spatial_kernels();
  Descriptors colour = colour_kernels();
  std::move(colour.begin(), colour.end(), std::back_inserter(all));
  Descriptors tones = tone_kernels();
  std::move(tones.begin(), tones.end(), std::back_inserter(all));
  all.push_back(preprocess_kernel());
  all.push_back(warp_kernel());
  return all;
}

}  // namespace dala
