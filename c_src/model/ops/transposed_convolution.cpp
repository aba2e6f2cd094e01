// Transposed convolutions.
#include <algorithm>

#include "model/ops/convolution.hpp"
#include "model/ops/families.hpp"

namespace dala::model {
namespace {

void conv_transpose(OpCall& call) {
  const Tensor& x = call.in(0);
  const Tensor& weights = call.in(1);
  const int64_t groups = call.integer("group", 1);
  if (groups < 1 || x.rank() < 3 || weights.rank() != x.rank() || weights.dim(0) != x.dim(1) ||
      x.dim(1) % groups != 0) {
    throw Error(Reason::shape_mismatch,
                text("weights of shape ", to_string(weights.shape), " in ", groups,
                     " groups for an input of shape ", to_string(x.shape)));
  }
  need_moderate(x);
  need_moderate(weights);
  const auto rank = static_cast<size_t>(x.rank() - 2);
  const auto list = [&](const char* name, size_t size, int64_t fallback, int64_t least) {
    std::vector<int64_t> values = call.integers(name);
    if (values.empty()) values.assign(size, fallback);
    for (int64_t value : values) {
      if (value < least || value > (1 << 20)) values.clear();
    }
    if (values.size() != size) throw Error(Reason::invalid_model, text(name, " does not fit"));
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
      // What is larger than all windows reach ends in nothing but the bias.
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
    throw Error(Reason::shape_mismatch, text("a bias of shape ", to_string(call.in(2).shape),
                                             " for ", shape[1], " channels"));
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
