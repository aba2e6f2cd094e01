#include "model/import/onnx/import.hpp"

#include <set>
#include <unordered_map>
#include <utility>

#include "model/graph/problem.hpp"
#include "model/import/onnx/contrib.hpp"
#include "model/import/onnx/schema.hpp"
#include "model/import/onnx/weights.hpp"
#include "runtime/error.hpp"

namespace dala::model::onnx {
namespace {

constexpr int64_t kOldestOpset = 1;
constexpr int64_t kFirstWholeOpset = 6;  // of which all operators are supported as they are
constexpr int64_t kNewestOpset = 25;
constexpr int kMaxDepth = 32;    // of nested graphs
constexpr size_t kMaxRank = 32;  // no operator needs more; a higher rank means a damaged file

bool same_value(const HostTensorPtr& a, const HostTensorPtr& b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->type == b->type && a->shape == b->shape && a->bytes == b->bytes;
}

// Whether two Constant nodes have the same value.
bool same_constant(const Node& a, const Node& b) {
  if (a.op != "Constant" || b.op != "Constant" || a.attributes.size() != b.attributes.size()) {
    return false;
  }
  for (const auto& [name, one] : a.attributes) {
    const auto found = b.attributes.find(name);
    if (found == b.attributes.end()) return false;
    const Attribute& other = found->second;
    if (one.integer != other.integer || one.real != other.real || one.text != other.text ||
        one.integers != other.integers || one.reals != other.reals || one.texts != other.texts ||
        !same_value(one.tensor, other.tensor)) {
      return false;
    }
  }
  return true;
}

// Reads a GraphProto: the graph of the model, or one in an attribute of a node.
class GraphReader {
 public:
  GraphReader(const std::string& folder, int64_t opset, int depth)
      : folder_(folder), depth_(depth) {
    graph_.opset = opset;
  }

  Graph model_graph(Bytes bytes) {
    read_graph(bytes);
    sort_nodes(graph_);
    check_order(graph_);
    return std::move(graph_);
  }

  // Values of the graph around it that the graph uses become further inputs. `capture` returns the
  // node's input for such a name.
  template <typename Capture>
  Subgraph nested_graph(Bytes bytes, const Capture& capture) {
    read_graph(bytes);
    sort_nodes(graph_);
    std::vector<bool> defined(graph_.names.size(), false);
    const auto define = [&defined](TensorId id) {
      if (id != kNone) defined[static_cast<size_t>(id)] = true;
    };
    for (const auto& [id, tensor] : graph_.constants) define(id);
    for (const Port& port : graph_.inputs) define(port.tensor);
    for (const Node& node : graph_.nodes) {
      for (TensorId id : node.outputs) define(id);
    }
    Subgraph nested;
    const auto use = [&](TensorId id) {
      if (id == kNone || defined[static_cast<size_t>(id)]) return;
      define(id);
      Port port;
      port.name = graph_.name_of(id);
      port.tensor = id;
      nested.captures.push_back(capture(port.name));
      graph_.inputs.push_back(std::move(port));
    };
    for (const Node& node : graph_.nodes) {
      for (TensorId id : node.inputs) use(id);
    }
    for (const Port& port : graph_.outputs) use(port.tensor);
    check_order(graph_);
    nested.graph = std::move(graph_);
    return nested;
  }

 private:
  TensorId id_of(std::string_view name) {
    if (name.empty()) return kNone;
    const auto [found, added] =
        ids_.emplace(std::string(name), static_cast<TensorId>(graph_.names.size()));
    if (added) graph_.names.emplace_back(name);
    return found->second;
  }

  void read_graph(Bytes bytes) {
    Message message(bytes, "the graph");
    for (Field field; message.next(field);) {
      switch (field.number) {
        case field::kGraphNode:
          add_node(read_node(field.content()));
          break;
        case field::kGraphInitializer: {
          NamedTensor named = read_tensor(field.content(), folder_);
          if (named.name.empty()) reject("an initializer has no name");
          graph_.constants[id_of(named.name)] = std::move(named.tensor);
          break;
        }
        case field::kGraphInput:
          graph_.inputs.push_back(read_port(field.content()));
          break;
        case field::kGraphOutput:
          graph_.outputs.push_back(read_port(field.content()));
          break;
        case field::kGraphSparseInitializer:
          unsupported("the model has sparse weights, which are not supported");
        default:
          break;
      }
    }
    // Older files list initializers as inputs, too.
    std::erase_if(graph_.inputs,
                  [this](const Port& port) { return graph_.constants.count(port.tensor) != 0; });
    if (graph_.outputs.empty()) reject("the graph has no outputs");
    lower_contrib(graph_);
  }

