// Layers with several inputs of TF.js layers models.
#include "model/import/tfjs/layers/layers_writer.hpp"

namespace dala::test::tfjs {
namespace {

std::vector<LayerCase> merge_cases() {
  return {
      {"Add", R"({})", {{1, 2, 2}, {1, 2, 2}}, {}, floats({1, 2, 2}, {-0.25, 0.125, 0.5, -0.5})},
      {"Average",
       R"({})",
       {{1, 2, 2}, {1, 2, 2}},
       {},
       floats({1, 2, 2}, {-0.125, 0.0625, 0.25, -0.25})},
      {"Concatenate",
       R"({"axis":-1})",
       {{1, 2, 2}, {1, 2, 2}},
       {},
       floats({1, 2, 4}, {-0.25, 0.625, 0, -0.5, 0.125, -0.375, 0.375, -0.125})},
      {"Maximum",
       R"({})",
       {{1, 2, 2}, {1, 2, 2}},
       {},
       floats({1, 2, 2}, {0, 0.625, 0.375, -0.125})},
      {"Minimum",
       R"({})",
       {{1, 2, 2}, {1, 2, 2}},
       {},
       floats({1, 2, 2}, {-0.25, -0.5, 0.125, -0.375})},
      {"Multiply",
       R"({})",
       {{1, 2, 2}, {1, 2, 2}},
       {},
       floats({1, 2, 2}, {0, -0.3125, 0.046875, 0.046875})},
      {"Add", R"({})", {{1, 2, 2}, {1, 2}}, {}, floats({1, 2, 2}, {-0.25, 0.125, 0.125, -0.875})},
      {"Concatenate",
       R"({"axis":1})",
       {{1, 2, 2}, {1, 2, 2}},
       {},
       floats({1, 4, 2}, {-0.25, 0.625, 0.125, -0.375, 0, -0.5, 0.375, -0.125})},
  };
}

}  // namespace

TEST_CASE("TF.js layers: layers with several inputs") {
  check_layers(merge_cases(), model::tfjs::merge_layers());
}

}  // namespace dala::test::tfjs
