// Control flow. A condition or trip count that is known while the model is planned decides there:
// the branch that is not taken disappears, and a loop is unrolled. Otherwise the model runs step by
// step, and only the condition is read back.
#include <algorithm>

#include "model/build/walk.hpp"
#include "model/ops/families.hpp"

namespace dala::model {
namespace {

// Stages of a plan beyond which a loop is run step by step rather than unrolled further.
constexpr size_t kMostStages = 20000;
constexpr int64_t kMostTripsForShapes = 4096;
constexpr size_t kStagesPerFlush = 512;

const Subgraph& graph_of(const OpCall& call, const std::string& name) {
  const auto found = call.node.attributes.find(name);
  if (found == call.node.attributes.end() || found->second.graph == nullptr) {
    reject(text("attribute ", name, " is missing or not a graph"));
  }
  return *found->second.graph;
}

// The outputs of a nested graph for these inputs; the captured values are appended to them.
std::vector<Tensor> run_graph(OpCall& call, const Subgraph& nested, std::vector<Tensor> inputs) {
  if (inputs.size() != nested.passed()) {
    reject(text("a nested graph has ", nested.passed(), " inputs, the operator passes ",
                inputs.size()));
  }
  for (size_t index : nested.captures) inputs.push_back(call.in(index));
  return walk(call.build, nested.graph, inputs, true);
}

bool truth_of(OpCall& call, const Tensor& condition) {
  if (condition.count() != 1) {
    throw Error(Reason::shape_mismatch, text("the condition has shape ", to_string(condition.shape),
                                             ", expected one element"));
  }
  return call.build.values(condition).number(0) != 0;
}

// Called before each trip of a loop. A long loop is not unrolled further, and a loop that runs step
// by step submits its work in portions.
void pace(Build& build, int64_t trip) {
  switch (build.mode()) {
    case Build::Mode::plan:
      if (build.nodes().size() > kMostStages) throw NeedsValues{};
      break;
    case Build::Mode::eager:
      if (build.nodes().size() > kStagesPerFlush) build.flush();
      break;
    case Build::Mode::shapes:
      if (trip > kMostTripsForShapes) throw NeedsValues{};
      break;
  }
}

void set_all(OpCall& call, const std::vector<Tensor>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) call.set(i, outputs[i]);
}

void if_op(OpCall& call) {
  const bool taken = truth_of(call, call.in(0));
  set_all(call, run_graph(call, graph_of(call, taken ? "then_branch" : "else_branch"), {}));
}

// The slices of one scan output: {..} of each trip, stacked along a new axis.
class Stack {
 public:
  void push(Tensor slice) { slices_.push_back(std::move(slice)); }
  void reverse() { std::reverse(slices_.begin(), slices_.end()); }

  Tensor along(Build& build, int64_t axis, const Port& port) const {
    if (slices_.empty()) return none(build, port);
    axis = normal_axis(axis, slices_[0].rank() + 1);
    std::vector<Tensor> parts;
    for (const Tensor& slice : slices_) {
      if (slice.shape != slices_[0].shape) {
        throw Error(Reason::shape_mismatch,
                    text("\"", port.name, "\" has shape ", to_string(slices_[0].shape),
                         " in one trip of the loop and ", to_string(slice.shape), " in another"));
      }
      Shape shape = slice.shape;
      shape.insert(shape.begin() + axis, 1);
      parts.push_back(Build::reshaped(slice, shape));
    }
    return concat(build, parts, axis);
  }

 private:
  // Without a trip, only the file can tell the shape.
  static Tensor none(Build& build, const Port& port) {
    Shape shape{0};
    if (port.shape) {
      for (const Dimension& dimension : *port.shape) shape.push_back(dimension.size.value_or(0));
    }
    return filled(build, port.type, shape, 0);
  }

