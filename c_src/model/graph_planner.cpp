#include "model/graph_planner.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "model/build/views.hpp"
#include "model/build/walk.hpp"
#include "model/graph/graph_uses.hpp"
#include "model/graph/problem.hpp"
#include "model/graph/symbolic.hpp"
#include "plan/fusion.hpp"

namespace dala::model {
namespace {

Tensor port_tensor(ElementType type, const Shape& shape, size_t index) {
  Tensor tensor;
  tensor.type = type;
  tensor.shape = checked_type(storage_of(type), shape).shape;
  tensor.place = std::make_shared<Place>();
  tensor.place->type = tensor.storage();
  tensor.place->input = static_cast<int>(index);
  return tensor;
}

// The layer that computes an output, for profiles.
std::string layer_of(const Graph& graph, const Port& output) {
  const auto producer = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return std::find(node.outputs.begin(), node.outputs.end(), output.tensor) != node.outputs.end();
  });
  return producer == graph.nodes.end() ? "outputs" : describe(*producer);
}

}  // namespace

GraphPlanner::GraphPlanner(Engine& engine, Graph graph)
    : engine_(engine), graph_(std::move(graph)) {
  counts_.opset = graph_.opset;
  counts_.producer = graph_.producer;
  counts_.nodes = graph_.nodes.size();
  each_constant(graph_, [this](const HostTensorPtr& tensor) {
    if (!constants_.uploads.emplace(tensor, nullptr).second) return;
    counts_.parameters += tensor->count();
    counts_.weight_bytes += tensor->bytes.size();
  });
  complete_outputs();
}

void GraphPlanner::complete_outputs() {
  const auto fixed = [](const Port& port) {
    return port.shape && std::all_of(port.shape->begin(), port.shape->end(),
                                     [](const Dimension& each) { return each.size.has_value(); });
  };
  if (std::all_of(graph_.outputs.begin(), graph_.outputs.end(), fixed)) return;
  const Trial trial =
      [this](const std::vector<Shape>& shapes) -> std::optional<std::vector<Shape>> {
    try {
      Build build(engine_, constants_, Build::Mode::shapes);
      std::vector<Shape> outputs;
      for (const Tensor& output : output_tensors(build, port_tensors(shapes, {}))) {
        outputs.push_back(output.shape);
      }
      return outputs;
    } catch (const Error&) {
      return std::nullopt;
    }
  };
  try {
    const auto found = symbolic_outputs(graph_.inputs, trial);
    if (found) model::complete_outputs(graph_.outputs, *found);
  } catch (const NeedsValues&) {
    // Dimensions that depend on values stay open.
  }
}

// The inputs of a plan: ports, bound at every run, or constants where values are given.
std::vector<Tensor> GraphPlanner::port_tensors(const std::vector<Shape>& shapes,
                                               const InputValues& values) const {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (const auto found = values.find(i); found != values.end()) {
      Tensor known;
      known.type = graph_.inputs[i].type;
      known.shape = shapes[i];
      known.known = std::make_shared<HostTensor>(*found->second);
      inputs.push_back(std::move(known));
    } else {
      inputs.push_back(port_tensor(graph_.inputs[i].type, shapes[i], i));
    }
  }
  return inputs;
}

// The outputs of the graph, each in memory of its own: a constant, an input, and a tensor that is
// an output already are copied.
std::vector<Tensor> GraphPlanner::output_tensors(Build& build,
                                                 const std::vector<Tensor>& inputs) const {
  const std::vector<Tensor> results = walk(build, graph_, inputs);
  std::set<const plan::Value*> taken;
  for (const plan::Node& node : build.nodes()) {
    for (const plan::ValuePtr& value : node.inputs) {
      if (value->input >= 0) taken.insert(value.get());
    }
  }
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    build.set_layer(layer_of(graph_, graph_.outputs[i]));
    if (results[i].list != nullptr) {
      unsupported(text("output \"", graph_.outputs[i].name, "\" is a list of tensors"));
    }
    const Tensor tensor = in_own_order(build, results[i]);
    const bool own = tensor.place != nullptr && tensor.place->input < 0 &&
                     tensor.known == nullptr && taken.insert(tensor.place.get()).second;
    if (own) {
      outputs.push_back(tensor);
      continue;
    }
    Tensor copy = build.fresh(tensor.type, tensor.shape);
    build.copy(tensor, copy);
    outputs.push_back(copy);
  }
  return outputs;
}

