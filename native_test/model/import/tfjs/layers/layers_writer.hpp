// TF.js layers models for tests, and cases of layers as data. The expected numbers are those of
// TF.js 4.22 for the same weights. The cases of a family are one model, so that they need only one
// plan.
#pragma once

#include "model/import/tfjs/cases.hpp"
#include "model/import/tfjs/layers/table.hpp"

namespace dala::test::tfjs {

using model::Model;
using Dims = std::vector<int64_t>;

// Numbers from -0.625 to 0.625 without a visible order, that floats represent exactly.
inline std::vector<float> pattern(const Dims& dims, int64_t start) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  std::vector<float> values;
  for (int64_t i = start; i < start + count; ++i) {
    values.push_back(static_cast<float>((i * 7 + 3) % 11 - 5) / 8);
  }
  return values;
}

inline std::string quoted(const std::string& name) { return text("\"", name, "\""); }

// [["name",call,output,{}]] or, for several references, all of them in one call.
inline std::string call_of(const std::vector<std::string>& references) {
  return text("[", join(references, ","), "]");
}
inline std::string output_of(const std::string& layer, int64_t call = 0, int64_t output = 0) {
  return text("[", quoted(layer), ",", call, ",", output, "]");
}

class LayersWriter {
 public:
  // `config` is an object without the name; `calls` are those of a functional model.
  LayersWriter& layer(const std::string& kind, const std::string& name, const std::string& config,
                      const std::vector<std::string>& calls = {}) {
    const std::string rest = config.size() > 2 ? "," + config.substr(1) : "}";
    layers_.push_back(text("{\"class_name\":", quoted(kind), ",\"name\":", quoted(name),
                           ",\"config\":{\"name\":", quoted(name), rest, ",\"inbound_nodes\":[",
                           join(calls, ","), "]}"));
    return *this;
  }

  // The size of the batch is free.
  static std::string shape(const Dims& dims) {
    std::vector<std::string> sizes{"null"};
    for (size_t i = 1; i < dims.size(); ++i) sizes.push_back(std::to_string(dims[i]));
    return text("{\"batch_input_shape\":[", join(sizes, ","), "],\"dtype\":\"float32\"}");
  }

  LayersWriter& input(const std::string& name, const Dims& dims) {
    inputs_.push_back(output_of(name));
    return layer("InputLayer", name, shape(dims));
  }

  LayersWriter& output(const std::string& reference) {
    outputs_.push_back(reference);
    return *this;
  }

  LayersWriter& weight(const std::string& name, const Dims& dims,
                       const std::vector<float>& values) {
    std::vector<std::string> sizes;
    for (int64_t dim : dims) sizes.push_back(std::to_string(dim));
    manifest_.push_back(text("{\"name\":", quoted(name), ",\"shape\":[", join(sizes, ","),
                             "],\"dtype\":\"float32\"}"));
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    return *this;
  }

  // The configuration of the model: functional if it has outputs, otherwise sequential.
  std::string config() const {
    const std::string layers = text("{\"layers\":[", join(layers_, ","), "]");
    if (outputs_.empty()) return layers + "}";
    return text(layers, ",\"input_layers\":[", join(inputs_, ","), "],\"output_layers\":[",
                join(outputs_, ","), "]}");
  }

  std::shared_ptr<Model> load() const {
    const TemporaryFolder folder;
    const std::string json =
        text("{\"format\":\"layers-model\",\"modelTopology\":{\"class_name\":",
             quoted(outputs_.empty() ? "Sequential" : "Model"), ",\"config\":", config(),
             "},\"weightsManifest\":[{\"paths\":[\"weights.bin\"],\"weights\":[",
             join(manifest_, ","), "]}]}");
    folder.write("model.json", json);
    folder.write("weights.bin", bytes_);
    keep_seed("tfjs", json + '\0' + bytes_);
    return Model::load_file(engine(), folder / "model.json");
  }

 private:
  std::vector<std::string> layers_;
  std::vector<std::string> inputs_;
  std::vector<std::string> outputs_;
  std::vector<std::string> manifest_;
  std::string bytes_;
};

struct Weight {
  std::string name;
  Dims dims;
};

struct LayerCase {
  std::string kind;
  std::string config;
  std::vector<Dims> inputs;
  std::vector<Weight> weights;  // each is the pattern from its index on
  Values output;
};

// Runs all cases. Every layer of the family must have one.
inline void check_layers(const std::vector<LayerCase>& cases, const model::tfjs::Layers& family) {
  std::set<std::string> missing;
  for (const model::tfjs::Layer& each : family) missing.insert(each.name);
  LayersWriter writer;
  std::vector<BufferPtr> inputs;
  for (size_t i = 0; i < cases.size(); ++i) {
    const LayerCase& each = cases[i];
    missing.erase(each.kind);
    const std::string name = text("layer_", i);
    std::vector<std::string> references;
    for (size_t k = 0; k < each.inputs.size(); ++k) {
      const std::string input = text("x_", i, "_", k);
      writer.input(input, each.inputs[k]);
      references.push_back(output_of(input));
      std::vector<float> values = pattern(each.inputs[k], 5 * static_cast<int64_t>(k));
      if (each.kind == "Embedding") values = {0, 3, 2};
      inputs.push_back(buffer<float>(values, each.inputs[k]));
    }
    for (size_t k = 0; k < each.weights.size(); ++k) {
      const Weight& weight = each.weights[k];
      std::vector<float> values = pattern(weight.dims, static_cast<int64_t>(k));
      if (weight.name == "moving_variance") {
        for (float& value : values) value = std::fabs(value) + 0.5F;
      }
      writer.weight(name + "/" + weight.name, weight.dims, values);
    }
    writer.layer(each.kind, name, each.config, {call_of(references)}).output(output_of(name));
  }
  CHECK(missing == std::set<std::string>());
  const auto model = writer.load();
  const std::vector<BufferPtr> results = model->predict_now(inputs);
  REQUIRE(results.size() == cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(cases[i].kind);
    CAPTURE(cases[i].config);
    check_values(results[i], cases[i].output, 1e-5);
  }
}

}  // namespace dala::test::tfjs