  std::vector<Tensor> slices_;
};

void loop_op(OpCall& call) {
  Build& build = call.build;
  const Subgraph& body = graph_of(call, "body");
  if (body.passed() < 2 || body.graph.outputs.size() + 1 < body.passed()) {
    reject(text("the body of the loop has ", body.passed(), " inputs and ",
                body.graph.outputs.size(), " outputs"));
  }
  const size_t carried = body.passed() - 2;
  int64_t trips = INT64_MAX;
  if (call.has(0)) trips = build.values(call.in(0)).integer(0);
  bool going = !call.has(1) || truth_of(call, call.in(1));
  std::vector<Tensor> state;
  for (size_t i = 0; i < carried; ++i) state.push_back(call.in(2 + i));
  std::vector<Stack> stacks(body.graph.outputs.size() - 1 - carried);
  for (int64_t trip = 0; trip < trips && going; ++trip) {
    pace(build, trip);
    std::vector<Tensor> inputs{Build::reshaped(build.constant(vector_of({trip})), {}),
                               build.constant(scalar_of(ElementType::boolean, 1))};
    inputs.insert(inputs.end(), state.begin(), state.end());
    const std::vector<Tensor> outputs = run_graph(call, body, std::move(inputs));
    // Without a condition the loop ignores that of its body, unless nothing else ends it.
    if (call.has(1) || !call.has(0)) going = truth_of(call, outputs[0]);
    state.assign(outputs.begin() + 1, outputs.begin() + 1 + static_cast<long>(carried));
    for (size_t i = 0; i < stacks.size(); ++i) stacks[i].push(outputs[1 + carried + i]);
  }
  set_all(call, state);
  for (size_t i = 0; i < stacks.size(); ++i) {
    call.set(carried + i, stacks[i].along(build, 0, body.graph.outputs[1 + carried + i]));
  }
}

// The loop of TensorFlow: graphs for the condition and the body, which both take the whole state.
void while_op(OpCall& call) {
  const Subgraph& condition = graph_of(call, "cond");
  const Subgraph& body = graph_of(call, "body");
  std::vector<Tensor> state;
  for (size_t i = 0; i < body.passed(); ++i) state.push_back(call.in(i));
  if (condition.graph.outputs.size() != 1 || body.graph.outputs.size() != state.size()) {
    reject(text("the body of the loop has ", state.size(), " inputs and ",
                body.graph.outputs.size(), " outputs, its condition ",
                condition.graph.outputs.size(), " outputs"));
  }
  for (int64_t trip = 0; truth_of(call, run_graph(call, condition, state)[0]); ++trip) {
    pace(call.build, trip);
    state = run_graph(call, body, state);
  }
  set_all(call, state);
}

int64_t entry(const std::vector<int64_t>& list, size_t index) {
  return index < list.size() ? list[index] : 0;
}

struct ScanForm {
  std::vector<int64_t> input_axes, input_directions, output_axes, output_directions;
};

// Runs the body over the slices of `scanned`. Returns the last state, then the stacked outputs.
std::vector<Tensor> scan(OpCall& call, const Subgraph& body, const ScanForm& form,
                         std::vector<Tensor> state, const std::vector<Tensor>& scanned) {
  Build& build = call.build;
  int64_t steps = -1;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < scanned.size(); ++i) {
    axes.push_back(normal_axis(entry(form.input_axes, i), scanned[i].rank()));
    const int64_t length = scanned[i].dim(axes[i]);
    if (steps >= 0 && length != steps) {
      throw Error(Reason::shape_mismatch,
                  text("scan input ", i, " has shape ", to_string(scanned[i].shape), ", expected ",
                       steps, " slices along axis ", axes[i]));
    }
    steps = length;
  }
  std::vector<Stack> stacks(body.graph.outputs.size() - state.size());
  for (int64_t step = 0; step < steps; ++step) {
    pace(build, step);
    std::vector<Tensor> inputs = state;
    for (size_t i = 0; i < scanned.size(); ++i) {
      const int64_t at = entry(form.input_directions, i) != 0 ? steps - 1 - step : step;
      Shape shape = scanned[i].shape;
      shape.erase(shape.begin() + axes[i]);
      inputs.push_back(Build::reshaped(part(build, scanned[i], axes[i], at, 1), shape));
    }
    const std::vector<Tensor> outputs = run_graph(call, body, std::move(inputs));
    std::copy_n(outputs.begin(), state.size(), state.begin());
    for (size_t i = 0; i < stacks.size(); ++i) stacks[i].push(outputs[state.size() + i]);
  }
  std::vector<Tensor> results = state;
  for (size_t i = 0; i < stacks.size(); ++i) {
    if (entry(form.output_directions, i) != 0) stacks[i].reverse();
    results.push_back(
        stacks[i].along(build, entry(form.output_axes, i), body.graph.outputs[state.size() + i]));
  }
  return results;
}

void scan_op(OpCall& call) {
  Build& build = call.build;
  const Subgraph& body = graph_of(call, "body");
  const int64_t given = call.integer("num_scan_inputs", 0);
  if (given < 1 || given > static_cast<int64_t>(body.passed()) ||
      body.graph.outputs.size() + static_cast<size_t>(given) < body.passed()) {
    reject(text("num_scan_inputs is ", given, " for a body of ", body.passed(), " inputs and ",
                body.graph.outputs.size(), " outputs"));
  }
  const size_t carried = body.passed() - static_cast<size_t>(given);
  const bool batched = call.opset < 9;  // with sequence lengths as the first input
  std::vector<Tensor> state;
  std::vector<Tensor> scanned;
  for (size_t i = 0; i < body.passed(); ++i) {
    (i < carried ? state : scanned).push_back(call.in(i + (batched ? 1 : 0)));
  }
  if (!batched) {
    const ScanForm form{call.integers("scan_input_axes"), call.integers("scan_input_directions"),
                        call.integers("scan_output_axes"), call.integers("scan_output_directions")};
    set_all(call, scan(call, body, form, std::move(state), scanned));
    return;
  }
  if (call.has(0)) unsupported("Scan with sequence lengths is not supported");
  const ScanForm form{{}, call.integers("directions"), {}, {}};
  const int64_t batch = scanned[0].dim(0);
  const auto row = [&](const Tensor& all, int64_t index) {
    return Build::reshaped(part(build, all, 0, index, 1),
                           Shape(all.shape.begin() + 1, all.shape.end()));
  };
  std::vector<Stack> stacks(body.graph.outputs.size());
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<Tensor> own_state;
    std::vector<Tensor> own_scanned;
    for (const Tensor& each : state) own_state.push_back(row(each, b));
    for (const Tensor& each : scanned) own_scanned.push_back(row(each, b));
    const auto results = scan(call, body, form, std::move(own_state), own_scanned);
    for (size_t i = 0; i < results.size(); ++i) stacks[i].push(results[i]);
  }
  for (size_t i = 0; i < stacks.size(); ++i) {
    call.set(i, stacks[i].along(build, 0, body.graph.outputs[i]));
  }
}

}  // namespace

Operators control_operators() {
  return {
      {"If", if_op},
      {"Loop", loop_op},
      {"Scan", scan_op},
      {"While", while_op},
  };
}

}  // namespace dala::model
