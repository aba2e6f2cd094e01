// Model::profile: a prediction with a time per layer.
#include "runtime/profile.hpp"

#include <string>
#include <utility>

#include "model/model.hpp"

namespace dala::model {

Model::Profiled Model::profile(const std::vector<BufferPtr>& inputs) {
  const PlanPtr plan = plan_for(shapes_of(inputs), &inputs);
  if (plan == nullptr) {
    throw Error(Reason::unsupported,
                "a model whose shapes depend on values runs step by step and cannot be profiled");
  }
  Runtime& runtime = engine_.runtime();
  plan::Plan::Bound bound = plan->bind(runtime, inputs);
  // A profile is keyed by the name of the launch, so each stage gets a unique name.
  for (size_t i = 0; i < bound.stages.size(); ++i) {
    auto renamed = std::make_shared<Launch>(*bound.stages[i].launch);
    renamed->name = std::to_string(i);
    bound.stages[i].launch = std::move(renamed);
  }
  const auto watcher = std::make_shared<Profile>();
  runtime.wait(submit(bound, nullptr, nullptr, watcher));
  const auto kernels = watcher->kernels();

  Profiled result{std::move(bound.outputs), {}};
  for (size_t i = 0; i < plan->nodes().size(); ++i) {
    const std::string& layer = plan->nodes()[i].label;
    if (result.layers.empty() || result.layers.back().layer != layer) {
      result.layers.push_back({layer, 0});
    }
    const auto found = kernels.find(std::to_string(i));
    if (found != kernels.end()) result.layers.back().nanoseconds += found->second.device_ns;
  }
  return result;
}

}  // namespace dala::model
