// Transposed convolutions. Outputs whose coordinates have the same remainder modulo the stride (the
// same phase) use the same weights, so with constant weights each phase is a plain convolution.
#include <algorithm>
#include <array>

#include "model/build/views.hpp"
#include "model/ops/families.hpp"
#include "model/ops/nn/convolution.hpp"

namespace dala::model {
namespace {

// The kernel size of a phase along each spatial dimension.
std::array<int64_t, 2> taps_of(const WindowAttributes& attributes) {
  std::array<int64_t, 2> taps{};
  for (size_t d = 0; d < 2; ++d) {
    taps[d] = (attributes.size[d] + attributes.stride[d] - 1) / attributes.stride[d];
  }
  return taps;
}

// Whether the phase decomposition applies: 2-D, floats, constant weights, neither dilation nor
// groups, and no outputs beyond all windows.
bool has_phases(const Tensor& x, const Tensor& weights, int64_t groups,
                const WindowAttributes& attributes) {
  if (x.rank() != 4 || !is_float(x.type) || computed_as(x.type) != ElementType::f32 ||
      x.count() == 0 || weights.known == nullptr || weights.count() == 0 || groups != 1) {
    return false;
  }
  const auto taps = taps_of(attributes);
  for (size_t d = 0; d < 2; ++d) {
    const int64_t all = (x.shape[d + 2] + taps[d] - 1) * attributes.stride[d];
    if (attributes.dilation[d] != 1 || attributes.before[d] < 0 || attributes.out[d] < 1 ||
        attributes.before[d] + attributes.out[d] > all || attributes.stride[d] > 64 ||
        taps[d] > 65536) {
      return false;
    }
  }
  return true;
}

// Rearranges {ci, co, kh, kw} to {phases * co, ci, taps, taps}, flipped spatially for a
// convolution.
Tensor weights_of_phases(Build& build, const HostTensor& weights,
                         const WindowAttributes& attributes) {
  const int64_t in = weights.shape[0];
  const int64_t out = weights.shape[1];
  const auto taps = taps_of(attributes);
  const int64_t phases = attributes.stride[0] * attributes.stride[1];
  auto result =
      std::make_shared<HostTensor>(weights.type, Shape{phases * out, in, taps[0], taps[1]});
  float* to = result->data<float>();
  for (int64_t phase = 0; phase < phases; ++phase) {
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t i = 0; i < in; ++i) {
        for (int64_t y = taps[0]; y-- > 0;) {
          for (int64_t x = taps[1]; x-- > 0; ++to) {
            const int64_t ky = phase / attributes.stride[1] + y * attributes.stride[0];
            const int64_t kx = phase % attributes.stride[1] + x * attributes.stride[1];
            if (ky >= attributes.size[0] || kx >= attributes.size[1]) continue;
            *to = weights.data<
                float>()[((i * out + o) * attributes.size[0] + ky) * attributes.size[1] + kx];
          }
        }
      }
    }
  }
  return build.constant(std::move(result));
}

// Computes all phases with one convolution, then interleaves them.
Tensor by_phases(OpCall& call, const Tensor& x, const Tensor& weights,
                 const WindowAttributes& attributes) {
  Build& build = call.build;
  const auto taps = taps_of(attributes);
  const int64_t down = attributes.stride[0];
  const int64_t across = attributes.stride[1];
  const int64_t channels = weights.dim(1);
  const Tensor pixels = as_pixels(build, x);
  const int64_t height = pixels.dim(1) + taps[0] - 1;
  const int64_t width = pixels.dim(2) + taps[1] - 1;
  std::vector<Tensor> inputs{pixels,
                             build.packed(weights_of_phases(build, *weights.known, attributes), 1)};
  if (call.has(2)) {
    const Tensor row = Build::reshaped(call.in(2), {1, channels});
    inputs.push_back(
        Build::reshaped(expand(build, row, {down * across, channels}), {down * across * channels}));
  }
  const Tensor apart = build.kernel(
      "conv2d", inputs, x.type, {x.dim(0), height, width, down * across * channels},
      {{"pad",
        std::vector<double>{static_cast<double>(taps[0] - 1), static_cast<double>(taps[1] - 1)}},
       {"layout", std::string("nhwc")},
       {"packed", true}});
  const Tensor together =
      moved(build, Build::reshaped(apart, {x.dim(0), height, width, down, across, channels}),
            {0, 1, 3, 2, 4, 5});
  const Tensor cut =
      slice(build, Build::reshaped(together, {x.dim(0), height * down, width * across, channels}),
            {0, attributes.before[0], attributes.before[1], 0}, {1, 1, 1, 1},
            {x.dim(0), attributes.out[0], attributes.out[1], channels});
  return viewed(cut, channels_last_order(4));
}

