// The definition of an image, and the common part of image kernels: the parameters with the extents
// of a flat buffer, and the check that the output has the type and shape of the input.
#pragma once

#include <string>
#include <vector>

#include "kernels/checks.hpp"
#include "kernels/descriptor.hpp"
#include "kernels/image/image_args.h"
#include "kernels/planner.hpp"

namespace dala {

// u8 levels are 0 to 255; floats are 0 to 1, and values outside are neither clamped nor refused.
inline const std::vector<DType> kImageDTypes{DType::u8, DType::f32};

// Elements of a row and of the whole image; its channels without alpha.
inline int64_t row_elements(const Image& image) { return image.width * image.channels; }
inline int64_t element_count(const Image& image) { return image.height * row_elements(image); }
inline int64_t colours_of(const Image& image) { return image.channels == 4 ? 3 : image.channels; }

// The parameters of a kernel, with width, height and channels added, which flat buffers need.
std::vector<ParamSpec> image_params(std::vector<ParamSpec> own);

// A number with a default and a range.
ParamSpec number_param(const std::string& name, double fallback, double min, double max,
                       const std::string& summary);

// The image in a buffer of the call: {h, w}, {h, w, c}, or flat with the size in the parameters.
// `what` names it in errors, such as "input 0 of blur".
Image image_of(const Call& call, const TensorType& type, const std::string& what);
// The same for input 0.
Image input_image(const Call& call, const std::string& kernel);

// The image in a buffer that must not be flat: {h, w} or {h, w, c}.
Image shaped_image(const TensorType& type, const std::string& what);

// Checks that input 0 is an image and that the output has its type and shape.
void check_same_image(const std::string& kernel, const Call& call);

}  // namespace dala
