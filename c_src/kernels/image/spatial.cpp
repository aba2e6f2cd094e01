#include "kernels/element.hpp"
#include "kernels/image/gaussian.hpp"
#include "kernels/image/kernels.hpp"

namespace dala {

std::shared_ptr<Program> spatial_program(Planner& planner, DType dtype) {
  return planner.program(text("spatial ", to_string(dtype)), [&] {
    return std::vector<Part>{{"image/image.cl", {}, lines(element_defines(dtype))},
                             {"image/gauss.cl"},
                             {"image/gaussian_gpu.cl"}};
  });
}

Descriptors spatial_kernels() { return {blur_kernel()}; }

}  // namespace dala
