// Comparisons, logic and selection of TFLite.
#include "model/import/tflite/operator_cases.hpp"

namespace dala::test {

TEST_CASE("TFLite: logic and selection") {
  const LiteTensor a{{4}, {0, 0, 1, 1}, LiteType::boolean};
  const LiteTensor b{{4}, {0, 1, 0, 1}, LiteType::boolean};
  check("LOGICAL_AND", {}, {a, b}, {{{4}, {0, 0, 0, 1}, LiteType::boolean}});
  check("LOGICAL_OR", {}, {a, b}, {{{4}, {0, 1, 1, 1}, LiteType::boolean}});
  check("LOGICAL_NOT", {}, {b}, {{{4}, {1, 0, 1, 0}, LiteType::boolean}});
  check("REDUCE_ANY", {}, {{{2, 2}, {0, 0, 1, 0}, LiteType::boolean}, constant_of({1}, {1})},
        {{{2}, {0, 1}, LiteType::boolean}});
  check("REDUCE_ALL", {}, {{{2, 2}, {1, 1, 1, 0}, LiteType::boolean}, constant_of({1}, {1})},
        {{{2}, {1, 0}, LiteType::boolean}});
  const LiteTensor x{{2, 2}, {1, 2, 3, 4}};
  const LiteTensor y{{2, 2}, {5, 6, 7, 8}};
  check("SELECT", {}, {{{2}, {1, 0}, LiteType::boolean}, x, y}, {{{2, 2}, {1, 2, 7, 8}}});
  check("SELECT_V2", {}, {{{2}, {1, 0}, LiteType::boolean}, x, y}, {{{2, 2}, {1, 6, 3, 8}}});
  check("WHERE", {}, {{{2, 2}, {0, 1, 1, 0}, LiteType::boolean}},
        {{{2, 2}, {0, 1, 1, 0}, LiteType::i64}});
  check_complete(model::tflite::comparison_operators());
}

}  // namespace dala::test
