// Normalizations: by the mean and variance of parts of the input, or by stored statistics.
#include <cmath>

#include "model/ops/families.hpp"
#include "model/ops/nn/convolution.hpp"

namespace dala::model {
namespace {

// Reshapes {c} to {c, 1, ...}, so that it broadcasts along the channels.
Tensor per_channel(const Tensor& values, int64_t rank) {
  if (rank < 2) return values;
  Shape shape(static_cast<size_t>(rank - 1), 1);
  shape[0] = values.count();
  return Build::reshaped(values, shape);
}

std::vector<int64_t> axes_from(int64_t first, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t d = first; d < rank; ++d) axes.push_back(d);
  return axes;
}

// (x - mean) / sqrt(variance + epsilon) over the axes, with the intermediate results.
struct Normalized {
  Tensor result;
  Tensor mean;
  Tensor variance;
  Tensor inverse;
};
Normalized normalized(Build& build, const Tensor& x, const std::vector<int64_t>& axes,
                      double epsilon) {
  Normalized all;
  all.mean = reduce(build, REDUCE_MEAN, x, axes, true);
  const Tensor centered = pointwise(build, OP_SUB, {x, all.mean});
  all.variance = reduce(build, REDUCE_MEAN, pointwise(build, OP_SQUARE, {centered}), axes, true);
  const Tensor deviation =
      pointwise(build, OP_SQRT, {pointwise(build, OP_AFFINE, {all.variance}, 1, epsilon)});
  all.inverse = pointwise(build, OP_RECIPROCAL, {deviation});
  all.result = pointwise(build, OP_MUL, {centered, all.inverse});
  return all;
}

Tensor scaled(Build& build, Tensor x, const Tensor& factor, const Tensor* shift) {
  x = pointwise(build, OP_MUL, {x, factor});
  return shift == nullptr ? x : pointwise(build, OP_ADD, {x, *shift});
}

void batch_normalization(OpCall& call) {
  Build& build = call.build;
  const Tensor& x = call.in(0);
  const double epsilon = call.real("epsilon", 1e-5);
  const bool training = call.integer("training_mode", 0) != 0;
  const Activation& activation = call.node.epilogue.activation;
  if (call.opset < 14 && call.wants(1)) {
    unsupported("batch normalization in training mode before operator set 14 is not supported");
  }
  for (size_t i = 1; i < 5; ++i) {
    if (x.rank() < 2 || call.in(i).count() != x.dim(1)) {
      throw Error(Reason::shape_mismatch,
                  text("input ", i, " of shape ", to_string(call.in(i).shape),
                       " does not fit an input of shape ", to_string(x.shape)));
    }
  }
  const Tensor scale = per_channel(convert(build, call.in(1), x.type), x.rank());
  const Tensor shift = per_channel(convert(build, call.in(2), x.type), x.rank());
  Tensor mean = per_channel(convert(build, call.in(3), x.type), x.rank());
  Tensor variance = per_channel(convert(build, call.in(4), x.type), x.rank());
  if (training) {
    std::vector<int64_t> axes = axes_from(2, x.rank());
    axes.insert(axes.begin(), 0);
    const Normalized batch = normalized(build, x, axes, epsilon);
    const double momentum = call.real("momentum", 0.9);
    const auto running = [&](const Tensor& before, const Tensor& now) {
      const Tensor old_part = pointwise(build, OP_AFFINE, {before}, momentum, 0);
      const Tensor new_part = pointwise(build, OP_AFFINE, {now}, 1 - momentum, 0);
      const Tensor sum = pointwise(build, OP_ADD, {old_part, new_part});
      return Build::reshaped(sum, {x.dim(1)});
    };
    call.set(0, activated(build, scaled(build, batch.result, scale, &shift), activation));
    if (call.wants(1)) call.set(1, running(mean, batch.mean));
    if (call.wants(2)) call.set(2, running(variance, batch.variance));
    return;
  }
  // One factor and one shift per channel, folded while planning if they are constants.
  const Tensor deviation =
      pointwise(build, OP_SQRT, {pointwise(build, OP_AFFINE, {variance}, 1, epsilon)});
  const Tensor factor = pointwise(build, OP_DIV, {scale, deviation});
  const Tensor moved = pointwise(build, OP_SUB, {shift, pointwise(build, OP_MUL, {mean, factor})});
  if (const auto result = scaled_channels(build, x, factor, moved, activation)) {
    call.set(0, *result);
  } else {
    call.set(0, activated(build, scaled(build, x, factor, &moved), activation));
  }
}

void instance_normalization(OpCall& call) {
  const Tensor& x = call.in(0);
  const Normalized all =
      normalized(call.build, x, axes_from(2, x.rank()), call.real("epsilon", 1e-5));
  const Tensor shift = per_channel(call.in(2), x.rank());
  call.set(0, scaled(call.build, all.result, per_channel(call.in(1), x.rank()), &shift));
}

void group_normalization(OpCall& call) {
  Build& build = call.build;
  const Tensor& x = call.in(0);
  const int64_t groups = call.integer("num_groups", 0);
  if (x.rank() < 3 || groups < 1 || x.dim(1) % groups != 0) {
    throw Error(Reason::shape_mismatch,
                text(groups, " groups do not fit shape ", to_string(x.shape)));
  }
  const Tensor grouped =
      Build::reshaped(x, {x.dim(0), groups, extent(x.shape, 1, x.rank()) / groups});
  const Tensor result =
      Build::reshaped(normalized(build, grouped, {2}, call.real("epsilon", 1e-5)).result, x.shape);
  // Operator set 18 has one scale per group.
  const auto channels = [&](const Tensor& values) {
    if (values.count() == x.dim(1)) return per_channel(values, x.rank());
    const Tensor wide =
        expand(build, Build::reshaped(values, {groups, 1}), {groups, x.dim(1) / groups});
    return per_channel(wide, x.rank());
  };
  const Tensor shift = channels(call.in(2));
  call.set(0, scaled(build, result, channels(call.in(1)), &shift));
}

// Runs the kernel layer_norm over the axes from `axis` on; scale and shift have one value for each
// of their elements.
Tensor layer_normalized(Build& build, const Tensor& x, int64_t axis, const Tensor& scale,
                        const Tensor* shift, double epsilon) {
  const int64_t rows = extent(x.shape, 0, axis);
  const int64_t length = extent(x.shape, axis, x.rank());
  std::vector<Tensor> inputs{Build::reshaped(x, {rows, length}), Build::reshaped(scale, {length})};
  if (shift != nullptr) inputs.push_back(Build::reshaped(*shift, {length}));
  const Tensor result =
      build.kernel("layer_norm", inputs, x.type, {rows, length}, {{"epsilon", epsilon}});
  return Build::reshaped(result, x.shape);
}

void layer_normalization(OpCall& call) {
  Build& build = call.build;
  const Tensor& x = call.in(0);
  const int64_t axis = call.axis(-1, x.rank());
  const double epsilon = call.real("epsilon", 1e-5);
  const int64_t length = extent(x.shape, axis, x.rank());
  const bool shared =
      call.in(1).count() == length && (!call.has(2) || call.in(2).count() == length);
  if (shared && !call.wants(1) && !call.wants(2) && is_float(x.type)) {
    call.set(0, layer_normalized(build, x, axis, call.in(1), call.has(2) ? &call.in(2) : nullptr,
                                 epsilon));
    return;
  }
  const Normalized all = normalized(build, x, axes_from(axis, x.rank()), epsilon);
  call.set(0, scaled(build, all.result, call.in(1), call.has(2) ? &call.in(2) : nullptr));
  call.set(1, all.mean);
  call.set(2, all.inverse);
}

void mean_variance_normalization(OpCall& call) {
  const Tensor& x = call.in(0);
  std::vector<int64_t> axes = call.integers("axes");
  if (axes.empty()) axes = {0, 2, 3};
  call.set(0, normalized(call.build, x, normal_axes(axes, x.rank()), 1e-18).result);
}

void lp_normalization(OpCall& call) {
  const Tensor& x = call.in(0);
  const int64_t axis = call.axis(-1, x.rank());
  const Reducer norm = call.integer("p", 2) == 1 ? REDUCE_L1 : REDUCE_L2;
  const Tensor size = reduce(call.build, norm, x, {axis}, true);
  call.set(0, pointwise(call.build, OP_DIV, {x, size}));
}

// x / (bias + alpha * mean of squares of neighbouring channels)^beta. The mean is an average pool
// over channels that includes the padding in its count.
void local_response_normalization(OpCall& call) {
  Build& build = call.build;
  const Tensor& x = call.in(0);
  const int64_t size = call.integer("size", 1);
  if (x.rank() < 3 || size < 1 || size > (1 << 20)) {
    throw Error(Reason::shape_mismatch,
                text("size ", size, " does not fit an input of shape ", to_string(x.shape)));
  }
  const int64_t inner = extent(x.shape, 2, x.rank());
  const Tensor squares =
      Build::reshaped(pointwise(build, OP_SQUARE, {x}), {x.dim(0), 1, 1, x.dim(1), inner});
  Windows view{};
  view.planes = x.dim(0);
  for (int d = 0; d < MODEL_SPACE; ++d) {
    view.size[d] = view.stride[d] = view.dilation[d] = view.in[d] = view.out[d] = 1;
    view.padded[d] = 1;
  }
  view.in[1] = view.out[1] = x.dim(1);
  view.in[2] = view.out[2] = view.padded[2] = inner;
  view.size[1] = size;
  view.pad[1] = (size - 1) / 2;
  view.padded[1] = x.dim(1) + size - 1;
  view.flag = 1;
  Tensor means = build.fresh(x.type, squares.shape);
  view.count = means.count();
  build.run(math_family(x.type), "pool", {squares}, means,
            {value(static_cast<int32_t>(POOL_AVERAGE))}, view, 3.0 * static_cast<double>(size));
  const Tensor sum = pointwise(build, OP_AFFINE, {Build::reshaped(means, x.shape)},
                               call.real("alpha", 1e-4), call.real("bias", 1));
  const Tensor power =
      pointwise(build, OP_POW, {sum, scalar(build, x.type, call.real("beta", 0.75))});
  call.set(0, pointwise(build, OP_DIV, {x, power}));
}

// x / sqrt(mean(x^2) + epsilon) * scale, over the axes from `axis` on.
struct RmsNormalized {
  Tensor result;
  Tensor inverse;  // 1 / sqrt(mean of squares + epsilon)
};
RmsNormalized rms_normalized(Build& build, const Tensor& x, const Tensor& scale, int64_t axis,
                             double epsilon) {
  const Tensor mean =
      reduce(build, REDUCE_MEAN, pointwise(build, OP_SQUARE, {x}), axes_from(axis, x.rank()), true);
  const Tensor root = pointwise(build, OP_SQRT, {pointwise(build, OP_AFFINE, {mean}, 1, epsilon)});
  RmsNormalized normed;
  normed.inverse = pointwise(build, OP_RECIPROCAL, {root});
  normed.result = pointwise(build, OP_MUL, {pointwise(build, OP_MUL, {x, normed.inverse}), scale});
  return normed;
}

void rms_normalization(OpCall& call) {
  const Tensor& x = call.in(0);
  const RmsNormalized normed = rms_normalized(call.build, x, call.in(1), call.axis(-1, x.rank()),
                                              call.real("epsilon", 1e-5));
  call.set(0, normed.result);
  call.set(1, normed.inverse);
}

// The normalization of input + skip + bias. Output 3 is that sum; the mean and the deviation are
// for training only.
void skip_normalization(OpCall& call, bool simplified) {
  const size_t bias = simplified ? 3 : 4;
  const Tensor& x = call.in(0);
  if (x.rank() < 1 || broadcast_shape({x.shape, call.in(1).shape}) != x.shape) {
    throw Error(Reason::shape_mismatch,
                text("skip of shape ", to_string(call.in(1).shape),
                     " does not fit an input of shape ", to_string(x.shape)));
  }
  const double epsilon = call.real("epsilon", 1e-12);
  const int64_t last = x.rank() - 1;
  Tensor sum = pointwise(call.build, OP_ADD, {x, call.in(1)});
  if (call.has(bias)) sum = pointwise(call.build, OP_ADD, {sum, call.in(bias)});
  call.set(0, simplified ? rms_normalized(call.build, sum, call.in(2), last, epsilon).result
                         : layer_normalized(call.build, sum, last, call.in(2),
                                            call.has(3) ? &call.in(3) : nullptr, epsilon));
  call.set(3, sum);
}

void skip_layer_normalization(OpCall& call) { skip_normalization(call, false); }
void skip_simplified(OpCall& call) { skip_normalization(call, true); }

}  // namespace

Operators normalization_operators() {
  return {
      {"BatchNormalization", batch_normalization},
      {"GroupNormalization", group_normalization},
      {"InstanceNormalization", instance_normalization},
      {"LRN", local_response_normalization},
      {"LayerNormalization", layer_normalization},
      {"LpNormalization", lp_normalization},
      {"MeanVarianceNormalization", mean_variance_normalization},
      {"RMSNormalization", rms_normalization},
      {"SimplifiedLayerNormalization", rms_normalization},
      {"SkipLayerNormalization", skip_layer_normalization},
      {"SkipSimplifiedLayerNormalization", skip_simplified},
  };
}

}  // namespace dala::model
