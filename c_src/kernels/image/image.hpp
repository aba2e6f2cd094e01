// What counts as a picture, and what image kernels have in common: the parameters that say how
// wide a flat buffer is, and the rule that the result is a picture of the same kind.
#pragma once

#include <string>
#include <vector>

#include "kernels/descriptor.hpp"
#include "kernels/planner.hpp"

namespace dala {

// Bytes are levels of 255; floats are 0 to 1, and what lies outside is neither cut nor refused.
inline const std::vector<DType> kImageDTypes{DType::u8, DType::f32};

// Rows of pixels whose 1, 3 or 4 channels are next to each other; the fourth is alpha. The same
// layout as the struct of that name in image.cl.
struct Image {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 1;

  int64_t row() const { return width * channels; }  // elements
  int64_t count() const { return height * row(); }
  int64_t colours() const { return channels == 4 ? 3 : channels; }  // channels without alpha
};

// A kernel's own parameters, and width, height and channels, which flat buffers need.
std::vector<ParamSpec> image_params(std::vector<ParamSpec> own);

// A number with a default and a range.
ParamSpec number_param(const std::string& name, double fallback, double min, double max,
                       const std::string& summary);

// One of several names, by default the first.
ParamSpec choice_param(const std::string& name, std::vector<std::string> choices,
                       const std::string& summary);

// The picture in a buffer of the call: {h, w}, {h, w, c}, or flat with the size in the parameters.
// `what` names it in errors, such as "input 0 of blur".
Image image_of(const Call& call, const TensorType& type, const std::string& what);
// The same for input 0.
Image input_image(const Call& call, const std::string& kernel);

// The picture in a buffer that has to have its shape: {h, w} or {h, w, c}.
Image shaped_image(const TensorType& type, const std::string& what);

// Input 0 is a picture and the output has its type and shape.
void check_same_image(const std::string& kernel, const Call& call);

}  // namespace dala
