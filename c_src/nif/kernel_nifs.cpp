// Built-in and custom kernels: described, registered, removed.
#include <functional>

#include "kernels/custom/build_error.hpp"
#include "kernels/custom/custom_kernel.hpp"
#include "kernels/elementwise/expression.hpp"
#include "nif/codec/codec.hpp"
#include "nif/instance.hpp"

namespace dala::nif {
namespace {

std::string kind_name(ParamSpec::Kind kind) {
  switch (kind) {
    case ParamSpec::Kind::number:
      return "number";
    case ParamSpec::Kind::integer:
      return "integer";
    case ParamSpec::Kind::integers:
      return "integers";
    case ParamSpec::Kind::numbers:
      return "numbers";
    case ParamSpec::Kind::element:
      return "element";
    case ParamSpec::Kind::axis:
      return "axis";
    case ParamSpec::Kind::axes:
      return "axes";
    case ParamSpec::Kind::flag:
      return "flag";
    case ParamSpec::Kind::choice:
      return "choice";
    case ParamSpec::Kind::name:
      return "name";
  }
  return "";
}

// Bounds at the far ends of double mean that there is none.
std::optional<Number> bound_of(double bound) {
  return bound > -1e300 && bound < 1e300 ? std::optional(Number{bound}) : std::nullopt;
}

// Of a kernel that is an expression.
struct ExpressionOptions {
  int inputs = 1;
  std::vector<std::string> params;
  std::string summary;
};

}  // namespace
}  // namespace dala::nif

namespace fine {

using namespace dala::nif;

template <>
struct Encoder<dala::ParamSpec> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const dala::ParamSpec& param) {
    return fields(env, "name", param.name, "kind", to_atom(kind_name(param.kind)), "default",
                  param.fallback, "required", param.required, "min", bound_of(param.min), "max",
                  bound_of(param.max), "choices", each(param.choices, to_atom), "summary",
                  param.summary);
  }
};

template <>
struct Encoder<dala::Descriptor> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const dala::Descriptor& kernel) {
    return fields(env, "name", kernel.name, "summary", kernel.summary, "inputs",
                  int64_t{kernel.inputs}, "optional_inputs", int64_t{kernel.optional_inputs},
                  "outputs", int64_t{kernel.outputs}, "dtypes", kernel.dtypes, "output",
                  kernel.output_rule, "custom", kernel.custom, "params", kernel.params);
  }
};

// Without its name and its source.
template <>
struct Decoder<dala::CustomSource> {
  static dala::CustomSource decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    using Sizes = std::vector<std::tuple<std::string, int64_t>>;
    const Options options(env, term, "the options");
    dala::CustomSource custom;
    custom.inputs = static_cast<int>(options.get<int64_t>("inputs"));
    options.read("outputs", custom.outputs);
    options.read("params", custom.params);
    options.read("range", custom.range);
    options.read("items", custom.items);
    options.read("local", custom.local);
    options.read("entry", custom.entry);
    options.read("summary", custom.summary);
    options.read("trusted", custom.trusted);
    for (auto& [name, content] :
         options.get<std::vector<std::tuple<std::string, std::string>>>("headers")) {
      custom.headers.emplace(name, content);
    }
    for (const auto& [name, size] : options.get<Sizes>("sizes")) custom.sizes.emplace(name, size);
    for (const auto& [name, elements] : options.get<Sizes>("local_memory")) {
      custom.local_memory.emplace(name, elements);
    }
    return custom;
  }
};

template <>
struct Decoder<ExpressionOptions> {
  static ExpressionOptions decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    const Options options(env, term, "the options");
    ExpressionOptions result;
    result.inputs = static_cast<int>(options.get<int64_t>("inputs"));
    options.read("params", result.params);
    options.read("summary", result.summary);
    return result;
  }
};

}  // namespace fine

namespace dala::nif {
namespace {

// Compiling takes a second: done on a thread for that, answered with `{ref, :ok | {:error, e}}`.
fine::Ok<> register_on_builder(ErlNifEnv* env, const std::string& name, ERL_NIF_TERM ref,
                               std::function<Descriptor(Engine&)> make) {
  const auto current = engine();
  current->registry().need_free_name(name);
  const auto message = Message::reply(self(env), ref);
  // The job holds no reference to the engine, which waits for its jobs before it goes.
  Engine* target = current.get();
  current->runtime().builder().post([target, message, make = std::move(make)] {
    answer(*message, [&] { target->add_custom(make(*target)); });
  });
  return ok();
}

// Compiles the expression once, for f32, so that a mistake shows at registration.
void build_sample(Descriptor& descriptor, Engine& engine) {
  const TensorType sample{DType::f32, {1}};
  Params params;
  for (const ParamSpec& param : descriptor.params) params.emplace(param.name, 1.0);
  const std::vector<TensorType> inputs(static_cast<size_t>(descriptor.inputs), sample);
  const Launch launch =
      descriptor.plan(validate(descriptor, inputs, sample, params), engine.planner());
  for (const Step& step : launch.steps) {
    const auto* kernel = std::get_if<KernelStep>(&step);
    if (kernel == nullptr) continue;
    kernel->program->build_for(kernel->entry, kernel->range);
    descriptor.programs.push_back(kernel->program);
  }
}

}  // namespace

Result<std::vector<Descriptor>> kernels(ErlNifEnv* env) {
  return guarded(env, [&] {
    return each(engine()->registry().list(), [](const auto& kernel) { return *kernel; });
  });
}
FINE_NIF(kernels, ERL_NIF_DIRTY_JOB_CPU_BOUND);

OkOrError<> kernel_register(ErlNifEnv* env, std::string name, std::string source,
                            CustomSource custom, Term ref) {
  return guarded(env, [&] {
    custom.name = name;
    custom.source = std::move(source);
    return register_on_builder(env, name, ref, [custom = std::move(custom)](Engine& engine) {
      return make_custom_kernel(custom, engine.planner());
    });
  });
}
FINE_NIF(kernel_register, 0);

OkOrError<> kernel_elementwise(ErlNifEnv* env, std::string name, std::string expression,
                               ExpressionOptions options, Term ref) {
  return guarded(env, [&] {
    return register_on_builder(env, name, ref, [=](Engine& engine) {
      Descriptor descriptor =
          make_pointwise_expression(name, expression, options.inputs, options.params);
      if (!options.summary.empty()) descriptor.summary = options.summary;
      try {
        build_sample(descriptor, engine);
      } catch (const Error& error) {
        throw located_in_expression(error, name, expression, expression_column());
      }
      return descriptor;
    });
  });
}
FINE_NIF(kernel_elementwise, 0);

Result<bool> kernel_known(ErlNifEnv* env, std::string name) {
  return guarded(env, [&] { return engine()->registry().has(name); });
}
FINE_NIF(kernel_known, 0);

Result<bool> kernel_unregister(ErlNifEnv* env, std::string name) {
  return guarded(env, [&] { return engine()->remove_custom(name); });
}
FINE_NIF(kernel_unregister, 0);

}  // namespace dala::nif