  // Some exporters write the same Constant several times.
  void add_node(Node node) {
    if (node.op == "Constant" && node.outputs.size() == 1) {
      const auto [found, added] = constant_nodes_.emplace(node.outputs[0], graph_.nodes.size());
      if (!added && same_constant(graph_.nodes[found->second], node)) return;
    }
    graph_.nodes.push_back(std::move(node));
  }

  Node read_node(Bytes bytes) {
    Node node;
    std::vector<Bytes> attributes;
    Message message(bytes, "a node");
    for (Field field; message.next(field);) {
      switch (field.number) {
        case field::kNodeInput:
          node.inputs.push_back(id_of(field.text()));
          break;
        case field::kNodeOutput:
          node.outputs.push_back(id_of(field.text()));
          break;
        case field::kNodeName:
          node.name = field.text();
          break;
        case field::kNodeOpType:
          node.op = field.text();
          break;
        case field::kNodeAttribute:
          attributes.push_back(field.content());
          break;
        case field::kNodeDomain:
          node.domain = field.text();
          break;
        default:
          break;
      }
    }
    if (node.domain == "ai.onnx") node.domain.clear();
    if (node.op.empty()) reject("a node has no operator");
    const size_t own_inputs = node.inputs.size();
    for (Bytes each : attributes) {
      try {
        read_attribute(each, node, own_inputs);
      } catch (const Error& problem) {
        if (problem.reason != Reason::unsupported_op) throw;
        node.unreadable = problem.message;
      }
    }
    return node;
  }

  // A graph in an attribute. The values that it captures are appended to the node's inputs, of
  // which the first `own` are those of the file.
  std::shared_ptr<const Subgraph> read_nested(Bytes bytes, Node& node, size_t own) {
    if (depth_ >= kMaxDepth) {
      reject(text("graphs are nested more than ", kMaxDepth, " levels deep"));
    }
    GraphReader reader(folder_, graph_.opset, depth_ + 1);
    return std::make_shared<Subgraph>(reader.nested_graph(bytes, [&](const std::string& captured) {
      const TensorId id = id_of(captured);
      for (size_t i = own; i < node.inputs.size(); ++i) {
        if (node.inputs[i] == id) return i;
      }
      node.inputs.push_back(id);
      return node.inputs.size() - 1;
    }));
  }

  void read_attribute(Bytes bytes, Node& node, size_t own_inputs) {
    std::string name;
    int64_t type = 0;
    Attribute attribute;
    std::vector<float> floats;
    std::vector<int64_t> integers;
    std::vector<std::string> texts;
    bool other = false;
    Message message(bytes, "an attribute");
    for (Field field; message.next(field);) {
      switch (field.number) {
        case field::kAttributeName:
          name = field.text();
          break;
        case field::kAttributeFloat:
          attribute.real = field.real();
          break;
        case field::kAttributeInt:
          attribute.integer = field.integer();
          break;
        case field::kAttributeString:
          attribute.text = std::string(field.text());
          break;
        case field::kAttributeTensor:
          attribute.tensor = read_tensor(field.content(), folder_).tensor;
          break;
        case field::kAttributeGraph:
          attribute.graph = read_nested(field.content(), node, own_inputs);
          break;
        case field::kAttributeFloats:
          append_floats(field, floats);
          break;
        case field::kAttributeInts:
          append_integers(field, integers);
          break;
        case field::kAttributeStrings:
          texts.emplace_back(field.text());
          break;
        case field::kAttributeDocString:
          break;
        case field::kAttributeType:
          type = field.integer();
          break;
        default:
          other = true;
          break;
      }
    }
    if (name.empty()) reject(text("an attribute of ", describe(node), " has no name"));
    // A field with the default value (0, or an empty list) may be absent from the file.
    if (type == kFloat && !attribute.real) attribute.real = 0.0;
    if (type == kInt && !attribute.integer) attribute.integer = 0;
    if (type == kString && !attribute.text) attribute.text = std::string();
    if (type == kFloats || !floats.empty()) attribute.reals.emplace(floats.begin(), floats.end());
    if (type == kInts || !integers.empty()) attribute.integers = std::move(integers);
    if (type == kStrings || !texts.empty()) attribute.texts = std::move(texts);
    if (other || (type == kTensor && attribute.tensor == nullptr) ||
        (type == kGraph && attribute.graph == nullptr)) {
      node.unreadable = text("attribute ", name, " of a type that is not supported");
    }
    node.attributes[name] = std::move(attribute);
  }

