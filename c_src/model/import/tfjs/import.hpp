// The importer of TF.js graph models: model.json and the weight files next to it. Files are
// untrusted: an invalid model is reported as `invalid_model`. Each operator is translated to ONNX
// by a function in ops/.
#pragma once

#include <span>
#include <string>

#include "model/graph/graph.hpp"

namespace dala::model::tfjs {

// Whether a file is JSON, which no other supported format is.
bool is_json(std::span<const std::byte> file);

// `folder` is the folder of the weight files; if empty, a model with weight files is rejected.
Graph import(std::span<const std::byte> file, const std::string& folder);

}  // namespace dala::model::tfjs