PlanPtr GraphPlanner::plan(const std::vector<Shape>& shapes, const InputValues& values) {
  Build build(engine_, constants_, Build::Mode::plan);
  std::vector<plan::Plan::Output> outputs;
  for (const Tensor& tensor : output_tensors(build, port_tensors(shapes, values))) {
    tensor.place->output = static_cast<int>(outputs.size());
    outputs.push_back({tensor.place, tensor.storage()});
  }
  const bool fuse = engine_.runtime().config().fusion;
  std::vector<plan::Node> nodes;
  for (plan::Fused& each : plan::fused(build.nodes(), engine_.planner(), fuse)) {
    if (each.node.launch != nullptr) nodes.push_back(std::move(each.node));
  }
  return std::make_shared<plan::Plan>(engine_.runtime(), std::move(nodes), std::move(outputs),
                                      plan::Plan::Memory::kept);
}

std::vector<BufferPtr> GraphPlanner::run(const std::vector<BufferPtr>& buffers) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < buffers.size(); ++i) {
    Tensor input = port_tensor(graph_.inputs[i].type, buffers[i]->type().shape, i);
    input.place->buffer = buffers[i];
    inputs.push_back(std::move(input));
  }
  Build build(engine_, constants_, Build::Mode::eager);
  const std::vector<Tensor> tensors = output_tensors(build, inputs);
  build.flush();
  std::vector<BufferPtr> outputs;
  for (const Tensor& tensor : tensors) {
    Place& place = *tensor.place;
    if (place.storage == nullptr) allocate(engine_.runtime(), place);  // no node writes empty ones
    outputs.push_back(std::make_shared<Buffer>(tensor.storage(), place.storage));
  }
  return outputs;
}

// In a form that this convolution can use.
bool GraphPlanner::is_packed(const Node& convolution, const HostTensorPtr& weights) const {
  const int64_t groups = integer_of(convolution, "group", 1);
  if (constants_.packed.count({weights, groups, false}) != 0) return true;
  const auto is_one = [](int64_t value) { return value == 1; };
  const auto all_one = [&](const char* name) {
    const std::vector<int64_t> values = integers_of(convolution, name);
    return std::all_of(values.begin(), values.end(), is_one);
  };
  return constants_.packed.count({weights, groups, true}) != 0 && all_one("strides") &&
         all_one("dilations");
}

// Constants by whether anything but a convolution with packed weights reads them.
std::map<HostTensorPtr, bool> GraphPlanner::needed_on_host() const {
  std::map<HostTensorPtr, bool> needed;
  for (const Port& port : graph_.outputs) {
    const auto found = graph_.constants.find(port.tensor);
    if (found != graph_.constants.end()) needed[found->second] = true;
  }
  for (const Node& node : graph_.nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto found = graph_.constants.find(node.inputs[i]);
      if (found == graph_.constants.end()) continue;
      const bool packed = i == 1 && node.op == "Conv" && is_packed(node, found->second);
      bool& keep = needed[found->second];
      keep = keep || !packed;
    }
  }
  return needed;
}

// Puts a tensor with the same shape and no values in the place of a constant. Other models may
// share the graph's tensors, so the tensor itself does not change.
void GraphPlanner::replace_by_shape(const HostTensorPtr& tensor) {
  auto hollow = std::make_shared<HostTensor>(tensor->type, Shape{0});
  hollow->shape = tensor->shape;
  for (auto& [id, values] : graph_.constants) {
    if (values == tensor) values = hollow;
  }
  constants_.uploads.erase(tensor);
  constants_.uploads[hollow] = nullptr;
  decltype(constants_.packed) renamed;
  for (const auto& [key, buffer] : constants_.packed) {
    const auto& [weights, groups, winograd] = key;
    if (weights == tensor) renamed[{hollow, groups, winograd}] = buffer;
  }
  std::erase_if(constants_.packed,
                [&tensor](const auto& entry) { return std::get<0>(entry.first) == tensor; });
  constants_.packed.merge(renamed);
}

void GraphPlanner::forget_packed_weights() {
  for (const auto& [tensor, keep] : needed_on_host()) {
    if (!keep) replace_by_shape(tensor);
  }
}

void GraphPlanner::free() {
  constants_ = {};
  graph_.constants.clear();
  for (Node& node : graph_.nodes) {
    for (auto& [name, attribute] : node.attributes) attribute.graph.reset();
  }
}

}  // namespace dala::model
