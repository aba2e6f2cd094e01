// TF.js operators that move, index, reduce and multiply, with literal results.
#include "model/tfjs/cases.hpp"
#include "model/tfjs/table.hpp"

namespace dala::test::tfjs {
namespace {

const Values kMatrix = floats({2, 3}, {1, 2, 3, 4, 5, 6});

// {1, 2, 3, ...}
Values counted(std::vector<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  std::vector<double> numbers;
  for (int64_t i = 1; i <= count; ++i) numbers.push_back(static_cast<double>(i));
  return floats(std::move(dims), std::move(numbers));
}

std::vector<std::string> masks(int64_t begin, int64_t end, int64_t ellipsis = 0,
                               int64_t new_axis = 0, int64_t shrink = 0) {
  return {whole("begin_mask", begin), whole("end_mask", end), whole("ellipsis_mask", ellipsis),
          whole("new_axis_mask", new_axis), whole("shrink_axis_mask", shrink)};
}

std::vector<Case> movements() {
  return {
      {"Reshape", {kMatrix, list({3, -1})}, {}, {counted({3, 2})}},
      {"Reshape", {floats({0, 3}, {}), list({0, 5})}, {}, {floats({0, 5}, {})}},
      {"Transpose", {kMatrix, list({1, 0})}, {}, {floats({3, 2}, {1, 4, 2, 5, 3, 6})}},
      {"Squeeze", {counted({1, 2, 1, 2})}, {}, {counted({2, 2})}},
      {"Squeeze", {counted({1, 2, 1})}, {wholes("squeeze_dims", {-1})}, {counted({1, 2})}},
      {"ExpandDims", {kMatrix, number(1)}, {}, {counted({2, 1, 3})}},
      {"ExpandDims", {kMatrix, number(-1)}, {}, {counted({2, 3, 1})}},
      {"Concat", {number(0), list({1}), list({2, 3})}, {}, {list({1, 2, 3})}},
      {"ConcatV2",
       {kMatrix, floats({2, 1}, {7, 8}), number(-1)},
       {whole("N", 2)},
       {floats({2, 4}, {1, 2, 3, 7, 4, 5, 6, 8})}},
      {"Pack", {number(5), number(6)}, {whole("axis", 0)}, {list({5, 6})}},
      {"Pack", {list({1, 2}), list({3, 4})}, {whole("axis", -1)}, {ints({2, 2}, {1, 3, 2, 4})}},
      {"Unpack",
       {kMatrix},
       {whole("axis", 1), whole("num", 3)},
       {floats({2}, {1, 4}), floats({2}, {2, 5}), floats({2}, {3, 6})}},
      {"Split",
       {number(0), kMatrix},
       {whole("num_split", 2)},
       {floats({1, 3}, {1, 2, 3}), floats({1, 3}, {4, 5, 6})}},
      {"SplitV",
       {kMatrix, list({1, 2}), number(1)},
       {whole("num_split", 2)},
       {floats({2, 1}, {1, 4}), floats({2, 2}, {2, 3, 5, 6})}},
      {"SplitV",
       {counted({6}), list({1, -1, 2, 1}), number(0)},
       {whole("num_split", 4)},
       {floats({1}, {1}), floats({2}, {2, 3}), floats({2}, {4, 5}), floats({1}, {6})}},
      {"Slice", {kMatrix, list({0, 1}), list({-1, 2})}, {}, {floats({2, 2}, {2, 3, 5, 6})}},
      {"StridedSlice",
       {kMatrix, list({0, 2}), list({2, 0}), list({1, -1})},
       masks(0, 0),
       {floats({2, 2}, {3, 2, 6, 5})}},
      {"StridedSlice",
       {kMatrix, list({0, 0}), list({0, 0}), list({1, -2})},
       masks(3, 3),
       {floats({2, 2}, {3, 1, 6, 4})}},
      {"StridedSlice",
       {kMatrix, list({-1, 0}), list({0, 0}), list({1, 1})},
       masks(2, 2, 0, 0, 1),
       {floats({3}, {4, 5, 6})}},
      {"StridedSlice",
       {counted({1, 2, 3}), list({0, -1, 0}), list({0, 3, 0}), list({1, 1, 1})},
       masks(0, 0, 1, 4),
       {floats({1, 2, 1, 1}, {3, 6})}},
      {"ReverseV2", {kMatrix, list({1})}, {}, {floats({2, 3}, {3, 2, 1, 6, 5, 4})}},
      {"Pad",
       {floats({1, 2}, {1, 2}), ints({2, 2}, {1, 0, 0, 2})},
       {},
       {floats({2, 4}, {0, 0, 0, 0, 1, 2, 0, 0})}},
      {"PadV2",
       {floats({2}, {1, 2}), ints({1, 2}, {1, 2}), floats({}, {9})},
       {},
       {floats({5}, {9, 1, 2, 9, 9})}},
      {"MirrorPad",
       {floats({3}, {1, 2, 3}), ints({1, 2}, {2, 1})},
       {word("mode", "REFLECT")},
       {floats({6}, {3, 2, 1, 2, 3, 2})}},
      {"MirrorPad",
       {floats({3}, {1, 2, 3}), ints({1, 2}, {1, 1})},
       {word("mode", "SYMMETRIC")},
       {floats({5}, {1, 1, 2, 3, 3})}},
  };
}

std::vector<Case> lookups() {
  const Values boxes = floats({4, 4}, {0, 0, 1, 1, 0, 0, 1, 0.9, 2, 2, 3, 3, 2, 2, 3, 3.2});
  const Values scores = floats({4}, {0.5, 0.9, 0.2, 0.8});
  const Values most = number(3);
  const Values overlap = floats({}, {0.5});
  return {
      {"BroadcastTo", {floats({2, 1}, {1, 2}), list({2, 2})}, {}, {floats({2, 2}, {1, 1, 2, 2})}},
      {"Fill", {list({2, 2}), floats({}, {7})}, {}, {floats({2, 2}, {7, 7, 7, 7})}},
      {"Gather", {kMatrix, list({1, 0})}, {}, {floats({2, 3}, {4, 5, 6, 1, 2, 3})}},
      {"GatherV2", {kMatrix, number(2), number(1)}, {}, {floats({2}, {3, 6})}},
      {"GatherV2",
       {kMatrix, ints({2, 2}, {2, 0, 1, 1}), number(1)},
       {whole("batch_dims", 1)},
       {floats({2, 2}, {3, 1, 5, 5})}},
      {"GatherNd", {kMatrix, ints({2, 2}, {0, 2, 1, 0})}, {}, {floats({2}, {3, 4})}},
      {"NonMaxSuppressionV2", {boxes, scores, most, overlap}, {}, {list({1, 3})}},
      {"NonMaxSuppressionV3", {boxes, scores, most, overlap, floats({}, {0.85})}, {}, {list({1})}},
      {"NonMaxSuppressionV4",
       {boxes, scores, most, overlap, floats({}, {0})},
       {},
       {list({1, 3}), number(2)}},
      {"NonMaxSuppressionV5",
       {boxes, scores, most, overlap, floats({}, {0}), floats({}, {0})},
       {},
       {list({1, 3}), floats({2}, {0.9, 0.8}), number(2)}},
      {"OneHot",
       {list({2, 0}), number(3), floats({}, {5}), floats({}, {-1})},
       {},
       {floats({2, 3}, {-1, -1, 5, 5, -1, -1})}},
      {"OnesLike", {kMatrix}, {kind("T", "DT_FLOAT")}, {floats({2, 3}, {1, 1, 1, 1, 1, 1})}},
      {"ZerosLike", {list({1, 2})}, {kind("T", "DT_INT32")}, {list({0, 0})}},
      {"Range", {number(1), number(7), number(2)}, {}, {list({1, 3, 5})}},
      {"Rank", {kMatrix}, {}, {number(2)}},
      {"Shape", {kMatrix}, {}, {list({2, 3})}},
      {"Size", {kMatrix}, {}, {number(6)}},
      // Values for the same index add up.
      {"ScatterNd",
       {ints({3, 1}, {2, 0, 2}), floats({3}, {1, 2, 3}), list({4})},
       {kind("T", "DT_FLOAT")},
       {floats({4}, {2, 0, 4, 0})}},
      {"SparseToDense",
       {ints({2, 2}, {0, 1, 1, 2}), list({2, 3}), floats({2}, {5, 6}), floats({}, {-1})},
       {},
       {floats({2, 3}, {-1, 5, -1, -1, -1, 6})}},
      {"TensorScatterUpdate",
       {counted({4}), ints({2, 1}, {3, 1}), floats({2}, {10, 20})},
       {},
       {floats({4}, {1, 20, 3, 10})}},
      {"Tile", {floats({2}, {1, 2}), list({2})}, {}, {floats({4}, {1, 2, 1, 2})}},
      {"Where", {truths({2, 2}, {0, 1, 1, 0})}, {}, {ints({2, 2}, {0, 1, 1, 0})}},
  };
}

std::vector<Case> reductions() {
  const Values flags = truths({2, 2}, {1, 0, 1, 1});
  return {
      {"Sum", {kMatrix, list({0})}, {}, {floats({3}, {5, 7, 9})}},
      {"Sum", {kMatrix, number(-1)}, {truth("keep_dims", true)}, {floats({2, 1}, {6, 15})}},
      {"Mean", {kMatrix, list({0, 1})}, {}, {floats({}, {3.5})}},
      {"Max", {kMatrix, list({1})}, {}, {floats({2}, {3, 6})}},
      {"Min", {kMatrix, list({1})}, {}, {floats({2}, {1, 4})}},
      {"Prod", {kMatrix, list({1})}, {}, {floats({2}, {6, 120})}},
      // No axes: no reduction.
      {"Sum", {kMatrix, list({})}, {}, {kMatrix}},
      {"All", {flags, list({1})}, {}, {truths({2}, {0, 1})}},
      {"Any", {truths({2, 2}, {0, 0, 1, 0}), list({1})}, {}, {truths({2}, {0, 1})}},
      {"ArgMax", {kMatrix, number(0)}, {kind("output_type", "DT_INT64")}, {list({1, 1, 1})}},
      {"ArgMin", {kMatrix, number(-1)}, {}, {list({0, 0})}},
      {"Cumsum", {list({1, 2, 3}), number(0)}, {}, {list({1, 3, 6})}},
      {"Cumsum",
       {list({1, 2, 3}), number(0)},
       {truth("exclusive", true), truth("reverse", true)},
       {list({5, 3, 0})}},
      {"TopKV2",
       {floats({2, 3}, {1, 3, 2, 9, 7, 8}), number(2)},
       {truth("sorted", true)},
       {floats({2, 2}, {3, 2, 9, 8}), ints({2, 2}, {1, 2, 0, 2})}},
      {"Softmax",
       {floats({2, 2}, {0, std::log(3.0), 5, 5})},
       {},
       {floats({2, 2}, {0.25, 0.75, 0.5, 0.5})}},
      {"LogSoftmax",
       {floats({1, 2}, {0, std::log(3.0)})},
       {},
       {floats({1, 2}, {std::log(0.25), std::log(0.75)})}},
  };
}

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

TEST_CASE("TF.js: data movement") { check_cases(movements(), model::tfjs::movement_operators()); }

TEST_CASE("TF.js: indexing") {
  // The output of NonMaxSuppression depends on values, so the model runs step by step.
  check_cases(lookups(), model::tfjs::indexing_operators());
}

TEST_CASE("TF.js: reductions") { check_cases(reductions(), model::tfjs::reduction_operators()); }

TEST_CASE("TF.js: matrix products") { check_cases(products(), model::tfjs::matrix_operators()); }

}  // namespace dala::test::tfjs
