// Images on the host: elements by row, column and channel, mirrored beyond the edges by stepping
// instead of by formula.
#pragma once

#include <string>
#include <vector>

#include "support/subject.hpp"

namespace dala::test {

struct Picture {
  int64_t height = 1;
  int64_t width = 1;
  int64_t channels = 1;

  explicit Picture(const Shape& shape)
      : height(shape.at(0)), width(shape.at(1)), channels(shape.size() == 3 ? shape.at(2) : 1) {}

  int64_t colours() const { return channels == 4 ? 3 : channels; }
  size_t index(int64_t y, int64_t x, int64_t c) const {
    return static_cast<size_t>((y * width + x) * channels + c);
  }
};

// The index after `place` steps from 0 that reverse at the first and the last of `count`.
inline int64_t walk(int64_t place, int64_t count) {
  if (place >= 0 && place < count) return place;
  if (count == 1) return 0;
  int64_t at = 0;
  int64_t step = 1;
  for (int64_t left = std::abs(place); left > 0; --left) {
    if (at + step < 0 || at + step >= count) step = -step;
    at += step;
  }
  return at;
}

inline long double level(const Tensor& picture, size_t index) {
  return picture.is_real() ? picture.reals[index]
                           : static_cast<long double>(picture.integers[index]);
}

// Stores a result in the element type; floats keep the precision in which they were computed.
inline void set_level(Tensor& picture, size_t index, long double value) {
  if (picture.is_real()) {
    picture.reals[index] = value;
    return;
  }
  const auto rounded = static_cast<int64_t>(std::floor(value + 0.5L));
  picture.integers[index] = std::clamp<int64_t>(rounded, 0, 255);
}

inline double number_of(const Params& params, const std::string& name, double fallback) {
  const auto found = params.find(name);
  if (found == params.end()) return fallback;
  if (const auto* integer = std::get_if<int64_t>(&found->second)) {
    return static_cast<double>(*integer);
  }
  return std::get<double>(found->second);
}

// Images of one pixel, of one row, of one column, of odd sizes, with all numbers of channels.
inline std::vector<Shape> picture_shapes() {
  std::vector<Shape> shapes{{1, 1},    {1, 1, 4},  {1, 9},    {11, 1},    {1, 7, 3}, {5, 1, 4},
                            {4, 6, 1}, {7, 13, 4}, {9, 5, 3}, {3, 40, 4}, {0, 5, 3}, {4, 0}};
  // Larger than a vector.
  if (!quick()) shapes.insert(shapes.end(), {{35, 50, 3}, {33, 150}});
  return shapes;
}

}  // namespace dala::test
