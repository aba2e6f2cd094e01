// Experimental operators of the first operator sets, which older converters from Core ML and Caffe
// wrote: Affine, Crop and ImageScaler.
#include "model/ops/families.hpp"

namespace dala::model {
namespace {

void need_planes(const char* op, const Tensor& x) {
  if (x.rank() == 4) return;
  throw Error(Reason::shape_mismatch,
              text(op, " got shape ", to_string(x.shape), ", expected pictures {n, c, h, w}"));
}

void affine(OpCall& call) {
  call.set(0, pointwise(call.build, OP_AFFINE, {call.in(0)}, call.real("alpha", 1),
                        call.real("beta", 0)));
}

// `border` is left, top, right, bottom; `scale` is a height and a width that replace the latter
// two.
void crop(OpCall& call) {
  const Tensor& x = call.in(0);
  need_planes("Crop", x);
  const std::vector<int64_t> border = call.integers("border");
  const std::vector<int64_t> scale = call.integers("scale");
  if (border.size() != 4 || (!scale.empty() && scale.size() != 2)) {
    reject(text("Crop has a border of ", border.size(), " numbers and a scale of ", scale.size(),
                ", expected 4, and 2 or none"));
  }
  const int64_t height = scale.empty() ? x.dim(2) - border[1] - border[3] : scale[0];
  const int64_t width = scale.empty() ? x.dim(3) - border[0] - border[2] : scale[1];
  const auto fits = [](int64_t from, int64_t size, int64_t all) {
    return from >= 0 && size >= 1 && from <= all && size <= all - from;
  };
  if (!fits(border[1], height, x.dim(2)) || !fits(border[0], width, x.dim(3))) {
    throw Error(Reason::shape_mismatch,
                text("Crop takes ", height, " rows from ", border[1], " on and ", width,
                     " columns from ", border[0], " on, of shape ", to_string(x.shape)));
  }
  const Tensor rows = part(call.build, x, 2, border[1], height);
  call.set(0, part(call.build, rows, 3, border[0], width));
}

// scale * x + bias, with a bias per channel.
void image_scaler(OpCall& call) {
  Build& build = call.build;
  const Tensor& x = call.in(0);
  need_planes("ImageScaler", x);
  const std::vector<double> bias = call.reals("bias");
  const Tensor scaled = pointwise(build, OP_AFFINE, {x}, call.real("scale", 1), 0);
  if (bias.empty()) {
    call.set(0, scaled);
    return;
  }
  if (static_cast<int64_t>(bias.size()) != x.dim(1)) {
    throw Error(Reason::shape_mismatch, text("ImageScaler has a bias of ", bias.size(),
                                             " numbers for ", x.dim(1), " channels"));
  }
  auto shift = std::make_shared<HostTensor>(x.type, Shape{1, x.dim(1), 1, 1});
  for (size_t i = 0; i < bias.size(); ++i) shift->set(static_cast<int64_t>(i), bias[i]);
  call.set(0, pointwise(build, OP_ADD, {scaled, build.constant(std::move(shift))}));
}

}  // namespace

Operators experimental_operators() {
  return {
      {"Affine", affine},
      {"Crop", crop},
      {"ImageScaler", image_scaler},
  };
}

}  // namespace dala::model
