// A pass for recurrent layers with constant weights, and the activations of recurrent layers.
#pragma once

#include <string>
#include <vector>

#include "model/graph/graph.hpp"

namespace dala::model {

// RNN, GRU and LSTM with constant weights become RecurrentLayer, with the weights arranged as the
// kernel `recurrent` reads them. Its inputs are x, the weights {features, columns} and biases
// {columns} of the input product, the weights of the state, peepholes or a bias, and, as in ONNX,
// sequence lengths, initial states and initial cells. Outputs that are not used are removed.
void pack_recurrent(Graph& graph);

struct RecurrentActivation {
  std::string name;  // as in ONNX
  double alpha = 0;
  double beta = 0;
};

// The activations of a node for all directions, with `defaults` for each that has none.
std::vector<RecurrentActivation> recurrent_activations(const Node& node,
                                                       const std::vector<std::string>& defaults,
                                                       int64_t directions);

// The default activations of a layer with that many gates.
std::vector<std::string> default_activations(int64_t gates);

}  // namespace dala::model
