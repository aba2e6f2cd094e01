// Complex numbers are pairs: a tensor of them has a last axis of 2, real and imaginary part.
#include "kernels/fft/fft.hpp"

#include <algorithm>
#include <optional>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/fft/fft_args.h"
#include "kernels/fft/fft_plan.hpp"
#include "kernels/reduce/axis.hpp"

namespace dala {
namespace {

const std::vector<DType> kFloats{DType::f32, DType::f64};

// The shape of a tensor of pairs without the pair.
Shape complex_shape(const Shape& shape) { return {shape.begin(), shape.end() - 1}; }

void need_pairs(const std::string& kernel, const std::string& what, const Shape& shape) {
  if (shape.size() >= 2 && shape.back() == 2) return;
  throw Error(Reason::shape_mismatch,
              text(what, " of ", kernel, " has shape ", to_string(shape),
                   ", expected at least two dimensions, the last of which is 2: real and "
                   "imaginary part"));
}

// The axes of `axes`, in the order of the transforms: the last one first, since its points are
// adjacent.
std::vector<size_t> axes_of(const std::string& kernel, const Call& call, const Shape& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  std::vector<size_t> axes;
  bool valid = true;
  for (int64_t axis : call.integers("axes")) {
    const int64_t at = axis < 0 ? axis + rank : axis;
    valid = valid && at >= 0 && at < rank;
    axes.push_back(static_cast<size_t>(at));
  }
  std::sort(axes.rbegin(), axes.rend());
  if (valid && std::adjacent_find(axes.begin(), axes.end()) == axes.end()) return axes;
  throw Error(Reason::invalid_param,
              text("axes of ", kernel, " must name different axes between ", -rank, " and ",
                   rank - 1, " for complex numbers of shape ", to_string(shape), ", got ",
                   to_string(call.params.at("axes"))));
}

void need_points(const std::string& kernel, const Call& call, const Shape& shape, size_t axis) {
  if (shape[axis] > 0) return;
  throw Error(Reason::shape_mismatch,
              text("input 0 of ", kernel, " has shape ", to_string(call.inputs[0].shape),
                   ", which is empty along axis ", axis));
}

FftArray array_along(const Shape& shape, size_t axis) {
  FftArray array;
  for (size_t d = 0; d < shape.size(); ++d) {
    (d < axis ? array.outer : d == axis ? array.length : array.inner) *= shape[d];
  }
  return array;
}

Launch plan_fft(const std::string& name, const Call& call, Planner& planner, bool inverse) {
  planner.need_arithmetic(name, call);
  Launch launch;
  launch.in_place = true;
  if (call.output.count() == 0) return launch;
  const Shape shape = complex_shape(call.inputs[0].shape);
  Operand from = input(0);
  for (size_t axis : axes_of(name, call, shape)) {
    const FftArray array = array_along(shape, axis);
    const double scale = inverse ? 1.0 / static_cast<double>(array.length) : 1.0;
    add_fft(launch, planner, call.output.dtype, array, from, output(), inverse, scale);
    launch.work += fft_operations(array) / 8 + 2.0 * static_cast<double>(call.output.bytes());
    from = output();
  }
  if (launch.steps.empty()) {
    launch.steps.push_back(CopyStep{from, output(), call.output.bytes()});
    launch.in_place = false;
  }
  return launch;
}

Descriptor complex_kernel(const std::string& name, const std::string& summary, bool inverse) {
  ParamSpec axes;
  axes.name = "axes";
  axes.kind = ParamSpec::Kind::integers;
  axes.fallback = int64_t{-1};
  axes.summary = "the axis, or a list of axes, of the complex numbers, whose pairs are no axis";
  Descriptor fft;
  fft.name = name;
  fft.summary = summary;
  fft.dtypes = kFloats;
  fft.output_rule = "the input's element type and shape, {..., 2}";
  fft.params = {axes};
  fft.check = [name](const Call& call) {
    need_pairs(name, "input 0", call.inputs[0].shape);
    axes_of(name, call, complex_shape(call.inputs[0].shape));
    need_output_dtype(name, call, {call.inputs[0].dtype});
    need_output_shape(name, call, {call.inputs[0].shape});
  };
  fft.plan = [name, inverse](const Call& call, Planner& planner) {
    return plan_fft(name, call, planner, inverse);
  };
  fft.sample = [](DType dtype) { return Call{{{dtype, {1, 2}}}, {dtype, {1, 2}}, {}}; };
  return fft;
}

FftReal real_view(const FftArray& array) {
  FftReal view;
  view.length = array.length;
  view.kept = array.length / 2 + 1;
  view.inner = array.inner;
  return view;
}

// Adds a step between real and complex numbers that writes `count` of them.
void add_step(Launch& launch, Planner& planner, DType dtype, const std::string& entry, Operand from,
              Operand to, FftReal view, int64_t count, std::optional<Operand> tables = {}) {
  view.count = count;
  Range range;
  if (planner.cpu_class()) {
    view.chunk = std::max<int64_t>(1024, ceil_div(count, planner.busy_groups()));
    range.global[0] = static_cast<size_t>(ceil_div(count, view.chunk));
  } else {
    range = item_per_result(planner, count);
  }
  KernelStep step{fft_steps_program(planner, dtype), entry, {from, to}, range};
  if (tables) step.arguments.push_back(*tables);
  step.arguments.push_back(value(view));
  launch.steps.push_back(std::move(step));
}

// Whether pairs of real numbers can be viewed as complex ones.
bool packs(const FftArray& array) { return array.inner == 1 && array.length % 2 == 0; }

// The step between the transform of packed numbers and that of the real ones.
void add_packed_step(Launch& launch, Planner& planner, DType dtype, const std::string& entry,
                     Operand from, Operand to, FftReal view, int64_t count) {
  const RootTables roots = add_root_tables(launch, dtype, view.length);
  view.fine = roots.fine;
  view.coarse = roots.coarse;
  view.fine_bits = roots.fine_bits;
  add_step(launch, planner, dtype, entry, from, to, view, count, roots.memory);
}

size_t complex_bytes(DType dtype, const FftArray& array) {
  return static_cast<size_t>(2 * array.count()) * size_of(dtype);
}

Launch plan_rfft(const Call& call, Planner& planner) {
  planner.need_arithmetic("rfft", call);
  Launch launch;
  launch.in_place = true;
  if (call.output.count() == 0) return launch;
  const DType dtype = call.output.dtype;
  const FftArray array =
      array_along(call.inputs[0].shape, static_cast<size_t>(call.integer("axis")));
  const FftReal view = real_view(array);
  const int64_t points = array.outer * view.kept * array.inner;
  if (packs(array)) {
    const FftArray packed{array.outer, array.length / 2, 1};
    const Operand work = add_scratch(launch, complex_bytes(dtype, packed));
    add_fft(launch, planner, dtype, packed, input(0), work, false, 1);
    add_packed_step(launch, planner, dtype, "packed_out", work, output(), view, points);
  } else {
    const Operand work = add_scratch(launch, complex_bytes(dtype, array));
    add_step(launch, planner, dtype, "real_in", input(0), work, view, array.count());
    add_fft(launch, planner, dtype, array, work, work, false, 1);
    add_step(launch, planner, dtype, "half_out", work, output(), view, points);
  }
  launch.work = fft_operations(array) / 8 + 4.0 * static_cast<double>(call.output.bytes());
  return launch;
}

Descriptor rfft_kernel() {
  Descriptor rfft;
  rfft.name = "rfft";
  rfft.summary =
      "The discrete Fourier transform of real numbers of any length n, of which the first n / 2 + "
      "1 "
      "points determine the others.";
  rfft.dtypes = kFloats;
  rfft.output_rule =
      "the input's element type and shape, with n / 2 + 1 in place of n, and {..., 2} behind it";
  rfft.params = {axis_param("the axis to transform along; the last when absent", -1)};
  rfft.check = [](const Call& call) {
    const Shape& shape = call.inputs[0].shape;
    if (shape.empty()) {
      throw Error(Reason::shape_mismatch,
                  "input 0 of rfft has shape {}, expected at least one dimension");
    }
    const auto axis = static_cast<size_t>(call.integer("axis"));
    need_points("rfft", call, shape, axis);
    Shape expected = shape;
    expected[axis] = shape[axis] / 2 + 1;
    expected.push_back(2);
    need_output_dtype("rfft", call, {call.inputs[0].dtype});
    need_output_shape("rfft", call, {expected});
  };
  rfft.plan = plan_rfft;
  rfft.sample = [](DType dtype) { return Call{{{dtype, {1}}}, {dtype, {1, 2}}, {}}; };
  return rfft;
}

Launch plan_irfft(const Call& call, Planner& planner) {
  planner.need_arithmetic("irfft", call);
  Launch launch;
  launch.in_place = true;
  if (call.output.count() == 0) return launch;
  const DType dtype = call.output.dtype;
  const size_t axis = axes_of("irfft", call, call.output.shape)[0];
  const FftArray array = array_along(call.output.shape, axis);
  const FftReal view = real_view(array);
  if (packs(array)) {
    const FftArray packed{array.outer, array.length / 2, 1};
    const Operand work = add_scratch(launch, complex_bytes(dtype, packed));
    add_packed_step(launch, planner, dtype, "packed_in", input(0), work, view, packed.count());
    add_fft(launch, planner, dtype, packed, work, output(), true,
            1.0 / static_cast<double>(packed.length));
  } else {
    const Operand work = add_scratch(launch, complex_bytes(dtype, array));
    add_step(launch, planner, dtype, "half_in", input(0), work, view, array.count());
    add_fft(launch, planner, dtype, array, work, work, true,
            1.0 / static_cast<double>(array.length));
    add_step(launch, planner, dtype, "real_out", work, output(), view, array.count());
  }
  launch.work = fft_operations(array) / 8 + 6.0 * static_cast<double>(call.output.bytes());
  return launch;
}

Descriptor irfft_kernel() {
  Descriptor irfft;
  irfft.name = "irfft";
  irfft.summary =
      "The real numbers whose Fourier transform begins with the n / 2 + 1 points of the input: the "
      "inverse of rfft. The imaginary parts of the first point, and of the last for even n, are "
      "taken as 0.";
  irfft.dtypes = kFloats;
  irfft.output_rule =
      "the input's element type and shape without {..., 2}, with n in place of n / 2 + 1";
  ParamSpec axes;
  axes.name = "axes";
  axes.kind = ParamSpec::Kind::integers;
  axes.fallback = int64_t{-1};
  axes.counts = {1};
  axes.summary = "the axis of the complex numbers, whose pairs are no axis";
  irfft.params = {axes};
  irfft.check = [](const Call& call) {
    need_pairs("irfft", "input 0", call.inputs[0].shape);
    const Shape half = complex_shape(call.inputs[0].shape);
    const size_t axis = axes_of("irfft", call, half)[0];
    need_points("irfft", call, half, axis);
    need_output_dtype("irfft", call, {call.inputs[0].dtype});
    Shape even = half;
    Shape odd = half;
    even[axis] = 2 * half[axis] - 2;
    odd[axis] = 2 * half[axis] - 1;
    if (half[axis] == 1) even = odd;
    need_output_shape("irfft", call,
                      even == odd ? std::vector<Shape>{odd} : std::vector<Shape>{even, odd});
  };
  irfft.plan = plan_irfft;
  irfft.sample = [](DType dtype) { return Call{{{dtype, {1, 2}}}, {dtype, {1}}, {}}; };
  return irfft;
}

}  // namespace

Descriptors fft_kernels() {
  return {
      complex_kernel(
          "fft",
          "The discrete Fourier transform along one axis or several: the sum of "
          "x_k e^(-2 pi i j k / n), n of any size. Complex numbers are pairs of real and "
          "imaginary part.",
          false),
      complex_kernel("ifft", "The inverse of fft: the sum of x_j e^(2 pi i j k / n) / n.", true),
      rfft_kernel(),
      irfft_kernel(),
  };
}

}  // namespace dala
