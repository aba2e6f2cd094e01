// Reads TF.js layers models: the configuration of a Keras model (Sequential or functional) and its
// weights.
#pragma once

#include <string>

#include "model/graph/graph.hpp"
#include "model/import/common/json.hpp"

namespace dala::model::tfjs {

// Whether the model.json is that of a layers model.
bool has_layers(const Json& json);

// Throws `invalid_model` for a damaged file. Layers that are not supported are operators of the
// graph with which loading fails.
Graph import_layers(const Json& json, const std::string& folder);

}  // namespace dala::model::tfjs
