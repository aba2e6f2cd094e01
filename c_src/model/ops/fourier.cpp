// Fourier transforms, as products with the matrix of the transform: the lengths of models are those
// of frames of sound, a few hundred to a few thousand.
#include <cmath>
#include <numbers>

#include "model/ops/families.hpp"

namespace dala::model {
namespace {

constexpr int64_t kMostPoints = 8192;

int64_t one_integer(OpCall& call, size_t index, const char* what) {
  const std::vector<int64_t> values = call.build.integers(call.in(index));
  if (values.size() == 1) return values[0];
  throw Error(Reason::shape_mismatch,
              text(what, " has shape ", to_string(call.in(index).shape), ", expected one number"));
}

struct Transform {
  int64_t points = 0;
  int64_t bins = 0;  // of the result
  bool inverse = false;
};

// {points, 2 * bins}: what the real or the imaginary part of each point adds to each bin, whose
// real and imaginary parts are adjacent.
Tensor matrix_of(Build& build, ElementType type, const Transform& transform, bool imaginary) {
  auto matrix = std::make_shared<HostTensor>(type, Shape{transform.points, 2 * transform.bins});
  const double scale = transform.inverse ? 1.0 / static_cast<double>(transform.points) : 1;
  const double sign = transform.inverse ? 1 : -1;
  for (int64_t n = 0; n < transform.points; ++n) {
    for (int64_t k = 0; k < transform.bins; ++k) {
      const double angle = sign * 2 * std::numbers::pi *
                           static_cast<double>(n * k % transform.points) /
                           static_cast<double>(transform.points);
      const double real = scale * std::cos(angle);
      const double turned = scale * std::sin(angle);
      const int64_t at = 2 * (n * transform.bins + k);
      matrix->set(at, imaginary ? -turned : real);
      matrix->set(at + 1, imaginary ? real : turned);
    }
  }
  return build.constant(std::move(matrix));
}

// The transform along the axis before the last, which holds real or complex numbers: from
// {.., points, 1 or 2} to {.., bins, 2}.
Tensor transformed(Build& build, const Tensor& x, const Transform& transform) {
  const int64_t last = x.rank() - 1;
  if (last < 1 || x.dim(last) < 1 || x.dim(last) > 2) {
    throw Error(Reason::shape_mismatch, text("an input of shape ", to_string(x.shape),
                                             ", expected 1 or 2 numbers in the last dimension"));
  }
  if (transform.points < 1 || transform.points > kMostPoints) {
    unsupported(text("a transform of ", transform.points, " points, expected 1 to ", kMostPoints));
  }
  const Shape rows(x.shape.begin(), x.shape.end() - 1);
  Tensor sum;
  for (int64_t part_of = 0; part_of < x.dim(last); ++part_of) {
    const Tensor numbers = Build::reshaped(part(build, x, last, part_of, 1), rows);
    const Tensor product =
        matmul(build, numbers, matrix_of(build, x.type, transform, part_of == 1));
    sum = part_of == 0 ? product : pointwise(build, OP_ADD, {sum, product});
  }
  Shape shape = rows;
  shape.back() = transform.bins;
  shape.push_back(2);
  return Build::reshaped(sum, shape);
}

// x with as many points along the axis before the last: the rest is dropped, or zeros are added.
Tensor with_points(Build& build, const Tensor& x, int64_t points) {
  const int64_t axis = x.rank() - 2;
  const int64_t size = x.dim(axis);
  if (size == points) return x;
  if (size > points) return part(build, x, axis, 0, points);
  Shape shape = x.shape;
  shape[static_cast<size_t>(axis)] = points - size;
  return concat(build, {x, filled(build, x.type, shape, 0)}, axis);
}

void dft(OpCall& call) {
  Build& build = call.build;
  const Tensor& x = call.in(0);
  const bool axis_is_input = call.opset >= 20;
  int64_t axis = axis_is_input ? -2 : call.integer("axis", 1);
  if (axis_is_input && call.has(2)) axis = one_integer(call, 2, "the axis");
  axis = normal_axis(axis, x.rank());
  if (axis == x.rank() - 1) unsupported("a transform along the last axis");
  // The axis is moved before the last one, and back.
  std::vector<int64_t> order;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (d != axis && d != x.rank() - 1) order.push_back(d);
  }
  order.push_back(axis);
  order.push_back(x.rank() - 1);
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  Transform transform;
  transform.points = call.has(1) ? one_integer(call, 1, "the length") : x.dim(axis);
  transform.inverse = call.integer("inverse", 0) != 0;
  const bool one_sided = call.integer("onesided", 0) != 0;
  if (one_sided && transform.inverse) unsupported("a transform that is inverse and one-sided");
  transform.bins = one_sided ? transform.points / 2 + 1 : transform.points;
  const Tensor points = with_points(build, moved(build, x, order), transform.points);
  call.set(0, moved(build, transformed(build, points, transform), back));
}

// Frames of the signal at every step, times the window.
void stft(OpCall& call) {
  Build& build = call.build;
  Tensor signal = call.in(0);
  if (signal.rank() == 2) signal = Build::reshaped(signal, {signal.dim(0), signal.dim(1), 1});
  if (signal.rank() != 3) {
    throw Error(Reason::shape_mismatch, text("a signal of shape ", to_string(call.in(0).shape),
                                             ", expected {batch, length, 1 or 2}"));
  }
  const int64_t step = one_integer(call, 1, "the step");
  const int64_t length = call.has(3)   ? one_integer(call, 3, "the length of a frame")
                         : call.has(2) ? call.in(2).count()
                                       : 0;
  if (step < 1 || length < 1 || length > signal.dim(1)) {
    throw Error(Reason::invalid_param, text("frames of ", length, " at a step of ", step,
                                            " of a signal of ", signal.dim(1)));
  }
  const int64_t frames = (signal.dim(1) - length) / step + 1;
  auto indices = std::make_shared<HostTensor>(ElementType::i64, Shape{frames, length});
  for (int64_t i = 0; i < frames * length; ++i) {
    indices->data<int64_t>()[i] = i / length * step + i % length;
  }
  Tensor framed = gather(build, signal, 1, build.constant(std::move(indices)));
  if (call.has(2)) {
    framed = pointwise(build, OP_MUL, {framed, Build::reshaped(call.in(2), {length, 1})});
  }
  const bool one_sided = call.integer("onesided", 1) != 0;
  call.set(0, transformed(build, framed, {length, one_sided ? length / 2 + 1 : length, false}));
}

}  // namespace

Operators fourier_operators() {
  return {
      {"DFT", dft},
      {"STFT", stft},
  };
}

}  // namespace dala::model
