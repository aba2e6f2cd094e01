#include "model/onnx/import.hpp"

#include <unordered_map>
#include <utility>

#include "model/onnx/tensor.hpp"
#include "runtime/error.hpp"

namespace dala::model::onnx {
namespace {

// What attributes are marked as, where they are.
enum AttributeKind {
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
};

// What operators need is at most this, with room; deeper or longer ones come from broken files.
constexpr int64_t kOldestOpset = 6;
constexpr int64_t kNewestOpset = 21;
constexpr size_t kMostRank = 32;

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
      if (field.number == 2) graph_.producer = field.text();
      if (field.number == 7) {
        graph = field.content();
        has_graph = true;
      }
      if (field.number == 8) read_opset(field.content());
    }
    if (!has_graph) reject("there is no graph in it: this is not an ONNX file");
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
      if (field.number == 1) domain = field.text();
      if (field.number == 2) version = field.integer();
    }
    // A model may use nothing but the operators of others.
    const bool own = domain.empty() || domain == "ai.onnx";
    if (own || graph_.opset == 0) graph_.opset = own ? version : kNewestOpset;
  }

  void check_opset() const {
    if (graph_.opset >= kOldestOpset && graph_.opset <= kNewestOpset) return;
    if (graph_.opset <= 0) reject("it names no operator set");
    throw Error(Reason::unsupported,
                text("the model uses operator set ", graph_.opset, ", those from ", kOldestOpset,
                     " to ", kNewestOpset, " are supported"));
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
        case 1:
          graph_.nodes.push_back(read_node(field.content()));
          break;
        case 5: {
          NamedTensor named = read_tensor(field.content(), folder_);
          if (named.name.empty()) reject("a weight has no name");
          graph_.constants[id_of(named.name)] = std::move(named.tensor);
          break;
        }
        case 11:
          graph_.inputs.push_back(read_port(field.content()));
          break;
        case 12:
          graph_.outputs.push_back(read_port(field.content()));
          break;
        case 15:
          throw Error(Reason::unsupported_op,
                      "the model has sparse weights, which are not supported");
        default:
          break;
      }
    }
    // Weights are listed among the inputs in older files.
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
        case 1:
          node.inputs.push_back(id_of(field.text()));
          break;
        case 2:
          node.outputs.push_back(id_of(field.text()));
          break;
        case 3:
          node.name = field.text();
          break;
        case 4:
          node.op = field.text();
          break;
        case 5:
          attributes.push_back(field.content());
          break;
        case 7:
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
    int64_t kind = 0;
    Attribute attribute;
    std::vector<float> floats;
    std::vector<int64_t> integers;
    std::vector<std::string> texts;
    bool other = false;
    Message message(bytes, "an attribute");
    for (Field field; message.next(field);) {
      switch (field.number) {
        case 1:
          name = field.text();
          break;
        case 2:
          attribute.real = field.real();
          break;
        case 3:
          attribute.integer = field.integer();
          break;
        case 4:
          attribute.text = std::string(field.text());
          break;
        case 5:
          attribute.tensor = read_tensor(field.content(), folder_).tensor;
          break;
        case 7:
          append_floats(field, floats);
          break;
        case 8:
          append_integers(field, integers);
          break;
        case 9:
          texts.emplace_back(field.text());
          break;
        case 13:
          break;
        case 20:
          kind = field.integer();
          break;
        default:
          other = true;
          break;
      }
    }
    if (name.empty()) reject(text("an attribute of ", describe(node), " has no name"));
    // Numbers that are 0, and lists that are empty, need not be in the file.
    if (kind == kFloat && !attribute.real) attribute.real = 0.0;
    if (kind == kInt && !attribute.integer) attribute.integer = 0;
    if (kind == kString && !attribute.text) attribute.text = std::string();
    if (kind == kFloats || !floats.empty()) attribute.reals.emplace(floats.begin(), floats.end());
    if (kind == kInts || !integers.empty()) attribute.integers = std::move(integers);
    if (kind == kStrings || !texts.empty()) attribute.texts = std::move(texts);
    if (other || (kind == kTensor && attribute.tensor == nullptr)) {
      node.unreadable = text("attribute ", name, " is of a kind that is not supported");
    }
    node.attributes[name] = std::move(attribute);
  }

  Port read_port(Bytes bytes) {
    Port port;
    Bytes type;
    Message message(bytes, "an input or output");
    for (Field field; message.next(field);) {
      if (field.number == 1) port.name = field.text();
      if (field.number == 2) type = field.content();
    }
    port.tensor = id_of(port.name);
    if (port.tensor == kNone) reject("an input or output has no name");
    Message type_message(type, "the type of an input or output");
    bool tensor = false;
    for (Field field; type_message.next(field);) {
      if (field.number == 1) {
        tensor = true;
        read_tensor_type(field.content(), port);
      } else if (field.number != 6) {
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
      if (field.number == 1) port.type = element_type(field.integer());
      if (field.number == 2) {
        port.shape.emplace();
        Message shape(field.content(), "a shape");
        for (Field dimension; shape.next(dimension);) {
          if (dimension.number == 1) port.shape->push_back(read_dimension(dimension.content()));
        }
        if (port.shape->size() > kMostRank)
          reject(text("\"", port.name, "\" has too many dimensions"));
      }
    }
  }

  static Dimension read_dimension(Bytes bytes) {
    Dimension dimension;
    Message message(bytes, "a dimension");
    for (Field field; message.next(field);) {
      if (field.number == 1) dimension.size = field.integer();
      if (field.number == 2) dimension.name = field.text();
    }
    // Some exporters write -1 for what is not known.
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
