#include "model/import/tfjs/scope.hpp"

#include <algorithm>
#include <utility>

#include "model/graph/problem.hpp"
#include "model/import/tfjs/table.hpp"
#include "runtime/error.hpp"

namespace dala::model::tfjs {
namespace {

constexpr size_t kMaxResults = 1 << 20;
constexpr int kMaxDepth = 64;

std::string describe(const NodeDef& node) { return text(node.op, " (", node.name, ")"); }

// Counts how deep calls are nested: scopes translate each other's nodes.
class Nesting {
 public:
  explicit Nesting(Library& library) : library_(library) {
    if (++library_.depth <= kMaxDepth) return;
    --library_.depth;
    reject(text("loops and branches are nested more than ", kMaxDepth, " deep"));
  }
  ~Nesting() { --library_.depth; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  Library& library_;
};

bool opens_loop(const Nodes& nodes, size_t merge) {
  return !nodes[merge].inputs.empty() && nodes[nodes[merge].inputs[0].node].op == "Enter";
}

bool has_condition(const Nodes& nodes, size_t merge, const Source& condition) {
  try {
    const Source own = find_branches(nodes, merge).condition;
    return own.node == condition.node && own.output == condition.output;
  } catch (const Error&) {
    return false;  // reported where it is translated
  }
}

}  // namespace

bool is_structural(const std::string& op) {
  static const std::set<std::string> structural{
      "Const", "Enter",       "Exit",        "If",     "LoopCond",       "Merge",  "NextIteration",
      "While", "Placeholder", "StatelessIf", "Switch", "StatelessWhile", kArgument};
  return structural.count(op) != 0;
}

Scope::Scope(Library& library, const Nodes& nodes)
    : library_(library),
      nodes_(nodes),
      builder_("tfjs", library.producer),
      states_(nodes.size(), State::fresh),
      tensors_(nodes.size()) {}

Scope::Scope(Scope& parent, const std::set<size_t>& inside)
    : library_(parent.library_),
      nodes_(parent.nodes_),
      parent_(&parent),
      inside_(&inside),
      builder_("tfjs", parent.library_.producer),
      states_(parent.nodes_.size(), State::fresh),
      tensors_(parent.nodes_.size()) {}

void Scope::set(size_t node, std::vector<TensorId> outputs) {
  library_.results += outputs.size();
  if (library_.results > kMaxResults) {
    reject(text("the model has more than ", kMaxResults, " intermediate results"));
  }
  tensors_[node] = std::move(outputs);
  states_[node] = State::made;
}

void Scope::bind(size_t node, TensorId tensor) { set(node, {tensor, tensor}); }

void Scope::add_input(size_t node) {
  Port port;
  port.name = nodes_[node].name;
  bind(node, builder_.input(std::move(port)));
}

void Scope::open(const std::vector<size_t>& switches) {
  open_.insert(switches.begin(), switches.end());
}

void Scope::add_output(const Source& source) {
  Port port;
  port.name = nodes_[source.node].name;
  port.tensor = value(source, port.name);
  builder_.output(std::move(port));
}

// A constant is one of every graph that uses it, so that operators know its values.
bool Scope::is_captured(size_t node) const {
  return inside_ != nullptr && inside_->count(node) == 0 && nodes_[node].op != "Const";
}

TensorId Scope::capture(const Source& source) {
  const auto known = captures_.find({source.node, source.output});
  if (known != captures_.end()) return known->second;
  const TensorId outer = parent_->value(source, "a nested graph");
  Port port;
  port.name = nodes_[source.node].name;
  const TensorId inner = builder_.input(std::move(port));
  captures_[{source.node, source.output}] = inner;
  captured_.push_back(outer);
  return inner;
}

// The nodes that are translated before this one. The parts of a loop or a branch are left to their
// scopes.
std::vector<Source> Scope::needs_of(size_t node) const {
  const NodeDef& self = nodes_[node];
  if (is_captured(node) || open_.count(node) != 0) return {};
  std::vector<Source> needs;
  if (self.op == "Exit") {
    for (const LoopVariable& each : find_loop(nodes_, node).variables) {
      needs.push_back(each.initial);
    }
  } else if (self.op == "Merge" && !opens_loop(nodes_, node)) {
    try {
      needs.push_back(find_branches(nodes_, node).condition);
    } catch (const Error& problem) {
      // make_node reports what is not supported.
      if (problem.reason != Reason::unsupported_op) throw;
    }
  } else if (self.op != "Merge") {
    needs = self.inputs;
  }
  return needs;
}

// Depth-first with a stack of its own, because graphs are deep.
void Scope::make(size_t node) {
  std::vector<size_t> stack{node};
  while (!stack.empty()) {
    const size_t number = stack.back();
    if (states_[number] != State::fresh) {
      stack.pop_back();
      if (states_[number] == State::waiting) make_node(number);
      states_[number] = State::made;
      continue;
    }
    states_[number] = State::waiting;
    for (const Source& source : needs_of(number)) {
      if (states_[source.node] == State::waiting) {
        reject(text(describe(nodes_[number]), " needs \"", nodes_[source.node].name,
                    "\", which depends on it: the graph has a cycle"));
      }
      if (states_[source.node] == State::fresh) stack.push_back(source.node);
    }
  }
}

TensorId Scope::value(const Source& source, const std::string& who) {
  const Nesting nesting(library_);
  if (is_captured(source.node)) return capture(source);
  if (states_[source.node] == State::waiting) {
    reject(text(describe(nodes_[source.node]), " depends on itself: the graph has a cycle"));
  }
  make(source.node);
  const std::vector<TensorId>& outputs = tensors_[source.node];
  if (source.output < outputs.size()) return outputs[source.output];
  if (refused_.count(source.node) != 0) return outputs[0];
  reject(text(who, " needs output ", source.output, " of ", describe(nodes_[source.node]),
              ", which has ", outputs.size()));
}

void Scope::make_node(size_t number) {
  const NodeDef& node = nodes_[number];
  builder_.set_layer(node.name);
  if (is_captured(number)) return;
  try {
    if (node.op == "Const") {
      const auto found = library_.weights.find(node.name);
      if (found == library_.weights.end())
        reject(text("weight \"", node.name, "\" does not exist"));
      set(number, {builder_.constant(found->second, node.name)});
    } else if (open_.count(number) != 0) {
      bind(number, capture(node.inputs.at(0)));
    } else if (node.op == "Enter" || node.op == "LoopCond") {
      if (node.inputs.empty()) reject("input 0 is missing");
      bind(number, value(node.inputs[0], describe(node)));
    } else if (node.op == "Exit") {
      make_loop(number);
    } else if (node.op == "Merge" && !opens_loop(nodes_, number)) {
      make_branches(number);
    } else if (node.op == "While" || node.op == "StatelessWhile") {
      make_function_loop(number);
    } else if (node.op == "If" || node.op == "StatelessIf") {
      make_function_branches(number);
    } else if (is_structural(node.op)) {
      unsupported("no loop or branch around it");
    } else {
      make_operator(number);
    }
  } catch (const Error& problem) {
    if (problem.reason != Reason::unsupported_op) throw;
    set(number, builder_.add_unsupported(node.op, {}, 1, problem.message));
    refused_.insert(number);
  }
}

void Scope::make_operator(size_t number) {
  const NodeDef& node = nodes_[number];
  const Operator* op = find_operator(node.op);
  if (op == nullptr) {
    set(number, builder_.add_unsupported(node.op, {}, 1));
    refused_.insert(number);
    return;
  }
  OpCall call{builder_, node, nodes_, tensors_, op->onnx, {}, {}};
  for (const Source& source : node.inputs) call.inputs.push_back(value(source, describe(node)));
  builder_.set_layer(node.name);
  try {
    op->import(call);
  } catch (const Error& problem) {
    if (problem.reason == Reason::unsupported_op) throw;
    reject(text(describe(node), ": ", problem.message));
  }
  set(number, std::move(call.outputs));
}

Attribute Scope::nested(std::vector<TensorId>& inputs) {
  Subgraph graph;
  graph.graph = finish();
  for (TensorId each : captured_) {
    graph.captures.push_back(inputs.size());
    inputs.push_back(each);
  }
  Attribute attribute;
  attribute.graph = std::make_shared<const Subgraph>(std::move(graph));
  return attribute;
}

void Scope::make_loop(size_t exit) {
  const Loop loop = find_loop(nodes_, exit);
  std::vector<size_t> merges;
  for (const LoopVariable& each : loop.variables) merges.push_back(each.merge);
  const std::set<size_t> inside = dependents(nodes_, merges);
  Scope condition(*this, inside);
  Scope body(*this, inside);
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < loop.variables.size(); ++i) {
    inputs.push_back(value(loop.variables[i].initial, describe(nodes_[exit])));
    for (Scope* scope : {&condition, &body}) {
      scope->add_input(merges[i]);
      if (loop.switches[i] == nodes_.size()) continue;
      scope->bind(loop.switches[i], scope->tensors_[merges[i]][0]);
    }
  }
  condition.add_output(loop.condition);
  for (const LoopVariable& each : loop.variables) body.add_output(each.next);
  Attributes attributes;
  attributes["cond"] = condition.nested(inputs);
  attributes["body"] = body.nested(inputs);
  builder_.set_layer(nodes_[exit].name);
  const std::vector<TensorId> outputs =
      builder_.add_many("While", inputs, loop.variables.size(), std::move(attributes));
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].op != "Exit" || nodes_[i].inputs.empty()) continue;
    const auto found =
        std::find(loop.switches.begin(), loop.switches.end(), nodes_[i].inputs[0].node);
    if (found != loop.switches.end()) {
      set(i, {outputs[static_cast<size_t>(found - loop.switches.begin())]});
    }
  }
}

