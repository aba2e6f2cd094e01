#include "model/import/tfjs/layers/import.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "model/graph/problem.hpp"
#include "model/import/tfjs/layers/table.hpp"
#include "model/import/tfjs/weights.hpp"
#include "runtime/error.hpp"

namespace dala::model::tfjs {
namespace {

// The model's configuration: "modelTopology" itself, or inside of it.
const Json* config_of(const Json& json) {
  const Json* topology = json.find("modelTopology");
  if (topology == nullptr || topology->find("node") != nullptr) return nullptr;
  const Json* config = topology->find("model_config");
  if (config != nullptr) return config;
  return topology->find("class_name") != nullptr ? topology : nullptr;
}

// A tensor by layer, call of the layer, and output of the call.
struct Reference {
  std::string layer;
  size_t call = 0;
  size_t output = 0;
};

Reference reference_of(const Json& json) {
  const Json::List& parts = json.list("the reference to a layer");
  if (parts.size() < 3) reject("the reference to a layer has fewer than 3 parts");
  const int64_t call = parts[1].integer("the call of a layer");
  const int64_t output = parts[2].integer("the output of a layer");
  if (call < 0 || output < 0) reject("the reference to a layer has a negative number");
  return {parts[0].text("the name of a layer"), static_cast<size_t>(call),
          static_cast<size_t>(output)};
}

// One reference, or a list of them.
std::vector<Reference> references_of(const Json& json) {
  const Json::List& list = json.list("the references to layers");
  if (!list.empty() && list[0].is_text()) return {reference_of(json)};
  std::vector<Reference> references;
  for (const Json& each : list) references.push_back(reference_of(each));
  return references;
}

bool is_model(const std::string& kind) {
  return kind == "Sequential" || kind == "Model" || kind == "Functional";
}

class LayersImporter {
 public:
  LayersImporter(const Json& json, const std::string& folder)
      : builder_("keras", producer_of(json)) {
    weights_ = read_weights(json, folder);
  }

  Graph run(const Json& model) {
    const Values outputs = run_model(model, std::nullopt);
    for (size_t i = 0; i < outputs.size(); ++i) {
      Port port;
      port.name = output_names_[i];
      port.tensor = outputs[i].tensor;
      builder_.output(std::move(port));
    }
    return builder_.finish();
  }

 private:
  using Values = std::vector<KerasValue>;
  // The outputs of each call of a layer, from the call `skipped` on.
  struct Calls {
    std::vector<Values> calls;
    size_t skipped = 0;
  };
  using Made = std::map<std::string, Calls>;

  static std::string producer_of(const Json& json) {
    const Json* value = json.find("generatedBy");
    return value != nullptr && value->is_text() ? value->text("generatedBy") : "";
  }

  // Without inputs, those of the model become inputs of the graph.
  Values run_model(const Json& model, const std::optional<Values>& inputs) {
    if (++depth_ > kMaxDepth) reject(text("models are nested more than ", kMaxDepth, " deep"));
    const std::string kind = model.at("class_name", "the model").text("class_name");
    const Json& config = model.at("config", "the model");
    Values outputs;
    if (kind == "Sequential") {
      outputs = run_sequential(config, inputs);
    } else if (kind == "Model" || kind == "Functional") {
      outputs = run_functional(config, inputs);
    } else {
      throw Error(Reason::unsupported,
                  text("TF.js layers models of class ", kind,
                       " are not supported, only Sequential and functional ones"));
    }
    --depth_;
    return outputs;
  }

  KerasValue add_input(const KerasConfig& layer) {
    Port port;
    port.name = layer.name();
    const Json* shape = layer.find("batch_input_shape");
    if (shape == nullptr) shape = layer.find("batch_shape");
    if (shape == nullptr) reject(text("the input \"", port.name, "\" has no batch_input_shape"));
    port.shape.emplace();
    for (const Json& each : shape->list("batch_input_shape")) {
      Dimension dimension;
      if (!each.is_null()) dimension.size = each.integer("a dimension");
      port.shape->push_back(dimension);
    }
    const std::string type = layer.text("dtype", "float32");
    if (type == "int32") {
      port.type = ElementType::i32;
    } else if (type == "bool") {
      port.type = ElementType::boolean;
    } else if (type != "float32") {
      unsupported(text("an input of type ", type));
    }
    const auto rank = static_cast<int64_t>(port.shape->size());
    return {builder_.input(std::move(port)), rank};
  }

  Values run_sequential(const Json& config, const std::optional<Values>& inputs) {
    const Json* listed = config.find("layers");
    const Json::List& layers = (listed != nullptr ? *listed : config).list("the layers");
    if (layers.empty()) reject("the model has no layers");
    Values values = inputs.value_or(Values());
    std::string name;
    for (const Json& each : layers) {
      const KerasConfig layer(each);
      name = layer.name();
      if (values.empty() && is_model(layer.kind())) {
        values = run_model(each, std::nullopt);
      } else {
        if (values.empty()) values = {add_input(layer)};
        if (layer.kind() != "InputLayer") values = call_layer(each, layer, values);
      }
      if (values.empty()) reject(text("the model \"", name, "\" has no outputs"));
      values.resize(1);  // layers of sequential models have one output
    }
    if (depth_ == 1) output_names_ = {name};
    return values;
  }

