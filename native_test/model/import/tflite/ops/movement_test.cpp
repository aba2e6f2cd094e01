// TFLite operators that move elements.
#include "model/import/tflite/operator_cases.hpp"

namespace dala::test {

TEST_CASE("TFLite: data movement") {
  const LiteTensor x{{2, 3}, {0, 1, 2, 3, 4, 5}};
  const LiteTensor planes{{1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}};
  const LiteTensor none = constant_of({2, 2}, {0, 0, 0, 0});
  check("SPACE_TO_BATCH_ND", {}, {planes, constant_of({2}, {2, 2}), none},
        {{{4, 1, 1, 2}, {0, 1, 2, 3, 4, 5, 6, 7}}});
  check("BATCH_TO_SPACE_ND", {},
        {{{4, 1, 1, 1}, {0, 1, 2, 3}}, constant_of({2}, {2, 2}), constant_of({2, 2}, {0, 0, 1, 0})},
        {{{1, 2, 1, 1}, {1, 3}}});
  check("BROADCAST_TO", {}, {{{1, 2}, {3, 4}}, constant_of({2}, {2, 2})}, {{{2, 2}, {3, 4, 3, 4}}});
  check("CONCATENATION", FlatTable().integer(0, 1).byte(1, 1), {x, {{2, 1}, {-1, 7}}},
        {{{2, 4}, {0, 1, 2, 0, 3, 4, 5, 7}}});
  check("DEPTH_TO_SPACE", FlatTable().integer(0, 2), {{{1, 1, 1, 4}, {0, 1, 2, 3}}},
        {{{1, 2, 2, 1}, {0, 1, 2, 3}}});
  check("SPACE_TO_DEPTH", FlatTable().integer(0, 2), {planes},
        {{{1, 1, 1, 8}, {0, 1, 2, 3, 4, 5, 6, 7}}});
  check("DENSIFY", {}, {x}, {x});
  check("DEQUANTIZE", {}, {x}, {x});
  check("EXPAND_DIMS", {}, {x, constant_of({}, {1})}, {{{2, 1, 3}, x.values}});
  check("GATHER", FlatTable().integer(0, 1), {x, constant_of({2}, {2, 0})},
        {{{2, 2}, {2, 0, 5, 3}}});
  check("GATHER_ND", {}, {x, constant_of({2, 2}, {1, 2, 0, 1})}, {{{2}, {5, 1}}});
  check("MIRROR_PAD", {}, {x, constant_of({2, 2}, {0, 0, 2, 1})},
        {{{2, 6}, {2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4}}});
  check("PACK", FlatTable().integer(0, 2).integer(1, 1), {{{2}, {1, 2}}, {{2}, {3, 4}}},
        {{{2, 2}, {1, 3, 2, 4}}});
  check("PAD", {}, {x, constant_of({2, 2}, {0, 1, 1, 0})},
        {{{3, 4}, {0, 0, 1, 2, 0, 3, 4, 5, 0, 0, 0, 0}}});
  check("PADV2", {},
        {x, constant_of({2, 2}, {0, 0, 0, 1}, LiteType::i64), constant_of({}, {9}, LiteType::f32)},
        {{{2, 4}, {0, 1, 2, 9, 3, 4, 5, 9}}});
  check("QUANTIZE", {}, {x}, {x});
  check("RESHAPE", {}, {x, constant_of({2}, {3, -1})}, {{{3, 2}, x.values}});
  check("RESHAPE", FlatTable().numbers(0, std::vector<int32_t>{6}), {x}, {{{6}, x.values}});
  check("REVERSE_V2", {}, {x, constant_of({1}, {1})}, {{{2, 3}, {2, 1, 0, 5, 4, 3}}});
  check("SLICE", {}, {x, constant_of({2}, {0, 1}), constant_of({2}, {1, -1})}, {{{1, 2}, {1, 2}}});
  check("SPLIT", FlatTable().integer(0, 3), {constant_of({}, {1}), x},
        {{{2, 1}, {0, 3}}, {{2, 1}, {1, 4}}, {{2, 1}, {2, 5}}});
  check("SPLIT_V", FlatTable().integer(0, 2), {x, constant_of({2}, {1, -1}), constant_of({}, {-1})},
        {{{2, 1}, {0, 3}}, {{2, 2}, {1, 2, 4, 5}}});
  check("SQUEEZE", FlatTable().numbers(0, std::vector<int32_t>{1}), {{{2, 1, 1}, {1, 2}}},
        {{{2, 1}, {1, 2}}});
  check("SQUEEZE", {}, {{{2, 1, 1}, {1, 2}}}, {{{2}, {1, 2}}});
  check("STRIDED_SLICE", FlatTable().integer(0, 2).integer(1, 2).integer(4, 1),
        {x, constant_of({2}, {1, 0}), constant_of({2}, {2, 0}), constant_of({2}, {1, 2})},
        {{{2}, {3, 5}}});
  check("TILE", {}, {x, constant_of({2}, {1, 2})},
        {{{2, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}}});
  check("TRANSPOSE", {}, {x, constant_of({2}, {1, 0})}, {{{3, 2}, {0, 3, 1, 4, 2, 5}}});
  check("UNPACK", FlatTable().integer(0, 2).integer(1, 0), {x},
        {{{3}, {0, 1, 2}}, {{3}, {3, 4, 5}}});
  check_complete(model::tflite::movement_operators());
}

}  // namespace dala::test