// The nodes Merge that become one node If: those of the same condition which do not depend on each
// other, and on which an output depends.
std::vector<size_t> Scope::joined_with(size_t merge, const Source& condition) const {
  std::vector<size_t> all{merge};
  const bool own = nodes_.size() == library_.needed.size();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (i == merge || nodes_[i].op != "Merge" || opens_loop(nodes_, i)) continue;
    if (states_[i] != State::fresh || is_captured(i) || (own && !library_.needed[i])) continue;
    if (!has_condition(nodes_, i, condition)) continue;
    const std::set<size_t> later = dependents(nodes_, all);
    const std::set<size_t> after = dependents(nodes_, {i});
    const bool apart =
        later.count(i) == 0 &&
        std::none_of(all.begin(), all.end(), [&](size_t each) { return after.count(each) != 0; });
    if (apart) all.push_back(i);
  }
  return all;
}

void Scope::make_branches(size_t merge) {
  const Source condition = find_branches(nodes_, merge).condition;
  const std::vector<size_t> forks = switches_of(nodes_, condition);
  const std::set<size_t> inside = dependents(nodes_, forks);
  const std::vector<size_t> merges = joined_with(merge, condition);
  std::vector<TensorId> inputs{value(condition, describe(nodes_[merge]))};
  Scope yes(*this, inside);
  Scope no(*this, inside);
  yes.open(forks);
  no.open(forks);
  for (size_t each : merges) {
    const Branches branches = find_branches(nodes_, each);
    yes.add_output(branches.yes);
    no.add_output(branches.no);
  }
  Attributes attributes;
  attributes["then_branch"] = yes.nested(inputs);
  attributes["else_branch"] = no.nested(inputs);
  builder_.set_layer(nodes_[merge].name);
  const std::vector<TensorId> outputs =
      builder_.add_many("If", inputs, merges.size(), std::move(attributes));
  for (size_t i = 0; i < merges.size(); ++i) set(merges[i], {outputs[i]});
}

