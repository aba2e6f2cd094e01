// The weights of a TF.js model: the manifest in model.json says what they are, and the files it
// names ("shards") hold their values one after the other, across the ends of files.
#pragma once

#include <map>
#include <string>

#include "model/host_tensor.hpp"
#include "model/json.hpp"

namespace dala::model::tfjs {

using Weights = std::map<std::string, HostTensorPtr, std::less<>>;

// `folder` is where the shards lie; empty: nowhere. Nothing is allocated before the shards are seen
// to be as long as the manifest says. Throws `invalid_model`, or `unsupported_op` for element types
// there are no tensors of.
Weights read_weights(const Json& manifest, const std::string& folder);

}  // namespace dala::model::tfjs
