// Fully connected layers and embeddings of TF.js layers models.
#include "model/import/tfjs/layers/layers_writer.hpp"

namespace dala::test::tfjs {
namespace {

std::vector<LayerCase> dense_cases() {
  return {
      {"Dense",
       R"({"units":2,"activation":"tanh","use_bias":true})",
       {{1, 3}},
       {{"kernel", {3, 2}}, {"bias", {2}}},
       floats({1, 2}, {0.6794679, -0.2595492})},
      {"Dense",
       R"({"units":2,"activation":"linear","use_bias":false})",
       {{1, 2, 3}},
       {{"kernel", {3, 2}}},
       floats({1, 2, 2}, {0.203125, -0.390625, 0.15625, -0.421875})},
      {"Embedding",
       R"({})",
       {{1, 3}},
       {{"embeddings", {4, 2}}},
       floats({1, 3, 2}, {-0.25, 0.625, -0.5, 0.375, 0.5, 0})},
      {"TimeDistributed",
       R"({"layer":{"class_name":"Dense","config":{"units":2,"activation":"relu","use_bias":true}}})",
       {{1, 2, 2}},
       {{"kernel", {2, 2}}, {"bias", {2}}},
       floats({1, 2, 2}, {0.765625, 0, 0.546875, 0.34375})},
      {"TimeDistributed",
       R"({"layer":{"class_name":"Activation","config":{"activation":"relu"}}})",
       {{1, 2, 2}},
       {},
       floats({1, 2, 2}, {0, 0.625, 0.125, 0})},
  };
}

}  // namespace

TEST_CASE("TF.js layers: fully connected layers and embeddings") {
  check_layers(dense_cases(), model::tfjs::dense_layers());
}

}  // namespace dala::test::tfjs
