// The table of the supported Keras layers by class name.
#pragma once

#include "model/import/tfjs/layers/layer_call.hpp"

namespace dala::model::tfjs {

// The families of layers. Each is a file of this folder that ends with its list.
Layers activation_layers();
Layers convolution_layers();
Layers dense_layers();
Layers merge_layers();
Layers movement_layers();
Layers normalization_layers();
Layers recurrent_layers();

// Throws `unsupported_op` for a layer that is not supported.
KerasValue run_layer(const KerasCall& call);

std::vector<std::string> keras_layer_names();  // sorted

}  // namespace dala::model::tfjs
