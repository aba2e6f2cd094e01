// Translates nodes of TensorFlow into one graph: that of the model, of a function, of the body of a
// loop, or of a branch. Loops and branches of either generation become nodes While and If, whose
// nested graphs are scopes of their own.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/graph/graph_builder.hpp"
#include "model/import/tfjs/control_flow.hpp"
#include "model/import/tfjs/weights.hpp"

namespace dala::model::tfjs {

// The data that all scopes of a model share.
struct Library {
  std::string producer;
  Weights weights;
  std::map<std::string, Function> functions;
  std::vector<bool> needed;  // of the model's own nodes: an output depends on them
  size_t results = 0;        // outputs of all nodes so far
  int depth = 0;             // of the calls that translate, as nested graphs are
};

// Whether Scope itself translates the operator; all others are in the table of operators.
bool is_structural(const std::string& op);

class Scope {
 public:
  // The model, or a function.
  Scope(Library& library, const Nodes& nodes);
  // A part of the same nodes: those inside depend on what is bound here; the others are captured.
  Scope(Scope& parent, const std::set<size_t>& inside);

  GraphBuilder& builder() { return builder_; }
  // Makes all outputs of a node this tensor.
  void bind(size_t node, TensorId tensor);
  // An input that is passed to the graph, for that node.
  void add_input(size_t node);
  // These nodes Switch pass their input on: the scope is the branch that they open.
  void open(const std::vector<size_t>& switches);

  // The tensor of a source; what it needs is translated first. `who` is for messages.
  TensorId value(const Source& source, const std::string& who);
  void add_output(const Source& source);

  Graph finish() { return builder_.finish(); }

 private:
  enum class State : uint8_t { fresh, waiting, made };

  bool is_captured(size_t node) const;
  TensorId capture(const Source& source);
  std::vector<Source> needs_of(size_t node) const;
  void make(size_t node);
  void make_node(size_t node);
  void make_operator(size_t node);
  void make_loop(size_t exit);
  void make_branches(size_t merge);
  std::vector<size_t> joined_with(size_t merge, const Source& condition) const;
  void make_function_loop(size_t node);
  void make_function_branches(size_t node);
  Graph function_graph(const std::string& name, size_t arguments);
  void set(size_t node, std::vector<TensorId> outputs);
  // The scope's graph as an attribute of a node with these inputs, to which it adds the captured
  // values.
  Attribute nested(std::vector<TensorId>& inputs);

  Library& library_;
  const Nodes& nodes_;
  Scope* const parent_ = nullptr;
  const std::set<size_t>* const inside_ = nullptr;
  std::set<size_t> open_;
  GraphBuilder builder_;
  std::vector<State> states_;
  std::vector<std::vector<TensorId>> tensors_;  // the outputs of each node, once created
  std::map<std::pair<size_t, size_t>, TensorId> captures_;
  std::vector<TensorId> captured_;  // in the parent's graph
  std::set<size_t> refused_;        // nodes without an ONNX counterpart
};

}  // namespace dala::model::tfjs
