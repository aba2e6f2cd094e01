// Convolution, pooling and interpolation of {n, c, h, w}.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "model/networks/reference.hpp"

namespace dala::test {
namespace {

// Windows along one axis.
struct Side {
  int64_t input, size, stride, dilation, before, output;
};

Side side_of(const NetNode& node, const Array& x, int64_t size, size_t axis) {
  Side side{};
  side.input = x.dim(2 + axis);
  side.size = size;
  side.stride = attribute_or<Ints>(node, "strides", {1, 1})[axis];
  side.dilation = attribute_or<Ints>(node, "dilations", {1, 1})[axis];
  const int64_t extent = (size - 1) * side.dilation + 1;
  if (attribute_or<std::string>(node, "auto_pad", "NOTSET") == "SAME_UPPER") {
    side.output = (side.input + side.stride - 1) / side.stride;
    side.before = std::max<int64_t>(0, (side.output - 1) * side.stride + extent - side.input) / 2;
  } else {
    const Ints pads = attribute_or<Ints>(node, "pads", {0, 0, 0, 0});
    side.before = pads[axis];
    side.output = (side.input + pads[axis] + pads[axis + 2] - extent) / side.stride + 1;
  }
  return side;
}

// Adds a plane times one weight of a window to a plane of sums.
void add_tap(const double* x, double weight, const Side& rows, const Side& columns, int64_t i,
             int64_t j, double* sums) {
  for (int64_t row = 0; row < rows.output; ++row) {
    const int64_t from_row = row * rows.stride - rows.before + i * rows.dilation;
    if (from_row < 0 || from_row >= rows.input) continue;
    for (int64_t column = 0; column < columns.output; ++column) {
      const int64_t from = column * columns.stride - columns.before + j * columns.dilation;
      if (from < 0 || from >= columns.input) continue;
      sums[row * columns.output + column] += weight * x[from_row * columns.input + from];
    }
  }
}

std::vector<Array> conv(const NetNode& node, const ReferenceInputs& inputs) {
  const Array& x = *inputs[0];
  const Array& w = *inputs[1];
  const Side rows = side_of(node, x, w.dim(2), 0);
  const Side columns = side_of(node, x, w.dim(3), 1);
  const int64_t groups = attribute_or<int64_t>(node, "group", 1);
  const int64_t outputs = w.dim(0);
  const int64_t depth = w.dim(1);
  const int64_t plane = rows.output * columns.output;
  Array y({x.dim(0), outputs, rows.output, columns.output});
  for (int64_t n = 0; n < x.dim(0); ++n) {
    for (int64_t o = 0; o < outputs; ++o) {
      double* sums = y.data.data() + (n * outputs + o) * plane;
      if (inputs.size() > 2) {
        std::fill_n(sums, plane, inputs[2]->data[static_cast<size_t>(o)]);
      }
      for (int64_t c = 0; c < depth; ++c) {
        const int64_t channel = o / (outputs / groups) * depth + c;
        const double* from = x.data.data() + (n * x.dim(1) + channel) * rows.input * columns.input;
        const double* taps = w.data.data() + (o * depth + c) * rows.size * columns.size;
        for (int64_t i = 0; i < rows.size; ++i) {
          for (int64_t j = 0; j < columns.size; ++j) {
            add_tap(from, taps[i * columns.size + j], rows, columns, i, j, sums);
          }
        }
      }
    }
  }
  return {y};
}

std::vector<Array> max_pool(const NetNode& node, const ReferenceInputs& inputs) {
  const Array& x = *inputs[0];
  const Ints size = attribute_or<Ints>(node, "kernel_shape", {});
  const Side rows = side_of(node, x, size[0], 0);
  const Side columns = side_of(node, x, size[1], 1);
  Array y({x.dim(0), x.dim(1), rows.output, columns.output});
  auto result = y.data.begin();
  for (int64_t plane = 0; plane < x.dim(0) * x.dim(1); ++plane) {
    const double* from = x.data.data() + plane * rows.input * columns.input;
    for (int64_t row = 0; row < rows.output; ++row) {
      for (int64_t column = 0; column < columns.output; ++column) {
        double largest = -std::numeric_limits<double>::infinity();
        for (int64_t i = 0; i < rows.size; ++i) {
          for (int64_t j = 0; j < columns.size; ++j) {
            const int64_t r = row * rows.stride - rows.before + i;
            const int64_t c = column * columns.stride - columns.before + j;
            if (r < 0 || r >= rows.input || c < 0 || c >= columns.input) continue;
            largest = std::max(largest, from[r * columns.input + c]);
          }
        }
        *result++ = largest;
      }
    }
  }
  return {y};
}

std::vector<Array> global_average(const NetNode&, const ReferenceInputs& inputs) {
  const Array& x = *inputs[0];
  const int64_t pixels = x.dim(2) * x.dim(3);
  Array y({x.dim(0), x.dim(1), 1, 1});
  for (size_t i = 0; i < x.data.size(); ++i) {
    y.data[i / static_cast<size_t>(pixels)] += x.data[i] / static_cast<double>(pixels);
  }
  return {y};
}

// The source coordinate of element `i` when `from` elements are resized to `to`.
double source_of(const std::string& mode, int64_t i, int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  if (mode == "asymmetric") return static_cast<double>(i) * scale;
  if (mode == "pytorch_half_pixel" && to == 1) return 0;
  return (static_cast<double>(i) + 0.5) * scale - 0.5;
}

std::vector<Array> resize(const NetNode& node, const ReferenceInputs& inputs) {
  const Array& x = *inputs[0];
  const bool has_sizes = inputs.size() > 3;
  Ints shape = x.shape;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    shape[axis] =
        has_sizes ? static_cast<int64_t>(inputs[3]->data[axis])
                  : static_cast<int64_t>(static_cast<double>(shape[axis]) * inputs[2]->data[axis]);
  }
  const auto mode = attribute_or<std::string>(node, "coordinate_transformation_mode", "half_pixel");
  const bool linear = attribute_or<std::string>(node, "mode", "nearest") == "linear";
  Array y(shape);
  auto result = y.data.begin();
  for (int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    const double* from = x.data.data() + plane * x.dim(2) * x.dim(3);
    const auto at = [&](int64_t row, int64_t column) {
      return from[std::clamp<int64_t>(row, 0, x.dim(2) - 1) * x.dim(3) +
                  std::clamp<int64_t>(column, 0, x.dim(3) - 1)];
    };
    for (int64_t row = 0; row < shape[2]; ++row) {
      const double r = source_of(mode, row, x.dim(2), shape[2]);
      const auto top = static_cast<int64_t>(std::floor(r));
      for (int64_t column = 0; column < shape[3]; ++column) {
        const double c = source_of(mode, column, x.dim(3), shape[3]);
        const auto left = static_cast<int64_t>(std::floor(c));
        const double down = linear ? r - static_cast<double>(top) : 0;
        const double along = linear ? c - static_cast<double>(left) : 0;
        *result++ = (1 - down) * ((1 - along) * at(top, left) + along * at(top, left + 1)) +
                    down * ((1 - along) * at(top + 1, left) + along * at(top + 1, left + 1));
      }
    }
  }
  return {y};
}

}  // namespace

ReferenceOps reference_windows() {
  return {{"Conv", conv},
          {"MaxPool", max_pool},
          {"GlobalAveragePool", global_average},
          {"Resize", resize}};
}

}  // namespace dala::test
