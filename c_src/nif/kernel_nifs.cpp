// The kernels there are, and those that users add.
#include <functional>

#include "kernels/custom/custom_kernel.hpp"
#include "kernels/elementwise/expression.hpp"
#include "nif/boundary.hpp"
#include "nif/instance.hpp"

namespace dala::nif {
namespace {

Term encode_value(ErlNifEnv* env, const ParamValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return boolean(env, *flag);
  if (const auto* whole = std::get_if<int64_t>(&value)) return integer(env, *whole);
  if (const auto* large = std::get_if<uint64_t>(&value)) return unsigned_integer(env, *large);
  if (const auto* real = std::get_if<double>(&value)) return number(env, *real);
  if (const auto* name = std::get_if<std::string>(&value)) return atom(env, *name);
  std::vector<Term> items;
  for (double each : std::get<std::vector<double>>(value)) items.push_back(number(env, each));
  return list(env, items);
}

std::string_view kind_name(ParamSpec::Kind kind) {
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
Term encode_bound(ErlNifEnv* env, double bound) {
  return bound > -1e300 && bound < 1e300 ? number(env, bound) : atom(env, "nil");
}

Term encode_param(ErlNifEnv* env, const ParamSpec& param) {
  std::vector<Term> choices;
  for (const std::string& choice : param.choices) choices.push_back(atom(env, choice));
  return map(env,
             {{"name", string(env, param.name)},
              {"kind", atom(env, kind_name(param.kind))},
              {"default", param.fallback ? encode_value(env, *param.fallback) : atom(env, "nil")},
              {"required", boolean(env, param.required)},
              {"min", encode_bound(env, param.min)},
              {"max", encode_bound(env, param.max)},
              {"choices", list(env, choices)},
              {"summary", string(env, param.summary)}});
}

Term encode_kernel(ErlNifEnv* env, const Descriptor& descriptor) {
  std::vector<Term> dtypes;
  for (DType dtype : descriptor.dtypes) dtypes.push_back(atom(env, to_string(dtype)));
  std::vector<Term> params;
  for (const ParamSpec& param : descriptor.params) params.push_back(encode_param(env, param));
  return map(env, {{"name", string(env, descriptor.name)},
                   {"summary", string(env, descriptor.summary)},
                   {"inputs", integer(env, descriptor.inputs)},
                   {"optional_inputs", integer(env, descriptor.optional_inputs)},
                   {"dtypes", list(env, dtypes)},
                   {"output", string(env, descriptor.output_rule)},
                   {"custom", boolean(env, descriptor.custom)},
                   {"params", list(env, params)}});
}

ERL_NIF_TERM option(ErlNifEnv* env, ERL_NIF_TERM options, std::string_view key) {
  ERL_NIF_TERM value = 0;
  if (enif_get_map_value(env, options, atom(env, key), &value) == 0) {
    throw std::invalid_argument(text("the options have no ", key));
  }
  return value;
}

// Compiling takes a second: done on a thread for that, answered with `{ref, :ok | {:error, e}}`.
Term register_on_builder(ErlNifEnv* env, const std::string& name, ERL_NIF_TERM ref,
                         std::function<Descriptor(Engine&)> make) {
  const auto current = engine();
  current->registry().need_free_name(name);
  const auto message = Message::reply(self(env), ref);
  // The job holds no reference to the engine, which waits for its jobs before it goes.
  Engine* target = current.get();
  current->runtime().builder().post([target, message, make = std::move(make)] {
    answer(*message, [&] { target->add_custom(make(*target)); });
  });
  return atom(env, "ok");
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

Term kernels(ErlNifEnv* env) {
  return guarded(env, [&] {
    std::vector<Term> items;
    for (const auto& descriptor : engine()->registry().list()) {
      items.push_back(encode_kernel(env, *descriptor));
    }
    return list(env, items);
  });
}
FINE_NIF(kernels, ERL_NIF_DIRTY_JOB_CPU_BOUND);

Term kernel_register(ErlNifEnv* env, std::string name, std::string source, Term options, Term ref) {
  return guarded(env, [&] {
    CustomSource custom;
    custom.name = std::move(name);
    custom.source = std::move(source);
    custom.inputs = static_cast<int>(fine::decode<int64_t>(env, option(env, options, "inputs")));
    custom.params = fine::decode<std::vector<std::string>>(env, option(env, options, "params"));
    custom.range = fine::decode<std::string>(env, option(env, options, "range"));
    custom.entry = fine::decode<std::string>(env, option(env, options, "entry"));
    custom.summary = fine::decode<std::string>(env, option(env, options, "summary"));
    custom.trusted = fine::decode<bool>(env, option(env, options, "trusted"));
    using Header = std::tuple<std::string, std::string>;
    for (auto& [header, content] :
         fine::decode<std::vector<Header>>(env, option(env, options, "headers"))) {
      custom.headers.emplace(header, content);
    }
    using Size = std::tuple<std::string, int64_t>;
    for (const auto& [argument, size] :
         fine::decode<std::vector<Size>>(env, option(env, options, "sizes"))) {
      custom.sizes.emplace(argument, size);
    }
    const std::string kernel = custom.name;
    return register_on_builder(env, kernel, ref, [custom = std::move(custom)](Engine& engine) {
      return make_custom_kernel(custom, engine.planner());
    });
  });
}
FINE_NIF(kernel_register, 0);

Term kernel_elementwise(ErlNifEnv* env, std::string name, std::string expression, Term options,
                        Term ref) {
  return guarded(env, [&] {
    const auto inputs =
        static_cast<int>(fine::decode<int64_t>(env, option(env, options, "inputs")));
    const auto params = fine::decode<std::vector<std::string>>(env, option(env, options, "params"));
    const auto summary = fine::decode<std::string>(env, option(env, options, "summary"));
    return register_on_builder(env, name, ref, [=](Engine& engine) {
      Descriptor descriptor = make_pointwise_expression(name, expression, inputs, params);
      if (!summary.empty()) descriptor.summary = summary;
      build_sample(descriptor, engine);
      return descriptor;
    });
  });
}
FINE_NIF(kernel_elementwise, 0);

Term kernel_known(ErlNifEnv* env, std::string name) {
  return guarded(env, [&] { return boolean(env, engine()->registry().has(name)); });
}
FINE_NIF(kernel_known, 0);

Term kernel_unregister(ErlNifEnv* env, std::string name) {
  return guarded(env, [&] { return boolean(env, engine()->remove_custom(name)); });
}
FINE_NIF(kernel_unregister, 0);

}  // namespace dala::nif
