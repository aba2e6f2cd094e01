// Windows over planes for the reference implementations: parameters are decoded independently, and
// output extents are counted window by window instead of by formula.
#pragma once

#include <array>
#include <string>

#include "support/subject.hpp"

namespace dala::test {

// A parameter that is an integer or a list of them, widened to {y, x} or {top, left, bottom,
// right}.
inline std::vector<int64_t> widened(const Params& params, const std::string& name, size_t count,
                                    int64_t fallback) {
  const auto found = params.find(name);
  std::vector<int64_t> given{fallback};
  if (found != params.end()) {
    if (const auto* integer = std::get_if<int64_t>(&found->second)) {
      given = {*integer};
    } else {
      given.clear();
      for (double number : std::get<std::vector<double>>(found->second)) {
        given.push_back(static_cast<int64_t>(number));
      }
    }
  }
  std::vector<int64_t> result;
  for (size_t i = 0; i < count; ++i) result.push_back(given[i % given.size()]);
  return result;
}

// Whether a call's planes are {n, h, w, c} instead of {n, c, h, w}.
inline bool channels_last(const Params& params) {
  const auto found = params.find("layout");
  return found != params.end() && found->second == ParamValue(std::string("nhwc"));
}

// {n, c, h, w} in the order of a call's layout, and back.
inline Shape laid_out(const Shape& nchw, bool last) {
  return last ? Shape{nchw[0], nchw[2], nchw[3], nchw[1]} : nchw;
}
inline Shape as_nchw(const Shape& shape, bool last) {
  return last ? Shape{shape[0], shape[3], shape[1], shape[2]} : shape;
}

// The index of an element, given the extents {n, c, h, w}.
inline size_t element_at(const Shape& nchw, bool last, int64_t n, int64_t c, int64_t y, int64_t x) {
  const int64_t index = last ? ((n * nchw[2] + y) * nchw[3] + x) * nchw[1] + c
                             : ((n * nchw[1] + c) * nchw[2] + y) * nchw[3] + x;
  return static_cast<size_t>(index);
}

// The same call on planes {n, h, w, c}; inputs of four dimensions are planes, except the weights.
inline Case with_channels_last(Case example) {
  example.params["layout"] = std::string("nhwc");
  for (size_t i = 0; i < example.inputs.size(); ++i) {
    Shape& shape = example.inputs[i].shape;
    if (shape.size() == 4 && i != 1) shape = laid_out(shape, true);
  }
  example.output.shape = laid_out(example.output.shape, true);
  return example;
}

// Applies the activation of the parameters `activation`, `slope`, `low` and `high`.
inline long double activated(const Params& params, long double x) {
  const auto found = params.find("activation");
  if (found == params.end()) return x;
  const std::string name = std::get<std::string>(found->second);
  const auto slope = params.find("slope");
  if (name == "relu") return std::max(x, 0.0L);
  if (name == "relu6") return std::clamp(x, 0.0L, 6.0L);
  if (name == "clamp") {
    return std::clamp<long double>(x, std::get<double>(params.at("low")),
                                   std::get<double>(params.at("high")));
  }
  if (name == "leaky_relu") {
    return x < 0 ? x * (slope == params.end() ? 0.01L : std::get<double>(slope->second)) : x;
  }
  if (name == "sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "silu") return x / (1 + std::exp(-x));
  if (name == "hardswish") return x * std::clamp(x + 3, 0.0L, 6.0L) / 6;
  return x;
}

// The number of windows of that span, from 0 on and `stride` apart, that fit.
inline int64_t places(int64_t padded, int64_t span, int64_t stride) {
  int64_t count = 0;
  for (int64_t start = 0; start + span <= padded; start += stride) ++count;
  return count;
}

}  // namespace dala::test
