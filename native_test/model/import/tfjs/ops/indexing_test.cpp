// TF.js operators that read and write by index, with literal results.
#include "model/import/tfjs/cases.hpp"
#include "model/import/tfjs/table.hpp"

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

}  // namespace

TEST_CASE("TF.js: indexing") {
  // The output of NonMaxSuppression depends on values, so the model runs step by step.
  check_cases(lookups(), model::tfjs::indexing_operators());
}

}  // namespace dala::test::tfjs
