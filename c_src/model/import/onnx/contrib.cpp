#include "model/import/onnx/contrib.hpp"

#include <set>
#include <utility>

#include "model/graph/graph_uses.hpp"
#include "model/import/onnx/quantized_lstm.hpp"
#include "model/import/onnx/quantized_operators.hpp"
#include "runtime/error.hpp"

namespace dala::model::onnx {
namespace {

constexpr const char* kDomain = "com.microsoft";

// Operators that model/ops has under the same names, with the same inputs and attributes.
const std::set<std::string> kSame{"BiasGelu",
                                  "FastGelu",
                                  "FusedMatMul",
                                  "Gelu",
                                  "QuickGelu",
                                  "SimplifiedLayerNormalization",
                                  "SkipLayerNormalization",
                                  "SkipSimplifiedLayerNormalization",
                                  "TransposeMatMul"};

// The activation of a fused node, with its parameters under the names of the ONNX operator.
Node activation_of(const Node& node) {
  Node activation;
  activation.op = text_of(node, "activation", "");
  activation.name = node.name;
  std::vector<double> params;
  const auto listed = node.attributes.find("activation_params");
  if (listed != node.attributes.end() && listed->second.reals) params = *listed->second.reals;
  for (const char* name : {"activation_alpha", "activation_beta"}) {
    const auto found = node.attributes.find(name);
    if (found != node.attributes.end() && found->second.real) params.push_back(*found->second.real);
  }
  std::vector<const char*> names;
  if (activation.op == "LeakyRelu" || activation.op == "Elu") names = {"alpha"};
  if (activation.op == "HardSigmoid") names = {"alpha", "beta"};
  if (activation.op == "Clip") names = {"min", "max"};
  for (size_t i = 0; i < names.size() && i < params.size(); ++i) {
    activation.attributes[names[i]].real = params[i];
  }
  static const std::set<std::string> known{"Relu",        "Tanh", "Sigmoid", "LeakyRelu",
                                           "HardSigmoid", "Clip", "Elu",     ""};
  if (known.count(activation.op) == 0) {
    activation.unreadable = text("activation ", activation.op);
  }
  return activation;
}

// FusedConv is activation(Conv(x, w, b) + z), FusedGemm activation(Gemm(a, b, c)).
void split_fused(Graph& graph, Node node, std::vector<Node>& nodes) {
  Node activation = activation_of(node);
  if (!activation.unreadable.empty()) {
    node.unreadable = activation.unreadable;
    nodes.push_back(std::move(node));
    return;
  }
  const bool convolution = node.op == "FusedConv";
  node.op = convolution ? "Conv" : "Gemm";
  node.domain.clear();
  for (const char* each : {"activation", "activation_params", "activation_alpha", "activation_beta",
                           "activation_gamma"}) {
    node.attributes.erase(each);
  }
  const TensorId result = node.outputs.empty() ? kNone : node.outputs[0];
  std::vector<Node> chain;
  const auto then = [&](Node next) {
    Node& last = chain.empty() ? node : chain.back();
    const TensorId between = add_tensor(graph, graph.name_of(result) + " before " + next.op);
    last.outputs = {between};
    next.inputs.insert(next.inputs.begin(), between);
    next.outputs = {result};
    chain.push_back(std::move(next));
  };
  if (convolution && node.inputs.size() > 3) {
    const TensorId residual = node.inputs[3];
    node.inputs.resize(3);
    if (residual != kNone && result != kNone) {
      Node sum;
      sum.op = "Add";
      sum.name = node.name;
      sum.inputs = {residual};
      then(std::move(sum));
    }
  }
  if (!activation.op.empty() && result != kNone) then(std::move(activation));
  nodes.push_back(std::move(node));
  for (Node& each : chain) nodes.push_back(std::move(each));
}

}  // namespace

void lower_contrib(Graph& graph) {
  std::vector<Node> nodes;
  nodes.reserve(graph.nodes.size());
  for (Node& node : graph.nodes) {
    if (node.domain != kDomain) {
      nodes.push_back(std::move(node));
    } else if (node.op == "FusedConv" || node.op == "FusedGemm") {
      split_fused(graph, std::move(node), nodes);
    } else if (node.op == "DynamicQuantizeLSTM" && node.inputs.size() > 10) {
      lower_quantized_lstm(graph, std::move(node), nodes);
    } else if (!lower_quantized(graph, node, nodes)) {
      if (kSame.count(node.op) != 0) node.domain.clear();
      nodes.push_back(std::move(node));
    }
  }
  graph.nodes = std::move(nodes);
}

}  // namespace dala::model::onnx
