// What a model does once it is loaded, so that its first prediction does not have to: a plan for
// the shapes that its inputs have, or most likely have, its programs, and its weights in order.
#include <map>
#include <set>
#include <utility>

#include "model/model.hpp"
#include "runtime/program.hpp"

namespace dala::model {
namespace {

struct LikelyShapes {
  std::vector<Shape> shapes;
  bool certain = true;
};

// A first dimension that is left open is a batch, most often of one. None: more is left open.
std::optional<LikelyShapes> likely_shapes(const std::vector<Port>& inputs) {
  LikelyShapes likely;
  for (const Port& port : inputs) {
    if (!port.shape) return std::nullopt;
    Shape shape;
    for (const Dimension& dimension : *port.shape) {
      if (!dimension.size && !shape.empty()) return std::nullopt;
      likely.certain = likely.certain && dimension.size;
      shape.push_back(dimension.size.value_or(1));
    }
    likely.shapes.push_back(std::move(shape));
  }
  return likely;
}

void build_programs(const plan::Plan& plan) {
  std::set<Program*> built;
  for (const plan::Node& node : plan.nodes()) {
    for (const Step& step : node.launch->steps) {
      const auto* kernel = std::get_if<KernelStep>(&step);
      if (kernel != nullptr && built.insert(kernel->program.get()).second) kernel->program->build();
    }
  }
}

}  // namespace

void Model::get_ready(const std::vector<Shape>& shapes) {
  check_shapes(shapes);
  const PlanPtr plan = plan_for(shapes);
  if (plan == nullptr) return;
  build_programs(*plan);
  forget_packed_weights();
}

void Model::prepare() {
  const auto likely = likely_shapes(graph_.inputs);
  if (!likely) return;
  try {
    get_ready(likely->shapes);
  } catch (const Error&) {
    // Shapes that were only likely may not fit.
    if (likely->certain) throw;
  }
}

// Weights that only convolutions use are on the device, in the order in which these read them.
void Model::forget_packed_weights() {
  const std::lock_guard lock(mutex_);
  std::map<HostTensorPtr, bool> needed;
  for (const Port& port : graph_.outputs) {
    const auto found = graph_.constants.find(port.tensor);
    if (found != graph_.constants.end()) needed[found->second] = true;
  }
  for (const Node& node : graph_.nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto found = graph_.constants.find(node.inputs[i]);
      if (found == graph_.constants.end()) continue;
      const auto group = node.attributes.find("group");
      const int64_t groups = group == node.attributes.end() ? 1 : group->second.integer.value_or(1);
      const bool packed =
          i == 1 && node.op == "Conv" && constants_.packed.count({found->second, groups}) != 0;
      bool& keep = needed[found->second];
      keep = keep || !packed;
    }
  }
  for (const auto& [tensor, keep] : needed) {
    if (keep) continue;
    // In their place something with their shape, which nobody looks into: everybody who might is
    // above. Others may have the same graph, so the values themselves stay as they are.
    auto hollow = std::make_shared<HostTensor>(tensor->type, Shape{0});
    hollow->shape = tensor->shape;
    for (auto& [id, values] : graph_.constants) {
      if (values == tensor) values = hollow;
    }
    constants_.uploads.erase(tensor);
    constants_.uploads[hollow] = nullptr;
    std::map<std::pair<HostTensorPtr, int64_t>, BufferPtr> renamed;
    for (const auto& [key, buffer] : constants_.packed) {
      if (key.first == tensor) renamed[{hollow, key.second}] = buffer;
    }
    std::erase_if(constants_.packed,
                  [&tensor = tensor](const auto& entry) { return entry.first.first == tensor; });
    constants_.packed.merge(renamed);
  }
}

}  // namespace dala::model
