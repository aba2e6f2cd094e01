// Reads the weights of a TF.js model. The manifest in model.json describes them; their values are
// stored back to back in the files it names (shards), and may cross file boundaries.
#pragma once

#include <map>
#include <string>

#include "model/host_tensor.hpp"
#include "model/json.hpp"

namespace dala::model::tfjs {

using Weights = std::map<std::string, HostTensorPtr, std::less<>>;

// `folder` is the folder of the shards; if empty, a manifest with weights is rejected. The sizes of
// the shards are checked against the manifest before tensors are allocated. Throws `invalid_model`,
// or `unsupported_op` for an unsupported element type.
Weights read_weights(const Json& manifest, const std::string& folder);

}  // namespace dala::model::tfjs