  Port read_port(Bytes bytes) {
    Port port;
    Bytes type;
    Message message(bytes, "an input or output");
    for (Field field; message.next(field);) {
      if (field.number == field::kValueInfoName) port.name = field.text();
      if (field.number == field::kValueInfoType) type = field.content();
    }
    port.tensor = id_of(port.name);
    if (port.tensor == kNone) reject("an input or output has no name");
    // Ports of nested graphs need not declare a type.
    if (depth_ > 0 && type.empty()) return port;
    Message type_message(type, "the type of an input or output");
    bool tensor = false;
    for (Field field; type_message.next(field);) {
      if (field.number == field::kTypeTensor) {
        tensor = true;
        read_tensor_type(field.content(), port);
      } else if (field.number != field::kTypeDenotation) {
        unsupported(text("\"", port.name,
                         "\" is not a tensor; sequences, maps and optional values "
                         "are not supported"));
      }
    }
    if (!tensor) reject(text("\"", port.name, "\" has no type"));
    return port;
  }

  static void read_tensor_type(Bytes bytes, Port& port) {
    Message message(bytes, "a tensor's type");
    for (Field field; message.next(field);) {
      if (field.number == field::kTensorTypeElementType) port.type = element_type(field.integer());
      if (field.number == field::kTensorTypeShape) {
        port.shape.emplace();
        Message shape(field.content(), "a shape");
        for (Field dimension; shape.next(dimension);) {
          if (dimension.number == field::kTensorShapeDimension) {
            port.shape->push_back(read_dimension(dimension.content()));
          }
        }
        if (port.shape->size() > kMaxRank) {
          reject(text("\"", port.name, "\" has ", port.shape->size(), " dimensions, at most ",
                      kMaxRank, " are supported"));
        }
      }
    }
  }

  static Dimension read_dimension(Bytes bytes) {
    Dimension dimension;
    Message message(bytes, "a dimension");
    for (Field field; message.next(field);) {
      if (field.number == field::kDimensionValue) dimension.size = field.integer();
      if (field.number == field::kDimensionParam) dimension.name = field.text();
    }
    // Some exporters write -1 for an unknown dimension.
    if (dimension.size && *dimension.size < 0) dimension.size.reset();
    return dimension;
  }

  const std::string& folder_;
  const int depth_;
  Graph graph_;
  std::unordered_map<std::string, TensorId> ids_;
  std::unordered_map<TensorId, size_t> constant_nodes_;  // by output, the number of the node
};

// Operators of the first sets that have been the same ever since, but for types.
void check_early_operators(const Graph& graph) {
  static const std::set<std::string> same{
      "And",       "Conv",       "DepthToSpace",  "Flatten",      "GlobalAveragePool",
      "LRN",       "MaxPool",    "GlobalMaxPool", "Identity",     "Not",
      "Softmax",   "ReduceMean", "ReduceSum",     "ReduceMax",    "Softplus",
      "Shape",     "Size",       "Softsign",      "SpaceToDepth", "Squeeze",
      "Transpose", "Unsqueeze"};
  if (graph.opset >= kFirstWholeOpset) return;
  for (const Node& node : graph.nodes) {
    if (node.domain.empty() && same.count(node.op) == 0) {
      throw Error(Reason::unsupported,
                  text("the model uses ", describe(node), " of operator set ", graph.opset,
                       ", which is supported from operator set ", kFirstWholeOpset, " on"));
    }
  }
}

// The version of the operator set of ONNX's own domain.
class OpsetImports {
 public:
  void read(Bytes bytes) {
    std::string_view domain;
    int64_t version = 0;
    Message message(bytes, "an operator set");
    for (Field field; message.next(field);) {
      if (field.number == field::kOperatorSetDomain) domain = field.text();
      if (field.number == field::kOperatorSetVersion) version = field.integer();
    }
    // A model may import operator sets of other domains only.
    const bool own = domain.empty() || domain == "ai.onnx";
    if (own || version_ == 0) version_ = own ? version : kNewestOpset;
  }

  int64_t checked() const {
    if (version_ >= kOldestOpset && version_ <= kNewestOpset) return version_;
    if (version_ <= 0) reject("the model imports no operator set");
    throw Error(Reason::unsupported, text("the model uses operator set ", version_,
                                          ", supported are ", kOldestOpset, " to ", kNewestOpset));
  }

 private:
  int64_t version_ = 0;
};

}  // namespace

Graph import(Bytes file, const std::string& folder) {
  std::optional<Bytes> graph;
  std::string producer;
  OpsetImports opset;
  Message message(file, "the model");
  for (Field field; message.next(field);) {
    if (field.number == field::kModelProducerName) producer = field.text();
    if (field.number == field::kModelGraph) graph = field.content();
    if (field.number == field::kModelOpsetImport) opset.read(field.content());
  }
  if (!graph) reject("the file has no graph: it is not an ONNX file");
  Graph result = GraphReader(folder, opset.checked(), 0).model_graph(*graph);
  result.producer = producer;
  check_early_operators(result);
  return result;
}

}  // namespace dala::model::onnx
