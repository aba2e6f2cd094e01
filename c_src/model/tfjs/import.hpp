// Reads TF.js graph models: model.json, and the files of weights beside it. Trusts nothing in them:
// a model that is wrong is `invalid_model` with what is wrong about it. Operators become those of
// ONNX, each by a function in ops/.
#pragma once

#include <span>
#include <string>

#include "model/graph.hpp"

namespace dala::model::tfjs {

// Whether a file is JSON, as no file of another format is.
bool is_json(std::span<const std::byte> file);

// `folder` is where the weights lie; empty: nowhere.
Graph import(std::span<const std::byte> file, const std::string& folder);

}  // namespace dala::model::tfjs
