#include "model/import/tfjs/import.hpp"

#include <set>
#include <utility>

#include "model/graph/problem.hpp"
#include "model/import/tfjs/layers/import.hpp"
#include "model/import/tfjs/scope.hpp"
#include "model/import/tfjs/table.hpp"
#include "runtime/error.hpp"

namespace dala::model::tfjs {
namespace {

std::string_view text_of(std::span<const std::byte> file) {
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

// The element type of a node's output. More specific attributes take precedence.
ElementType type_of(const NodeDef& node, size_t output) {
  static const std::set<std::string> boolean_operators{
      "All",       "Any",        "Equal",     "Greater",    "GreaterEqual", "IsNan",   "Less",
      "LessEqual", "LogicalAnd", "LogicalOr", "LogicalXor", "LogicalNot",   "NotEqual"};
  static const std::set<std::string> integer_operators{"ArgMax", "ArgMin", "Shape",
                                                       "Size",   "Rank",   "Where"};
  if (boolean_operators.count(node.op) != 0) return ElementType::boolean;
  if (integer_operators.count(node.op) != 0) return ElementType::i32;
  if (node.op == "TopKV2" && output == 1) return ElementType::i32;
  if (node.op.rfind("NonMaxSuppression", 0) == 0) {
    const bool scores = node.op == "NonMaxSuppressionV5" && output == 1;
    return scores ? ElementType::f32 : ElementType::i32;
  }
  for (const char* attribute : {"DstT", "dtype", "T", "Tparams", "Tidx"}) {
    if (const auto type = node.type(attribute)) return *type;
  }
  return ElementType::f32;
}

class Importer {
 public:
  Importer(const Json& json, const std::string& folder) : json_(json), folder_(folder) {
    library_.producer = producer_of(json);
  }

  Graph run() {
    const Json& topology = topology_of();
    nodes_ = read_nodes(*topology.find("node"));
    for (size_t i = 0; i < nodes_.size(); ++i) numbers_[nodes_[i].name] = i;
    read_signature();
    find_outputs();
    library_.needed = needed_nodes();
    library_.functions = read_functions(topology);
    if (const auto unknown = unknown_nodes(); !unknown.empty()) return refused(unknown);

    library_.weights = read_weights(json_, folder_);
    Scope scope(library_, nodes_);
    make_inputs(scope);
    for (const Output& output : outputs_) {
      const TensorId tensor = scope.value(output.source, output.name);
      scope.builder().output({output.name, tensor, output.type, output.shape, {}});
    }
    return scope.finish();
  }

 private:
  struct Output {
    std::string name;
    Source source;
    ElementType type = ElementType::f32;
    std::optional<std::vector<Dimension>> shape;
  };

  static std::string producer_of(const Json& json) {
    for (const char* key : {"convertedBy", "generatedBy"}) {
      const Json* value = json.find(key);
      if (value != nullptr && value->is_text()) return value->text(key);
    }
    return "";
  }

  const Json& topology_of() const {
    const Json* topology = json_.find("modelTopology");
    if (topology == nullptr || topology->find("node") == nullptr) {
      reject("the file has no nodes: it is not a TF.js graph model");
    }
    return *topology;
  }

  Source source_of(const std::string& reference) const {
    const auto [name, output] = split_output(reference);
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) reject(text("node \"", name, "\" does not exist"));
    return {found->second, output};
  }

  // Newer files have the signature at the top level, older ones in userDefinedMetadata.
  void read_signature() {
    const Json* signature = json_.find("signature");
    const Json* metadata = json_.find("userDefinedMetadata");
    if (signature == nullptr && metadata != nullptr) signature = metadata->find("signature");
    if (signature == nullptr) return;
    const auto read = [&](const char* which, auto&& visit) {
      const Json* ports = signature->find(which);
      if (ports == nullptr || ports->is_null()) return;
      for (const auto& [key, value] : ports->object(text("the signature's ", which))) {
        const std::string what = text("\"", key, "\" of the signature");
        const Json* tensor = value.find("name");
        const Json* type = value.find("dtype");
        const Json* shape = value.find("tensorShape");
        Output port;
        port.name = key;
        port.source = source_of(tensor == nullptr ? key : tensor->text(what));
        port.type = type == nullptr ? type_of(nodes_[port.source.node], port.source.output)
                                    : element_type_of(*type, what);
        if (shape != nullptr) port.shape = read_shape(*shape, what);
        visit(std::move(port));
      }
    };
    read("inputs", [&](Output port) {
      if (nodes_[port.source.node].op != "Placeholder") {
        reject(text("the input \"", port.name, "\" is not a placeholder"));
      }
      signature_inputs_.push_back(std::move(port));
    });
    read("outputs", [&](Output port) { outputs_.push_back(std::move(port)); });
  }

  // Without a signature, the outputs are the nodes that no other node uses.
  void find_outputs() {
    if (!outputs_.empty()) return;
    std::vector<bool> used(nodes_.size(), false);
    for (const NodeDef& node : nodes_) {
      for (const Source& source : node.inputs) used[source.node] = true;
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const std::string& op = nodes_[i].op;
      if (used[i] || op == "NoOp" || op == "Const" || op == "Placeholder" || op == "Assert")
        continue;
      outputs_.push_back({nodes_[i].name, {i, 0}, type_of(nodes_[i], 0), std::nullopt});
    }
    if (outputs_.empty()) reject("the graph has no outputs");
  }

  std::vector<bool> needed_nodes() const {
    std::vector<bool> needed(nodes_.size(), false);
    std::vector<size_t> left;
    const auto need = [&](size_t node) {
      if (!needed[node]) left.push_back(node);
      needed[node] = true;
    };
    for (const Output& output : outputs_) need(output.source.node);
    while (!left.empty()) {
      const NodeDef& node = nodes_[left.back()];
      left.pop_back();
      for (const Source& source : node.inputs) need(source.node);
    }
    return needed;
  }

  std::vector<size_t> unknown_nodes() const {
    std::vector<size_t> unknown;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const std::string& op = nodes_[i].op;
      if (library_.needed[i] && !is_structural(op) && find_operator(op) == nullptr) {
        unknown.push_back(i);
      }
    }
    return unknown;
  }

