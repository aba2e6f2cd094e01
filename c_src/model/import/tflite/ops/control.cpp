// Control flow, with graphs of the file as branches and bodies, and variables.
#include "model/import/tflite/schema.hpp"
#include "model/import/tflite/table.hpp"

namespace dala::model::tflite {
namespace {

// A branch captures all inputs of the operator but the condition.
Attribute branch(OpCall& call, int field) {
  Graph graph = call.around->nested(call.integer(field));
  std::vector<size_t> captures;
  for (size_t i = 1; i < call.inputs.size(); ++i) captures.push_back(i);
  if (graph.inputs.size() != captures.size()) {
    reject(text("a branch has ", graph.inputs.size(), " inputs, the operator ", captures.size()));
  }
  Attribute attribute;
  attribute.graph =
      std::make_shared<const Subgraph>(Subgraph{std::move(graph), std::move(captures)});
  return attribute;
}

void if_op(OpCall& call) {
  call.in(0);
  call.set_all(call.builder.add_many("If", call.inputs, call.outputs.size(),
                                     {{"then_branch", branch(call, option::kIfThen)},
                                      {"else_branch", branch(call, option::kIfElse)}}));
}

void while_op(OpCall& call) {
  call.set_all(call.builder.add_many(
      "While", call.inputs, call.outputs.size(),
      {{"cond", attr::graph(call.around->nested(call.integer(option::kWhileCondition)))},
       {"body", attr::graph(call.around->nested(call.integer(option::kWhileBody)))}}));
}

void call_once(OpCall& call) { call.around->initialize(call.integer(option::kCallOnceGraph)); }

void var_handle(OpCall& call) {
  std::string name;
  if (call.op.options) {
    name = text(call.op.options->text(option::kVarHandleContainer), "/",
                call.op.options->text(option::kVarHandleName));
  }
  if (call.op.outputs.empty()) reject("output 0 is missing");
  call.around->open_variable(call.op.outputs[0], name);
}

int64_t handle_of(const OpCall& call) {
  if (call.op.inputs.empty()) reject("input 0 is missing");
  return call.op.inputs[0];
}

void read_variable(OpCall& call) {
  if (call.op.outputs.empty()) reject("output 0 is missing");
  call.set(0, call.around->read_variable(handle_of(call), call.op.outputs[0]));
}

void assign_variable(OpCall& call) { call.around->assign_variable(handle_of(call), call.in(1)); }

}  // namespace

Operators control_operators() {
  return {
      {"ASSIGN_VARIABLE", assign_variable, Keeps::itself},
      {"CALL_ONCE", call_once, Keeps::itself},
      {"IF", if_op, Keeps::itself},
      {"READ_VARIABLE", read_variable, Keeps::itself},
      {"VAR_HANDLE", var_handle, Keeps::itself},
      {"WHILE", while_op, Keeps::itself},
  };
}

}  // namespace dala::model::tflite
