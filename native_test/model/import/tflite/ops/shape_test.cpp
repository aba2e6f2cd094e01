// Casts and shapes of TFLite.
#include "model/import/tflite/operator_cases.hpp"

namespace dala::test {

TEST_CASE("TFLite: casts and shapes") {
  const LiteTensor x{{2, 3}, {0, 1.75, -2.5, 3, 4, 5}};
  check("CAST", FlatTable().byte(1, LiteType::i32), {x},
        {{{2, 3}, {0, 1, -2, 3, 4, 5}, LiteType::i32}});
  check("CAST", FlatTable().byte(1, LiteType::f32), {{{2}, {7, 200}, LiteType::u8}},
        {{{2}, {7, 200}}});
  check("SHAPE", {}, {x}, {{{2}, {2, 3}, LiteType::i32}});
  check("RANK", {}, {x}, {{{}, {2}, LiteType::i32}});
  check("FILL", {}, {constant_of({2}, {1, 2}), {{}, {6}}}, {{{1, 2}, {6, 6}}});
  check("RANGE", {}, {constant_of({}, {1}), constant_of({}, {8}), constant_of({}, {3})},
        {{{3}, {1, 4, 7}, LiteType::i32}});
  check_complete(model::tflite::shape_operators());
}

}  // namespace dala::test
