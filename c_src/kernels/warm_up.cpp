#include "kernels/warm_up.hpp"

#include <algorithm>
#include <utility>

namespace dala {
namespace {

Params sample_params(const Descriptor& descriptor) {
  Params params;
  for (const ParamSpec& param : descriptor.params) {
    if (param.required) params.emplace(param.name, int64_t{1});
  }
  return params;
}

bool takes(const Descriptor& descriptor, DType dtype) {
  const std::vector<DType>& dtypes = descriptor.dtypes;
  return std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end();
}

void run(Engine& engine, const Descriptor& descriptor, const Call& call) {
  Runtime& runtime = engine.runtime();
  std::vector<BufferPtr> inputs;
  for (const TensorType& type : call.inputs) inputs.push_back(runtime.zeros(type));
  const Stage stage =
      engine.stage(descriptor.name, inputs, runtime.zeros(call.output), call.params);
  runtime.wait(runtime.scheduler().submit({stage}, nullptr, nullptr));
  for (const Step& step : stage.launch->steps) {
    const auto* kernel = std::get_if<KernelStep>(&step);
    if (kernel == nullptr || kernel->program->saved()) continue;
    // PoCL reloads the kernels for this; a launch that ends meanwhile would release the wrong copy,
    // which crashes the process.
    runtime.scheduler().alone([&] { kernel->program->save(); });
  }
}

}  // namespace

// Operands of a single element satisfy almost every shape rule, given the right rank; the rank and
// the output's type are found by trial.
std::optional<Call> sample_call(const Descriptor& descriptor, DType dtype) {
  if (!takes(descriptor, dtype)) return std::nullopt;
  if (descriptor.sample) {
    const Call call = descriptor.sample(dtype);
    Params params = sample_params(descriptor);
    for (const auto& [name, value] : call.params) params.insert_or_assign(name, value);
    return validate(descriptor, call.inputs, call.output, params);
  }
  const Shape ranks[] = {{1, 1}, {1, 1, 1, 1}, {1, 1, 4}};
  for (const Shape& shape : ranks) {
    const std::vector<TensorType> inputs(static_cast<size_t>(descriptor.inputs),
                                         TensorType{dtype, shape});
    for (const Shape& output : {shape, Shape{1}}) {
      for (DType output_dtype : {dtype, DType::s64, DType::u8, DType::f32, DType::c64}) {
        try {
          return validate(descriptor, inputs, {output_dtype, output}, sample_params(descriptor));
        } catch (const Error&) {
          // Rejected; tries the next one.
        }
      }
    }
  }
  return std::nullopt;
}

void warm_up(Engine& engine, const std::vector<DType>& dtypes,
             const std::optional<std::set<std::string>>& kernels,
             const std::function<void(const WarmUpStep&)>& tell) {
  std::vector<std::pair<std::shared_ptr<const Descriptor>, Call>> calls;
  std::vector<DType> types;
  for (DType dtype : dtypes) {
    if (dtype == DType::f64 && !engine.runtime().device().info().fp64) continue;
    for (const auto& descriptor : engine.registry().list()) {
      if (descriptor->custom || (kernels && kernels->count(descriptor->name) == 0)) continue;
      if (auto call = sample_call(*descriptor, dtype)) {
        calls.emplace_back(descriptor, std::move(*call));
        types.push_back(dtype);
      }
    }
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    tell({i, calls.size(), calls[i].first->name, types[i]});
    run(engine, *calls[i].first, calls[i].second);
  }
}

}  // namespace dala
