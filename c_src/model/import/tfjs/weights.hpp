// Reads the weights of a TF.js model. The manifest in model.json describes them; their values are
// stored back to back in the files it names (shards), and may cross file boundaries.
#pragma once

#include <map>
#include <string>

#include "model/graph/host_tensor.hpp"
#include "model/import/common/json.hpp"

namespace dala::model::tfjs {

using Weights = std::map<std::string, HostTensorPtr, std::less<>>;

// `model` is the content of model.json, `folder` the folder of the shards; if empty, a manifest
// with weights is rejected. The sizes of the shards are checked against the manifest before tensors
// are allocated. Throws `invalid_model`, or `unsupported_op` for an unsupported element type.
Weights read_weights(const Json& model, const std::string& folder);

}  // namespace dala::model::tfjs
