// Det: the determinant of square matrices, by their factors l and u.
#include "model/ops/families.hpp"

namespace dala::model {
namespace {

// 1 or -1 for permutations {batch, n}: the parity of the pairs that are out of order.
Tensor sign_of(Build& build, const Tensor& order, ElementType type) {
  const int64_t batch = order.dim(0);
  const int64_t n = order.dim(1);
  auto later = std::make_shared<HostTensor>(ElementType::f32, Shape{1, n, n});
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i + 1; j < n; ++j) later->set(i * n + j, 1);
  }
  const Tensor greater = compare(build, CMP_GREATER, Build::reshaped(order, {batch, n, 1}),
                                 Build::reshaped(order, {batch, 1, n}));
  // -2 for every pair that is out of order, plus 1: the product of all pairs is the sign.
  const Tensor pairs = pointwise(
      build, OP_MUL, {convert(build, greater, ElementType::f32), build.constant(std::move(later))});
  const Tensor signs = pointwise(build, OP_AFFINE, {pairs}, -2, 1);
  return convert(build, reduce(build, REDUCE_PROD, signs, {1, 2}, false), type);
}

void determinant(OpCall& call) {
  Build& build = call.build;
  const Tensor& x = call.in(0);
  const int64_t rank = x.rank();
  if (rank < 2 || x.dim(rank - 1) != x.dim(rank - 2) || !is_float(x.type)) {
    throw Error(Reason::shape_mismatch,
                text("Det got ", to_string(x.type), " of shape ", to_string(x.shape),
                     ", expected square matrices of floats"));
  }
  const int64_t n = x.dim(rank - 1);
  const Shape lead(x.shape.begin(), x.shape.end() - 2);
  if (x.count() == 0) {
    call.set(0, filled(build, x.type, lead, 1));  // the empty product
    return;
  }
  const int64_t batch = x.count() / (n * n);
  const Tensor matrices = Build::reshaped(x, {batch, n, n});
  const Tensor factors = build.kernel("lu", {matrices}, x.type, {batch, n, n}, {});
  const Tensor order = build.kernel("lu", {matrices}, ElementType::i32, {batch, n},
                                    {{"result", std::string("permutation")}});
  const Tensor diagonal =
      slice(build, Build::reshaped(factors, {batch, n * n}), {0, 0}, {1, n + 1}, {batch, n});
  const Tensor product = reduce(build, REDUCE_PROD, diagonal, {1}, false);
  call.set(
      0, Build::reshaped(pointwise(build, OP_MUL, {product, sign_of(build, order, x.type)}), lead));
}

}  // namespace

Operators determinant_operators() {
  return {
      {"Det", determinant},
  };
}

}  // namespace dala::model
