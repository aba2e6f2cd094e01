#include "kernels/image/image.hpp"

#include <algorithm>

#include "kernels/checks.hpp"

namespace dala {
namespace {

constexpr int64_t kLongestRow = int64_t{1} << 30;  // elements, so that columns fit into 32 bits

bool valid_channels(int64_t channels) { return channels == 1 || channels == 3 || channels == 4; }

ParamSpec extent_param(const std::string& name, double max, const std::string& summary) {
  ParamSpec param;
  param.name = name;
  param.kind = ParamSpec::Kind::integer;
  param.min = 1;
  param.max = max;
  param.summary = summary;
  return param;
}

// A parameter that the shape determines, too, must agree with it.
void need_agreement(const Call& call, const std::string& name, int64_t extent,
                    const TensorType& type, const std::string& what) {
  if (!call.has(name) || call.integer(name) == extent) return;
  throw Error(Reason::shape_mismatch, text(what, " has shape ", to_string(type.shape),
                                           ", expected the ", name, " ", call.integer(name)));
}

Image flat_image(const Call& call, const TensorType& type, const std::string& what) {
  if (!call.has("width") || !call.has("height")) {
    throw Error(Reason::shape_mismatch,
                text(what, " has shape ", to_string(type.shape),
                     ", expected {h, w} or {h, w, c}, or the parameters width and height"));
  }
  Image image{call.integer("height"), call.integer("width"), 1};
  const int64_t count = type.count();
  const bool given = call.has("channels");
  image.channels = given ? call.integer("channels") : count / image.height / image.width;
  if (valid_channels(image.channels) && image.height * image.width <= count / image.channels &&
      element_count(image) == count) {
    return image;
  }
  throw Error(
      Reason::shape_mismatch,
      text(what, " has ", count, " elements, expected ", image.width, " x ", image.height,
           " pixels of ", given ? std::to_string(image.channels) : "1, 3 or 4", " channels"));
}

}  // namespace

std::vector<ParamSpec> image_params(std::vector<ParamSpec> own) {
  own.push_back(extent_param("width", 1 << 30, "of the image in a flat buffer, in pixels"));
  own.push_back(extent_param("height", 1 << 30, "of the image in a flat buffer, in pixels"));
  own.push_back(extent_param("channels", 4,
                             "of the image in a flat buffer; derived from its size when absent"));
  return own;
}

ParamSpec number_param(const std::string& name, double fallback, double min, double max,
                       const std::string& summary) {
  ParamSpec param;
  param.name = name;
  param.fallback = fallback;
  param.min = min;
  param.max = max;
  param.summary = summary;
  return param;
}

Image image_of(const Call& call, const TensorType& type, const std::string& what) {
  const Shape& shape = type.shape;
  Image image;
  if (shape.size() == 1) {
    image = flat_image(call, type, what);
  } else {
    if (shape.size() == 2) image = {shape[0], shape[1], 1};
    if (shape.size() == 3) image = {shape[0], shape[1], shape[2]};
    if (shape.size() < 2 || shape.size() > 3 || !valid_channels(image.channels)) {
      throw Error(Reason::shape_mismatch,
                  text(what, " has shape ", to_string(shape),
                       ", expected {h, w}, or {h, w, c} with 1, 3 or 4 channels"));
    }
    need_agreement(call, "width", image.width, type, what);
    need_agreement(call, "height", image.height, type, what);
    need_agreement(call, "channels", image.channels, type, what);
  }
  if (std::max(image.height, row_elements(image)) > kLongestRow) {
    throw Error(Reason::shape_mismatch,
                text(what, " has shape ", to_string(shape),
                     ", expected rows and columns of at most ", kLongestRow, " elements"));
  }
  return image;
}

Image input_image(const Call& call, const std::string& kernel) {
  return image_of(call, call.inputs.at(0), text("input 0 of ", kernel));
}

Image shaped_image(const TensorType& type, const std::string& what) {
  if (type.shape.size() == 1) {
    throw Error(Reason::shape_mismatch,
                text(what, " has shape ", to_string(type.shape), ", expected {h, w} or {h, w, c}"));
  }
  return image_of({}, type, what);
}

void check_same_image(const std::string& kernel, const Call& call) {
  need_output_dtype(kernel, call, {call.inputs.at(0).dtype});
  need_output_shape(kernel, call, {call.inputs.at(0).shape});
  input_image(call, kernel);
}

}  // namespace dala
