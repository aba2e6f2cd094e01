// Operators of com.microsoft that merge several of ONNX, and their counterparts in newer operator
// sets.
#include "model/ops/families.hpp"

namespace dala::model {
namespace {

// alpha * A x B, with the last two dimensions of either swapped.
void fused_matmul(OpCall& call) {
  Build& build = call.build;
  const Tensor& a = call.in(0);
  const Tensor& b = call.in(1);
  if (call.integer("transBatchA", 0) != 0 || call.integer("transBatchB", 0) != 0) {
    call.unsupported("FusedMatMul with transBatchA or transBatchB is not supported");
  }
  // A vector has no dimensions to swap.
  const bool turn_a = call.integer("transA", 0) != 0 && a.rank() > 1;
  const bool turn_b = call.integer("transB", 0) != 0 && b.rank() > 1;
  Tensor product;
  if (a.rank() < 2 || b.rank() < 2) {
    const auto turned = [&build](const Tensor& x) {
      std::vector<int64_t> order;
      for (int64_t d = 0; d < x.rank(); ++d) order.push_back(d);
      std::swap(order[order.size() - 1], order[order.size() - 2]);
      return transpose(build, x, order);
    };
    product = matmul(build, turn_a ? turned(a) : a, turn_b ? turned(b) : b);
  } else {
    Shape shape = broadcast_shape(
        {Shape(a.shape.begin(), a.shape.end() - 2), Shape(b.shape.begin(), b.shape.end() - 2)});
    shape.push_back(a.dim(a.rank() - (turn_a ? 1 : 2)));
    shape.push_back(b.dim(b.rank() - (turn_b ? 2 : 1)));
    product = build.kernel("matmul", {a, b}, a.type, shape,
                           {{"transpose_a", turn_a}, {"transpose_b", turn_b}});
  }
  const double alpha = call.real("alpha", 1);
  if (alpha != 1) product = pointwise(build, OP_AFFINE, {product}, alpha, 0);
  call.set(0, product);
}

Tensor sum_of(Build& build, const Tensor& a, const Tensor& b) {
  return pointwise(build, OP_ADD, {a, b});
}

void bias_gelu(OpCall& call) {
  const Tensor sum = sum_of(call.build, call.in(0), call.in(1));
  call.set(0, pointwise(call.build, OP_GELU, {sum}));
}

void fast_gelu(OpCall& call) {
  const Tensor x = call.has(1) ? sum_of(call.build, call.in(0), call.in(1)) : call.in(0);
  call.set(0, pointwise(call.build, OP_GELU_TANH, {x}));
}

// x * sigmoid(alpha * x)
Tensor swish_of(Build& build, const Tensor& x, double alpha) {
  const Tensor scaled = alpha == 1 ? x : pointwise(build, OP_AFFINE, {x}, alpha, 0);
  return pointwise(build, OP_MUL, {x, pointwise(build, OP_SIGMOID, {scaled})});
}

void quick_gelu(OpCall& call) {
  call.set(0, swish_of(call.build, call.in(0), call.real("alpha", 1.702)));
}

void swish(OpCall& call) { call.set(0, swish_of(call.build, call.in(0), call.real("alpha", 1))); }

struct Normed {
  Tensor result;
  Tensor inverse;  // 1 / sqrt(mean of squares + epsilon)
};

// x / sqrt(mean(x^2) + epsilon) * scale, over the axes from `axis` on.
Normed root_mean_square(Build& build, const Tensor& x, const Tensor& scale, int64_t axis,
                        double epsilon) {
  std::vector<int64_t> axes;
  for (int64_t d = axis; d < x.rank(); ++d) axes.push_back(d);
  const Tensor mean = reduce(build, REDUCE_MEAN, pointwise(build, OP_SQUARE, {x}), axes, true);
  const Tensor root = pointwise(build, OP_SQRT, {pointwise(build, OP_AFFINE, {mean}, 1, epsilon)});
  Normed normed;
  normed.inverse = pointwise(build, OP_RECIPROCAL, {root});
  normed.result = pointwise(build, OP_MUL, {pointwise(build, OP_MUL, {x, normed.inverse}), scale});
  return normed;
}

void rms_normalization(OpCall& call) {
  const Tensor& x = call.in(0);
  const Normed normed = root_mean_square(call.build, x, call.in(1), call.axis(-1, x.rank()),
                                         call.real("epsilon", 1e-5));
  call.set(0, normed.result);
  call.set(1, normed.inverse);
}

Tensor layer_norm(OpCall& call, const Tensor& x, const Tensor& scale, const Tensor* shift,
                  double epsilon) {
  const int64_t length = x.shape.back();
  const int64_t rows = length == 0 ? 0 : x.count() / length;
  std::vector<Tensor> inputs{Build::reshaped(x, {rows, length}), Build::reshaped(scale, {length})};
  if (shift != nullptr) inputs.push_back(Build::reshaped(*shift, {length}));
  const Tensor result =
      call.build.kernel("layer_norm", inputs, x.type, {rows, length}, {{"epsilon", epsilon}});
  return Build::reshaped(result, x.shape);
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
  Tensor sum = sum_of(call.build, x, call.in(1));
  if (call.has(bias)) sum = sum_of(call.build, sum, call.in(bias));
  if (simplified) {
    call.set(0, root_mean_square(call.build, sum, call.in(2), sum.rank() - 1,
                                 call.real("epsilon", 1e-12))
                    .result);
  } else {
    call.set(0, layer_norm(call, sum, call.in(2), call.has(3) ? &call.in(3) : nullptr,
                           call.real("epsilon", 1e-12)));
  }
  call.set(3, sum);
}

void skip_layer_normalization(OpCall& call) { skip_normalization(call, false); }
void skip_simplified(OpCall& call) { skip_normalization(call, true); }

}  // namespace

Operators fused_operators() {
  return {
      {"BiasGelu", bias_gelu},
      {"FastGelu", fast_gelu},
      {"FusedMatMul", fused_matmul},
      {"QuickGelu", quick_gelu},
      {"RMSNormalization", rms_normalization},
      {"SimplifiedLayerNormalization", rms_normalization},
      {"SkipLayerNormalization", skip_layer_normalization},
      {"SkipSimplifiedLayerNormalization", skip_simplified},
      {"Swish", swish},
      {"TransposeMatMul", fused_matmul},
  };
}

}  // namespace dala::model