  Values run_functional(const Json& config, const std::optional<Values>& inputs) {
    const Json::List& layers = config.at("layers", "the model").list("the layers");
    const auto in = references_of(config.at("input_layers", "the model"));
    const auto out = references_of(config.at("output_layers", "the model"));
    if (inputs && inputs->size() != in.size()) {
      reject(text("a nested model has ", in.size(), " inputs, got ", inputs->size()));
    }
    Made made;
    std::map<std::string, size_t> first;
    const auto note = [&first](const Reference& each) {
      const size_t call = first.emplace(each.layer, each.call).first->second;
      first[each.layer] = std::min(call, each.call);
    };
    for (const Reference& each : out) note(each);
    for (const Json& layer : layers) {
      const Json* inbound = layer.find("inbound_nodes");
      if (inbound == nullptr) continue;
      for (const Json& call : inbound->list("inbound_nodes")) {
        if (!call.is_list()) continue;
        for (const Reference& each : references_of(call)) note(each);
      }
    }
    // The first call of a nested model is usually that which made it, and not in the file.
    for (const Json& each : layers) {
      const KerasConfig layer(each);
      const auto found = first.find(layer.name());
      if (is_model(layer.kind()) && found != first.end() && found->second == 1) {
        made[layer.name()].skipped = 1;
      }
    }
    for (size_t i = 0; i < in.size(); ++i) {
      const auto found = std::find_if(layers.begin(), layers.end(), [&](const Json& each) {
        return KerasConfig(each).name() == in[i].layer;
      });
      if (found == layers.end()) reject(text("there is no layer \"", in[i].layer, "\""));
      made[in[i].layer].calls = {{inputs ? (*inputs)[i] : add_input(KerasConfig(*found))}};
    }
    // Layers that are used several times may refer to layers that come later.
    for (bool progress = true; progress;) {
      progress = false;
      for (const Json& each : layers) progress = run_calls(each, made) || progress;
    }
    Values outputs;
    for (const Reference& each : out) {
      const KerasValue* value = find(made, each);
      if (value == nullptr) reject(text("the output \"", each.layer, "\" cannot be computed"));
      outputs.push_back(*value);
      if (depth_ == 1) output_names_.push_back(unique_name(each.layer));
    }
    return outputs;
  }

  std::string unique_name(const std::string& layer) const {
    const auto count = std::count(output_names_.begin(), output_names_.end(), layer);
    return count == 0 ? layer : text(layer, ":", output_names_.size());
  }

  static const KerasValue* find(const Made& made, const Reference& reference) {
    const auto found = made.find(reference.layer);
    if (found == made.end() || reference.call < found->second.skipped) return nullptr;
    const size_t call = reference.call - found->second.skipped;
    if (call >= found->second.calls.size()) return nullptr;
    const Values& outputs = found->second.calls[call];
    return reference.output < outputs.size() ? &outputs[reference.output] : nullptr;
  }

  // Runs the calls of a layer whose inputs are there. True if there was one.
  bool run_calls(const Json& json, Made& made) {
    const KerasConfig layer(json);
    const Json* inbound = json.find("inbound_nodes");
    if (inbound == nullptr || layer.kind() == "InputLayer") return false;
    const Json::List& calls = inbound->list("inbound_nodes");
    std::vector<Values>& done = made[layer.name()].calls;
    bool progress = false;
    while (done.size() < calls.size()) {
      const Json& call = calls[done.size()];
      if (call.is_object()) {
        throw Error(Reason::unsupported,
                    "TF.js layers models of Keras 3 are not supported; convert the model to a "
                    "graph model with tensorflowjs_converter --output_format=tfjs_graph_model");
      }
      Values inputs;
      for (const Reference& each : references_of(call)) {
        const KerasValue* value = find(made, each);
        if (value == nullptr) return progress;
        inputs.push_back(*value);
      }
      done.push_back(call_layer(json, layer, inputs));
      progress = true;
    }
    return progress;
  }

  Values call_layer(const Json& json, const KerasConfig& layer, const Values& inputs) {
    if (is_model(layer.kind())) return run_model(json, inputs);
    builder_.set_layer(layer.name());
    try {
      if (inputs.empty()) reject("the layer has no input");
      return {run_layer({builder_, layer, weights_, inputs})};
    } catch (const Error& problem) {
      if (problem.reason != Reason::unsupported_op) {
        reject(text(layer.kind(), " (", layer.name(), "): ", problem.message));
      }
      const std::vector<TensorId> result =
          builder_.add_unsupported(layer.kind(), {}, 1, problem.message);
      // Loading fails; until then, it may be used as any output.
      return Values(kMaxOutputs, {result[0], inputs.empty() ? 2 : inputs[0].rank});
    }
  }

  static constexpr int kMaxDepth = 16;
  static constexpr size_t kMaxOutputs = 4;  // of a layer that is not supported

  GraphBuilder builder_;
  Weights weights_;
  std::vector<std::string> output_names_;
  int depth_ = 0;
};

}  // namespace

bool has_layers(const Json& json) { return config_of(json) != nullptr; }

Graph import_layers(const Json& json, const std::string& folder) {
  const Json* config = config_of(json);
  if (config == nullptr) reject("the file has no layers: it is not a TF.js layers model");
  return LayersImporter(json, folder).run(*config);
}

}  // namespace dala::model::tfjs