void conv_transpose(OpCall& call) {
  const Tensor& x = call.in(0);
  const Tensor& weights = call.in(1);
  const int64_t groups = call.integer("group", 1);
  if (groups < 1 || x.rank() < 3 || weights.rank() != x.rank() || weights.dim(0) != x.dim(1) ||
      x.dim(1) % groups != 0) {
    throw Error(Reason::shape_mismatch,
                text("weights of shape ", to_string(weights.shape), " in ", groups,
                     " groups do not fit an input of shape ", to_string(x.shape)));
  }
  need_moderate(x);
  need_moderate(weights);
  const auto rank = static_cast<size_t>(x.rank() - 2);
  const auto list = [&](const char* name, size_t size, int64_t fallback, int64_t min) {
    std::vector<int64_t> values = call.integers(name);
    if (values.empty()) values.assign(size, fallback);
    for (int64_t value : values) {
      if (value >= min && value <= (1 << 20)) continue;
      reject(text(name, " has the value ", value, ", expected ", min, " to ", 1 << 20));
    }
    if (values.size() != size) {
      reject(text(name, " has ", values.size(), " values, expected ", size));
    }
    return values;
  };
  WindowAttributes attributes;
  attributes.size.assign(weights.shape.begin() + 2, weights.shape.end());
  attributes.stride = list("strides", rank, 1, 1);
  attributes.dilation = list("dilations", rank, 1, 1);
  const std::vector<int64_t> extra = list("output_padding", rank, 0, 0);
  const std::vector<int64_t> pads = list("pads", 2 * rank, 0, 0);
  const std::vector<int64_t> wanted = call.integers("output_shape");
  const std::string automatic = call.text("auto_pad", "NOTSET");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  Shape shape{x.dim(0), weights.dim(1) * groups};
  for (size_t d = 0; d < rank; ++d) {
    const int64_t stride = attributes.stride[d];
    const int64_t span = (attributes.size[d] - 1) * attributes.dilation[d] + 1;
    const int64_t full = stride * (x.shape[d + 2] - 1) + extra[d] + span;
    int64_t before = pads[d];
    int64_t after = pads[d + rank];
    if (same || wanted.size() >= rank) {
      const int64_t out =
          wanted.size() < rank ? x.shape[d + 2] * stride : wanted[wanted.size() - rank + d];
      // Outputs beyond the reach of all windows hold only the bias.
      const int64_t total = std::max<int64_t>(0, full - out);
      before = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      after = full - out - before;
    }
    attributes.before.push_back(before);
    attributes.after.push_back(after);
    attributes.out.push_back(full - before - after);
    shape.push_back(full - before - after);
  }
  if (call.has(2) && call.in(2).shape != Shape{shape[1]}) {
    throw Error(Reason::shape_mismatch, text("bias has shape ", to_string(call.in(2).shape),
                                             ", expected ", to_string(Shape{shape[1]})));
  }
  if (has_phases(x, weights, groups, attributes)) {
    call.set(0, by_phases(call, x, weights, attributes));
    return;
  }
  if (rank == 1) {
    // A sequence is a picture of one row.
    const auto with_row = [](const Tensor& tensor) {
      return Build::reshaped(tensor, {tensor.dim(0), tensor.dim(1), 1, tensor.dim(2)});
    };
    WindowAttributes row = attributes;
    for (auto* values : {&row.size, &row.stride, &row.dilation, &row.out}) {
      values->insert(values->begin(), 1);
    }
    for (auto* values : {&row.before, &row.after}) values->insert(values->begin(), 0);
    const Tensor wide = with_row(x);
    if (has_phases(wide, weights, groups, row)) {
      call.set(0, Build::reshaped(by_phases(call, wide, with_row(weights), row), shape));
      return;
    }
  }
  Tensor output = call.build.fresh(x.type, shape);
  Windows view = windows_of(x, attributes);
  view.groups = groups;
  view.in_channels = x.dim(1) / groups;
  view.out_channels = weights.dim(1);
  view.flag = call.has(2) ? 1 : 0;
  view.count = output.count();
  call.build.run(
      math_family(x.type), "convolve_transposed", {x, weights, call.has(2) ? call.in(2) : weights},
      output, {}, view,
      2.0 * static_cast<double>(view.in_channels * extent(weights.shape, 2, weights.rank())));
  call.set(0, output);
}

}  // namespace

Operators transposed_convolution_operators() {
  return {
      {"ConvTranspose", conv_transpose},
  };
}

}  // namespace dala::model
