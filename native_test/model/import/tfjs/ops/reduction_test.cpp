// TF.js operators along axes, with literal results.
#include "model/import/tfjs/cases.hpp"
#include "model/import/tfjs/table.hpp"

namespace dala::test::tfjs {
namespace {

const Values kMatrix = floats({2, 3}, {1, 2, 3, 4, 5, 6});

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

}  // namespace

TEST_CASE("TF.js: reductions") { check_cases(reductions(), model::tfjs::reduction_operators()); }

}  // namespace dala::test::tfjs
