#include "model/onnx/import.hpp"

#include <unordered_map>
#include <utility>

#include "model/onnx/schema.hpp"
#include "model/onnx/tensor.hpp"
#include "runtime/error.hpp"

namespace dala::model::onnx {
namespace {

constexpr int64_t kOldestOpset = 6;
constexpr int64_t kNewestOpset = 21;
constexpr size_t kMaxRank = 32;  // no operator needs more; a higher rank means a damaged file

[[noreturn]] void reject(const std::string& problem) {
  throw Error(Reason::invalid_model, problem);
}

class Importer {
 public:
  explicit Importer(std::string folder) : folder_(std::move(folder)) {}

  Graph run(Bytes file) {
    Bytes graph;
    Message message(file, "the model");
    bool has_graph = false;
    for (Field field; message.next(field);) {
      if (field.number == field::kModelProducerName) graph_.producer = field.text();
      if (field.number == field::kModelGraph) {
        graph = field.content();
        has_graph = true;
      }
      if (field.number == field::kModelOpsetImport) read_opset(field.content());
    }
    if (!has_graph) reject("the file has no graph: it is not an ONNX file");
    check_opset();
    read_graph(graph);
    check_order(graph_);
    return std::move(graph_);
  }

 private:
  void read_opset(Bytes bytes) {
    std::string_view domain;
    int64_t version = 0;
    Message message(bytes, "an operator set");
    for (Field field; message.next(field);) {
      if (field.number == field::kOperatorSetDomain) domain = field.text();
      if (field.number == field::kOperatorSetVersion) version = field.integer();
    }
    // A model may import operator sets of other domains only.
    const bool own = domain.empty() || domain == "ai.onnx";
    if (own || graph_.opset == 0) graph_.opset = own ? version : kNewestOpset;
  }

  void check_opset() const {
    if (graph_.opset >= kOldestOpset && graph_.opset <= kNewestOpset) return;
    if (graph_.opset <= 0) reject("the model imports no operator set");
    throw Error(Reason::unsupported, text("the model uses operator set ", graph_.opset,
                                          ", supported are ", kOldestOpset, " to ", kNewestOpset));
  }

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
          graph_.nodes.push_back(read_node(field.content()));
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
          throw Error(Reason::unsupported_op,
                      "the model has sparse weights, which are not supported");
        default:
          break;
      }
    }
    // Older files list initializers as inputs, too.
    std::erase_if(graph_.inputs,
                  [this](const Port& port) { return graph_.constants.count(port.tensor) != 0; });
    if (graph_.outputs.empty()) reject("the graph has no outputs");
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
    for (Bytes each : attributes) {
      try {
        read_attribute(each, node);
      } catch (const Error& problem) {
        if (problem.reason != Reason::unsupported_op) throw;
        node.unreadable = problem.message;
      }
    }
    return node;
  }

  void read_attribute(Bytes bytes, Node& node) {
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
    if (other || (type == kTensor && attribute.tensor == nullptr)) {
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
    Message type_message(type, "the type of an input or output");
    bool tensor = false;
    for (Field field; type_message.next(field);) {
      if (field.number == field::kTypeTensor) {
        tensor = true;
        read_tensor_type(field.content(), port);
      } else if (field.number != field::kTypeDenotation) {
        throw Error(Reason::unsupported_op,
                    text("\"", port.name,
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

  std::string folder_;
  Graph graph_;
  std::unordered_map<std::string, TensorId> ids_;
};

}  // namespace

Graph import(Bytes file, const std::string& folder) { return Importer(folder).run(file); }

}  // namespace dala::model::onnx