// The graph of a function with so many arguments.
Graph Scope::function_graph(const std::string& name, size_t arguments) {
  const auto found = library_.functions.find(name);
  if (found == library_.functions.end()) reject(text("function \"", name, "\" does not exist"));
  const Function& function = found->second;
  if (function.arguments != arguments) {
    reject(text("function \"", name, "\" takes ", function.arguments, " arguments, it is given ",
                arguments));
  }
  Scope scope(library_, function.nodes);
  for (size_t i = 0; i < arguments; ++i) scope.add_input(i);
  for (const Source& result : function.results) scope.add_output(result);
  return scope.finish();
}

void Scope::make_function_loop(size_t number) {
  const NodeDef& node = nodes_[number];
  std::vector<TensorId> inputs;
  for (const Source& source : node.inputs) inputs.push_back(value(source, describe(node)));
  const size_t count = inputs.size();
  Attributes attributes;
  attributes["cond"] = attr::graph(function_graph(node.function("cond"), count));
  attributes["body"] = attr::graph(function_graph(node.function("body"), count));
  builder_.set_layer(node.name);
  set(number, builder_.add_many("While", inputs, count, std::move(attributes)));
}

void Scope::make_function_branches(size_t number) {
  const NodeDef& node = nodes_[number];
  if (node.inputs.empty()) reject("input 0 is missing");
  std::vector<TensorId> inputs;
  for (const Source& source : node.inputs) inputs.push_back(value(source, describe(node)));
  size_t results = 0;
  Attributes attributes;
  for (const char* name : {"then_branch", "else_branch"}) {
    Subgraph branch;
    branch.graph = function_graph(node.function(name), inputs.size() - 1);
    for (size_t i = 1; i < inputs.size(); ++i) branch.captures.push_back(i);
    results = branch.graph.outputs.size();
    attributes[name].graph = std::make_shared<const Subgraph>(std::move(branch));
  }
  builder_.set_layer(node.name);
  set(number, builder_.add_many("If", inputs, results, std::move(attributes)));
}

}  // namespace dala::model::tfjs
