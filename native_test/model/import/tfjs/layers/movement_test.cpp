// Layers that move elements of TF.js layers models.
#include "model/import/tfjs/layers/layers_writer.hpp"

namespace dala::test::tfjs {
namespace {

std::vector<LayerCase> movement_cases() {
  return {
      {"Cropping2D",
       R"({"cropping":[[1,0],[0,2]],"data_format":"channels_last"})",
       {{1, 3, 3, 1}},
       {},
       floats({1, 2, 1, 1}, {-0.375, -0.5})},
      {"ZeroPadding2D",
       R"({"padding":[[1,0],[0,2]],"data_format":"channels_last"})",
       {{1, 1, 2, 1}},
       {},
       floats({1, 2, 4, 1}, {0, 0, 0, 0, -0.25, 0.625, 0, 0})},
      {"UpSampling2D",
       R"({"size":[2,1],"data_format":"channels_last","interpolation":"nearest"})",
       {{1, 2, 2, 1}},
       {},
       floats({1, 4, 2, 1}, {-0.25, 0.625, -0.25, 0.625, 0.125, -0.375, 0.125, -0.375})},
      {"UpSampling2D",
       R"({"size":[1,2],"data_format":"channels_last","interpolation":"bilinear"})",
       {{1, 2, 2, 1}},
       {},
       floats({1, 2, 4, 1}, {-0.25, 0.1875, 0.625, 0.625, 0.125, -0.125, -0.375, -0.375})},
      {"Flatten", R"({})", {{1, 2, 2}}, {}, floats({1, 4}, {-0.25, 0.625, 0.125, -0.375})},
      {"Permute",
       R"({"dims":[2,1]})",
       {{1, 2, 3}},
       {},
       floats({1, 3, 2}, {-0.25, -0.375, 0.625, 0.5, 0.125, 0})},
      {"RepeatVector", R"({"n":2})", {{1, 2}}, {}, floats({1, 2, 2}, {-0.25, 0.625, -0.25, 0.625})},
      {"Reshape",
       R"({"target_shape":[2,null]})",
       {{1, 4}},
       {},
       floats({1, 2, 2}, {-0.25, 0.625, 0.125, -0.375})},
  };
}

}  // namespace

TEST_CASE("TF.js layers: layers that move elements") {
  check_layers(movement_cases(), model::tfjs::movement_layers());
}

}  // namespace dala::test::tfjs
