// Reductions and matrix products of TFLite.
#include "model/import/tflite/operator_cases.hpp"

namespace dala::test {

TEST_CASE("TFLite: reductions and matrix products") {
  const LiteTensor x{{2, 3}, {0, 5, 2, 3, 1, 4}};
  const LiteTensor last = constant_of({1}, {-1});
  const FlatTable keep = FlatTable().flag(0);
  check("MEAN", keep, {x, last}, {{{2, 1}, {7.0 / 3, 8.0 / 3}}});
  check("SUM", {}, {x, constant_of({2}, {0, 1})}, {{{}, {15}}});
  check("REDUCE_MAX", {}, {x, last}, {{{2}, {5, 4}}});
  check("REDUCE_MIN", keep, {x, constant_of({}, {0})}, {{{1, 3}, {0, 1, 2}}});
  check("REDUCE_PROD", {}, {x, last}, {{{2}, {0, 12}}});
  check("ARG_MAX", FlatTable().byte(0, LiteType::i32), {x, constant_of({}, {1})},
        {{{2}, {1, 2}, LiteType::i32}});
  check("ARG_MIN", FlatTable().byte(0, LiteType::i64), {x, constant_of({}, {0})},
        {{{3}, {0, 1, 0}, LiteType::i64}});
  check("TOPK_V2", {}, {x, constant_of({}, {2})},
        {{{2, 2}, {5, 2, 4, 3}}, {{2, 2}, {1, 2, 2, 0}, LiteType::i32}});
  check("CUMSUM", {}, {x, constant_of({}, {1})}, {{{2, 3}, {0, 5, 7, 3, 4, 8}}});

  LiteTensor soft{{1, 3}, {}};
  LiteTensor logarithm{{1, 3}, {}};
  const double sum = 1 + std::exp(1.0) + std::exp(2.0);
  for (double each : {0, 1, 2}) {
    soft.values.push_back(std::exp(each) / sum);
    logarithm.values.push_back(each - std::log(sum));
  }
  check("SOFTMAX", FlatTable().real(0, 0.5F), {{{1, 3}, {0, 2, 4}}}, {soft});
  check("LOG_SOFTMAX", {}, {{{1, 3}, {0, 1, 2}}}, {logarithm});
  check("L2_NORMALIZATION", {}, {{{2, 2}, {3, 4, 0, 0}}}, {{{2, 2}, {0.6, 0.8, 0, 0}}});

  const LiteTensor weights = constant_of({2, 3}, {1, 0, 2, -1, 1, 0}, LiteType::f32);
  check("FULLY_CONNECTED", FlatTable().byte(0, 1),
        {x, weights, constant_of({2}, {10, -1}, LiteType::f32)}, {{{2, 2}, {14, 4, 21, 0}}});
  check("FULLY_CONNECTED", FlatTable().number(2, uint8_t{1}), {{{1, 2, 3}, x.values}, weights},
        {{{1, 2, 2}, {4, 5, 11, -2}}});
  check("BATCH_MATMUL", FlatTable().flag(1), {x, {{2, 3}, {1, 0, 2, -1, 1, 0}}},
        {{{2, 2}, {4, 5, 11, -2}}});
  check_complete(model::tflite::reduction_operators());
}

}  // namespace dala::test
