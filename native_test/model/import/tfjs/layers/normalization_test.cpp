// Normalizations of TF.js layers models.
#include "model/import/tfjs/layers/layers_writer.hpp"

namespace dala::test::tfjs {
namespace {

std::vector<LayerCase> normalization_cases() {
  return {
      {"BatchNormalization",
       R"({"axis":-1,"epsilon":0.001,"center":true,"scale":true})",
       {{2, 3}},
       {{"gamma", {3}}, {"beta", {3}}, {"moving_mean", {3}}, {"moving_variance", {3}}},
       floats({2, 3}, {0.7251657, 0.7496877, -0.4412251, 0.7585543, 0.6716018, -0.4633001})},
      {"LayerNormalization",
       R"({"axis":[1],"epsilon":0.001,"center":true,"scale":true})",
       {{2, 3}},
       {{"gamma", {3}}, {"beta", {3}}},
       floats({2, 3}, {0.9144946, 0.9211102, -0.3894747, 0.9144946, 0.9211102, -0.3894747})},
      {"BatchNormalization",
       R"({"axis":-1,"epsilon":0.001,"center":true,"scale":true})",
       {{1, 2, 3}},
       {{"gamma", {3}}, {"beta", {3}}, {"moving_mean", {3}}, {"moving_variance", {3}}},
       floats({1, 2, 3}, {0.7251657, 0.7496877, -0.4412251, 0.7585543, 0.6716018, -0.4633001})},
      {"LayerNormalization",
       R"({"axis":[2],"epsilon":0.001,"center":true,"scale":true})",
       {{1, 2, 3}},
       {{"gamma", {3}}, {"beta", {3}}},
       floats({1, 2, 3}, {0.9144946, 0.9211102, -0.3894747, 0.9144946, 0.9211102, -0.3894747})},
      {"BatchNormalization",
       R"({"axis":-1,"epsilon":0.001,"center":true,"scale":true})",
       {{1, 2, 2, 2}},
       {{"gamma", {2}}, {"beta", {2}}, {"moving_mean", {2}}, {"moving_variance", {2}}},
       floats({1, 2, 2, 2},
              {0.7251657, 0.7496877, 0.625, 0.125, 0.5248343, 0.3592579, 0.7919429, 0.5935158})},
      {"LayerNormalization",
       R"({"axis":[3],"epsilon":0.001,"center":true,"scale":true})",
       {{1, 2, 2, 2}},
       {{"gamma", {2}}, {"beta", {2}}},
       floats({1, 2, 2, 2}, {0.8743495, 0.7483737, 0.3769763, -0.4950592, 0.3769763, -0.4950592,
                             0.8743495, 0.7483737})},
      {"BatchNormalization",
       R"({"axis":-1,"epsilon":0.125,"center":false,"scale":true})",
       {{1, 2}},
       {{"gamma", {2}}, {"moving_mean", {2}}, {"moving_variance", {2}}},
       floats({1, 2}, {0.2525907, 0.3125})},
      {"LayerNormalization",
       R"({"axis":[1],"epsilon":0.125,"center":true,"scale":false})",
       {{1, 3}},
       {{"beta", {3}}},
       floats({1, 3}, {-1.077606, 1.535367, 0.04223943})},
      {"LayerNormalization",
       R"({"axis":[1],"epsilon":0.001,"center":false,"scale":false})",
       {{1, 3}},
       {},
       floats({1, 3}, {-1.157978, 1.273776, -0.1157978})},
      {"LayerNormalization",
       R"({"axis":[1,2],"epsilon":0.001,"center":true,"scale":true})",
       {{1, 2, 2}},
       {{"gamma", {2, 2}}, {"beta", {2, 2}}},
       floats({1, 2, 2}, {0.8051303, 1.075688, -0.3449783, 0.8902823})},
  };
}

}  // namespace

TEST_CASE("TF.js layers: normalizations") {
  check_layers(normalization_cases(), model::tfjs::normalization_layers());
}

}  // namespace dala::test::tfjs
