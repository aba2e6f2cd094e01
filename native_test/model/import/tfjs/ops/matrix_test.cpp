// TF.js matrix products, with literal results.
#include "model/import/tfjs/cases.hpp"
#include "model/import/tfjs/table.hpp"

namespace dala::test::tfjs {
namespace {

std::vector<Case> products() {
  const Values left = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Values right = floats({3, 2}, {1, -1, 0, 2, 3, 1});
  const Values turned_left = floats({3, 2}, {1, 4, 2, 5, 3, 6});
  const Values turned_right = floats({2, 3}, {1, 0, 3, -1, 2, 1});
  const std::vector<double> product{10, 6, 22, 12};
  const auto batch = [](Values values) {
    values.dims.insert(values.dims.begin(), 1);
    return values;
  };
  const Values bias = floats({2}, {-20, 1});
  const auto fused = [&](const std::vector<std::string>& ops, const Values& expected) {
    return Case{"_FusedMatMul",
                {left, right, bias},
                {words("fused_ops", ops), whole("num_args", 1)},
                {expected}};
  };
  return {
      {"MatMul", {left, right}, {}, {floats({2, 2}, product)}},
      {"MatMul",
       {turned_left, turned_right},
       {truth("transpose_a", true), truth("transpose_b", true)},
       {floats({2, 2}, product)}},
      {"BatchMatMul", {batch(left), batch(right)}, {}, {floats({1, 2, 2}, product)}},
      {"BatchMatMulV2",
       {batch(left), batch(turned_right)},
       {truth("adj_y", true)},
       {floats({1, 2, 2}, product)}},
      {"BatchMatMulV3",
       {batch(turned_left), batch(turned_right)},
       {truth("adj_x", true), truth("adj_y", true)},
       {floats({1, 2, 2}, product)}},
      {"Einsum", {left, right}, {word("equation", "ij,jk->ki")}, {floats({2, 2}, {10, 22, 6, 12})}},
      fused({"BiasAdd"}, floats({2, 2}, {-10, 7, 2, 13})),
      fused({"BiasAdd", "Relu"}, floats({2, 2}, {0, 7, 2, 13})),
      fused({"BiasAdd", "Relu6"}, floats({2, 2}, {0, 6, 2, 6})),
      fused({"BiasAdd", "LeakyRelu"}, floats({2, 2}, {-2, 7, 2, 13})),
      fused({"BiasAdd", "Elu"}, floats({2, 2}, {std::expm1(-10), 7, 2, 13})),
      fused({"BiasAdd", "Tanh"}, floats({2, 2}, {-1, std::tanh(7), std::tanh(2), 1})),
      fused({"BiasAdd", "Sigmoid"},
            floats({2, 2}, {1 / (1 + std::exp(10)), 1 / (1 + std::exp(-7)), 1 / (1 + std::exp(-2)),
                            1 / (1 + std::exp(-13))})),
      {"_FusedMatMul",
       {left, right, bias, floats({2}, {0.5, 3})},
       {words("fused_ops", {"BiasAdd", "Prelu"}), whole("num_args", 2)},
       {floats({2, 2}, {-5, 7, 2, 13})}},
  };
}

}  // namespace

TEST_CASE("TF.js: matrix products") { check_cases(products(), model::tfjs::matrix_operators()); }

}  // namespace dala::test::tfjs
