#include "model/model_kernel.hpp"

#include <algorithm>
#include <utility>

namespace dala::model {
namespace {

std::vector<std::string> names_of(const std::vector<Port>& ports) {
  std::vector<std::string> names;
  for (const Port& port : ports) names.push_back(port.name);
  return names;
}

std::vector<DType> dtypes_of(const std::vector<Port>& ports) {
  std::vector<DType> dtypes;
  for (const Port& port : ports) {
    const DType dtype = storage_of(port.type);
    if (std::find(dtypes.begin(), dtypes.end(), dtype) == dtypes.end()) dtypes.push_back(dtype);
  }
  return dtypes;
}

ParamSpec output_param() {
  ParamSpec param;
  param.name = "output";
  param.kind = ParamSpec::Kind::name;
  param.summary = "which of the model's outputs is written";
  return param;
}

size_t output_index(const Model& model, const Call& call) {
  const std::vector<std::string> names = names_of(model.outputs());
  if (names.size() == 1) return 0;
  const auto found = call.has("output")
                         ? std::find(names.begin(), names.end(), call.choice("output"))
                         : names.end();
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  throw Error(Reason::invalid_param, text("the model has ", names.size(), " outputs, ", join(names),
                                          "; the parameter output names the one to write",
                                          call.has("output") ? ", got " : "",
                                          call.has("output") ? call.choice("output") : ""));
}

}  // namespace

Descriptor model_kernel(const std::string& name, const std::shared_ptr<Model>& model, bool keep) {
  Descriptor descriptor;
  descriptor.name = name;
  descriptor.summary = text("A model: ", join(names_of(model->inputs())), " to ",
                            join(names_of(model->outputs())), ".");
  descriptor.inputs = static_cast<int>(model->inputs().size());
  descriptor.dtypes = dtypes_of(model->inputs());
  descriptor.output_rule = "that of the model, see model_info/1";
  if (model->outputs().size() > 1) descriptor.params.push_back(output_param());

  const std::weak_ptr<Model> weak = model;
  descriptor.gone = [weak] {
    const auto model = weak.lock();
    return model == nullptr || model->freed();
  };
  descriptor.expand = [weak, kept = keep ? model : nullptr](
                          const Call& call, const std::vector<BufferPtr>& inputs,
                          const BufferPtr& output, Expansion expansion) {
    const auto model = weak.lock();
    if (model == nullptr) throw model_freed();
    return model->stages(inputs, output_index(*model, call), output, expansion);
  };
  return descriptor;
}

}  // namespace dala::model