  // A graph of the unsupported operators only; loading it fails with their names, without reading
  // the weights.
  Graph refused(const std::vector<size_t>& unknown) const {
    GraphBuilder builder("tfjs", library_.producer);
    TensorId any = kNone;
    for (size_t node : unknown) {
      builder.set_layer(nodes_[node].name);
      any = builder.add_unsupported(nodes_[node].op, {}, 1)[0];
    }
    builder.output({outputs_[0].name, any, ElementType::f32, std::nullopt, {}});
    return builder.finish();
  }

  void make_inputs(Scope& scope) const {
    std::set<size_t> made;
    const auto make = [&](size_t number, const std::string& name,
                          const std::optional<std::vector<Dimension>>& fallback) {
      const NodeDef& node = nodes_[number];
      if (!made.insert(number).second) reject(text("\"", name, "\" is an input more than once"));
      Port port;
      port.name = name;
      port.type = node.type("dtype").value_or(ElementType::f32);
      port.shape = node.shape("shape");
      if (!port.shape) port.shape = fallback;
      scope.bind(number, scope.builder().input(std::move(port)));
    };
    for (const Output& port : signature_inputs_) make(port.source.node, port.name, port.shape);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].op == "Placeholder" && made.count(i) == 0)
        make(i, nodes_[i].name, std::nullopt);
    }
  }

  const Json& json_;
  const std::string& folder_;
  std::vector<NodeDef> nodes_;
  std::map<std::string, size_t> numbers_;
  std::vector<Output> signature_inputs_;
  std::vector<Output> outputs_;
  Library library_;
};

}  // namespace

bool is_json(std::span<const std::byte> file) {
  const std::string_view text = text_of(file);
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

Graph import(std::span<const std::byte> file, const std::string& folder) {
  const Json json = Json::parse(text_of(file));
  if (has_layers(json)) return import_layers(json, folder);
  return Importer(json, folder).run();
}

}  // namespace dala::model::tfjs
