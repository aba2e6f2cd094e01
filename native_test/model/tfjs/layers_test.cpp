// TF.js layers models. The expected numbers are those of TF.js 4.22 for the same weights.
#include "model/tfjs/layers.hpp"

#include "model/tfjs/cases.hpp"
#include "model/tfjs/keras_layer.hpp"

namespace dala::test::tfjs {
namespace {

using model::Model;
using Dims = std::vector<int64_t>;

// Numbers from -0.625 to 0.625 without a visible order, that floats represent exactly.
std::vector<float> pattern(const Dims& dims, int64_t start) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  std::vector<float> values;
  for (int64_t i = start; i < start + count; ++i) {
    values.push_back(static_cast<float>((i * 7 + 3) % 11 - 5) / 8);
  }
  return values;
}

std::string quoted(const std::string& name) { return text("\"", name, "\""); }

// [["name",call,output,{}]] or, for several references, all of them in one call.
std::string call_of(const std::vector<std::string>& references) {
  return text("[", join(references, ","), "]");
}
std::string output_of(const std::string& layer, int64_t call = 0, int64_t output = 0) {
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

std::vector<LayerCase> layer_cases() {
  return {
      {"Activation",
       R"({"activation":"elu"})",
       {{1, 4}},
       {},
       floats({1, 4}, {-0.2211992, 0.625, 0.125, -0.3127107})},
      {"Activation",
       R"({"activation":"hard_sigmoid"})",
       {{1, 4}},
       {},
       floats({1, 4}, {0.45, 0.625, 0.525, 0.425})},
      {"Activation",
       R"({"activation":"relu"})",
       {{1, 4}},
       {},
       floats({1, 4}, {0, 0.625, 0.125, 0})},
      {"Activation",
       R"({"activation":"relu6"})",
       {{1, 4}},
       {},
       floats({1, 4}, {0, 0.625, 0.125, 0})},
      {"Activation",
       R"({"activation":"selu"})",
       {{1, 4}},
       {},
       floats({1, 4}, {-0.3888902, 0.6566881, 0.1313376, -0.5497765})},
      {"Activation",
       R"({"activation":"sigmoid"})",
       {{1, 4}},
       {},
       floats({1, 4}, {0.4378235, 0.6513548, 0.5312093, 0.4073334})},
      {"Activation",
       R"({"activation":"softmax"})",
       {{1, 4}},
       {},
       floats({1, 4}, {0.1743265, 0.4181875, 0.2536435, 0.1538426})},
      {"Activation",
       R"({"activation":"softplus"})",
       {{1, 4}},
       {},
       floats({1, 4}, {0.5759394, 1.053701, 0.7575991, 0.5231233})},
      {"Activation",
       R"({"activation":"softsign"})",
       {{1, 4}},
       {},
       floats({1, 4}, {-0.2, 0.3846154, 0.1111111, -0.2727273})},
      {"Activation",
       R"({"activation":"tanh"})",
       {{1, 4}},
       {},
       floats({1, 4}, {-0.2449187, 0.5545997, 0.124353, -0.3583574})},
      {"Activation",
       R"({"activation":"swish"})",
       {{1, 4}},
       {},
       floats({1, 4}, {-0.1094559, 0.4070968, 0.06640117, -0.15275})},
      {"Activation",
       R"({"activation":"mish"})",
       {{1, 4}},
       {},
       floats({1, 4}, {-0.129927, 0.4895256, 0.07995757, -0.1800401})},
      {"Activation",
       R"({"activation":"gelu"})",
       {{1, 4}},
       {},
       floats({1, 4}, {-0.1003234, 0.4587591, 0.06871729, -0.1326863})},
      {"Activation",
       R"({"activation":"gelu_new"})",
       {{1, 4}},
       {},
       floats({1, 4}, {-0.1003246, 0.4587212, 0.0687172, -0.1326922})},
      {"Activation",
       R"({"activation":"log_softmax"})",
       {{1, 4}},
       {},
       floats({1, 4}, {-1.746825, -0.8718255, -1.371825, -1.871825})},
      {"Add", R"({})", {{1, 2, 2}, {1, 2, 2}}, {}, floats({1, 2, 2}, {-0.25, 0.125, 0.5, -0.5})},
      {"Average",
       R"({})",
       {{1, 2, 2}, {1, 2, 2}},
       {},
       floats({1, 2, 2}, {-0.125, 0.0625, 0.25, -0.25})},
      {"Concatenate",
       R"({"axis":-1})",
       {{1, 2, 2}, {1, 2, 2}},
       {},
       floats({1, 2, 4}, {-0.25, 0.625, 0, -0.5, 0.125, -0.375, 0.375, -0.125})},
      {"Maximum",
       R"({})",
       {{1, 2, 2}, {1, 2, 2}},
       {},
       floats({1, 2, 2}, {0, 0.625, 0.375, -0.125})},
      {"Minimum",
       R"({})",
       {{1, 2, 2}, {1, 2, 2}},
       {},
       floats({1, 2, 2}, {-0.25, -0.5, 0.125, -0.375})},
      {"Multiply",
       R"({})",
       {{1, 2, 2}, {1, 2, 2}},
       {},
       floats({1, 2, 2}, {0, -0.3125, 0.046875, 0.046875})},
      {"Add", R"({})", {{1, 2, 2}, {1, 2}}, {}, floats({1, 2, 2}, {-0.25, 0.125, 0.125, -0.875})},
      {"Concatenate",
       R"({"axis":1})",
       {{1, 2, 2}, {1, 2, 2}},
       {},
       floats({1, 4, 2}, {-0.25, 0.625, 0.125, -0.375, 0, -0.5, 0.375, -0.125})},
      {"AlphaDropout", R"({"rate":0.5})", {{1, 1, 2}}, {}, floats({1, 1, 2}, {-0.25, 0.625})},
      {"Dropout", R"({"rate":0.5})", {{1, 1, 2}}, {}, floats({1, 1, 2}, {-0.25, 0.625})},
      {"GaussianDropout", R"({"rate":0.5})", {{1, 1, 2}}, {}, floats({1, 1, 2}, {-0.25, 0.625})},
      {"SpatialDropout1D", R"({"rate":0.5})", {{1, 1, 2}}, {}, floats({1, 1, 2}, {-0.25, 0.625})},
      {"GaussianNoise", R"({"stddev":1})", {{1, 2}}, {}, floats({1, 2}, {-0.25, 0.625})},
      {"AveragePooling1D",
       R"({"pool_size":[2],"padding":"valid","strides":[2]})",
       {{1, 4, 1}},
       {},
       floats({1, 2, 1}, {0.1875, -0.125})},
      {"AveragePooling1D",
       R"({"pool_size":[3],"padding":"same","strides":[2]})",
       {{1, 4, 1}},
       {},
       floats({1, 2, 1}, {0.1666667, -0.125})},
      {"MaxPooling1D",
       R"({"pool_size":[2],"padding":"valid","strides":[2]})",
       {{1, 4, 1}},
       {},
       floats({1, 2, 1}, {0.625, 0.125})},
      {"MaxPooling1D",
       R"({"pool_size":[3],"padding":"same","strides":[2]})",
       {{1, 4, 1}},
       {},
       floats({1, 2, 1}, {0.625, 0.125})},
      {"AveragePooling2D",
       R"({"pool_size":[2,2],"padding":"valid","strides":[2,2],"data_format":"channels_last"})",
       {{1, 4, 2, 1}},
       {},
       floats({1, 2, 1, 1}, {0.03125, 0.09375})},
      {"AveragePooling2D",
       R"({"pool_size":[3,2],"padding":"same","strides":[2,1],"data_format":"channels_last"})",
       {{1, 3, 3, 1}},
       {},
       floats({1, 2, 3, 1}, {0.125, 0.3125, 0.0625, 0, 0.1875, -0.0625})},
      {"MaxPooling2D",
       R"({"pool_size":[2,2],"padding":"valid","strides":[2,2],"data_format":"channels_last"})",
       {{1, 4, 2, 1}},
       {},
       floats({1, 2, 1, 1}, {0.625, 0.5})},
      {"MaxPooling2D",
       R"({"pool_size":[3,2],"padding":"same","strides":[2,1],"data_format":"channels_last"})",
       {{1, 3, 3, 1}},
       {},
       floats({1, 2, 3, 1}, {0.625, 0.625, 0.125, 0.5, 0.5, 0})},
      {"GlobalAveragePooling1D", R"({})", {{1, 3, 2}}, {}, floats({1, 2}, {0.125, 0.08333333})},
      {"GlobalMaxPooling1D", R"({})", {{1, 3, 2}}, {}, floats({1, 2}, {0.5, 0.625})},
      {"GlobalAveragePooling2D",
       R"({"data_format":"channels_last"})",
       {{1, 2, 2, 2}},
       {},
       floats({1, 2}, {-0.03125, 0.15625})},
      {"GlobalMaxPooling2D",
       R"({"data_format":"channels_last"})",
       {{1, 2, 2, 2}},
       {},
       floats({1, 2}, {0.5, 0.625})},
      {"BatchNormalization",
       R"({"axis":-1,"epsilon":0.001,"center":true,"scale":true})",
       {{2, 3}},
       {{"gamma", {3}}, {"beta", {3}}, {"moving_mean", {3}}, {"moving_variance", {3}}},
       floats({2, 3}, {0.7251657, 0.7496877, -0.4412251, 0.7585543, 0.6716018, -0.4633001})},
      {"LayerNormalization",
       R"({"axis":[1],"epsilon":0.001,"center":true,"scale":true})",
       {{2, 3}},
       {{"gamma", {3}}, {"beta", {3}}},
       floats({2, 3}, {0.9144946, 0.9211102, -0.3894747, 0.9144946, 0.9211102, -0.3894747})},
      {"BatchNormalization",
       R"({"axis":-1,"epsilon":0.001,"center":true,"scale":true})",
       {{1, 2, 3}},
       {{"gamma", {3}}, {"beta", {3}}, {"moving_mean", {3}}, {"moving_variance", {3}}},
       floats({1, 2, 3}, {0.7251657, 0.7496877, -0.4412251, 0.7585543, 0.6716018, -0.4633001})},
      {"LayerNormalization",
       R"({"axis":[2],"epsilon":0.001,"center":true,"scale":true})",
       {{1, 2, 3}},
       {{"gamma", {3}}, {"beta", {3}}},
       floats({1, 2, 3}, {0.9144946, 0.9211102, -0.3894747, 0.9144946, 0.9211102, -0.3894747})},
      {"BatchNormalization",
       R"({"axis":-1,"epsilon":0.001,"center":true,"scale":true})",
       {{1, 2, 2, 2}},
       {{"gamma", {2}}, {"beta", {2}}, {"moving_mean", {2}}, {"moving_variance", {2}}},
       floats({1, 2, 2, 2},
              {0.7251657, 0.7496877, 0.625, 0.125, 0.5248343, 0.3592579, 0.7919429, 0.5935158})},
      {"LayerNormalization",
       R"({"axis":[3],"epsilon":0.001,"center":true,"scale":true})",
       {{1, 2, 2, 2}},
       {{"gamma", {2}}, {"beta", {2}}},
       floats({1, 2, 2, 2}, {0.8743495, 0.7483737, 0.3769763, -0.4950592, 0.3769763, -0.4950592,
                             0.8743495, 0.7483737})},
      {"BatchNormalization",
       R"({"axis":-1,"epsilon":0.125,"center":false,"scale":true})",
       {{1, 2}},
       {{"gamma", {2}}, {"moving_mean", {2}}, {"moving_variance", {2}}},
       floats({1, 2}, {0.2525907, 0.3125})},
      {"LayerNormalization",
       R"({"axis":[1],"epsilon":0.125,"center":true,"scale":false})",
       {{1, 3}},
       {{"beta", {3}}},
       floats({1, 3}, {-1.077606, 1.535367, 0.04223943})},
      {"LayerNormalization",
       R"({"axis":[1],"epsilon":0.001,"center":false,"scale":false})",
       {{1, 3}},
       {},
       floats({1, 3}, {-1.157978, 1.273776, -0.1157978})},
      {"LayerNormalization",
       R"({"axis":[1,2],"epsilon":0.001,"center":true,"scale":true})",
       {{1, 2, 2}},
       {{"gamma", {2, 2}}, {"beta", {2, 2}}},
       floats({1, 2, 2}, {0.8051303, 1.075688, -0.3449783, 0.8902823})},
      {"Conv1D",
       R"({"kernel_size":[2],"strides":[1],"padding":"same","dilation_rate":[2],"activation":"linear","use_bias":true})",
       {{1, 4, 2}},
       {{"kernel", {2, 2, 2}}, {"bias", {2}}},
       floats({1, 4, 2}, {0.875, -0.015625, 1.015625, -0.265625, 0.109375, 0.484375, 0.5, 0.4375})},
      {"Conv2D",
       R"({"kernel_size":[2,3],"strides":[2,2],"padding":"same","data_format":"channels_last","dilation_rate":[1,1],"activation":"relu","use_bias":true})",
       {{1, 3, 4, 1}},
       {{"kernel", {2, 3, 1, 2}}, {"bias", {2}}},
       floats({1, 2, 2, 2}, {0.453125, 0.046875, 0.75, 0, 0.703125, 0.28125, 0.53125, 0.375})},
      {"Conv2DTranspose",
       R"({"kernel_size":[3,3],"strides":[2,2],"padding":"same","data_format":"channels_last","activation":"linear","use_bias":true})",
       {{1, 1, 2, 2}},
       {{"kernel", {3, 3, 1, 2}}, {"bias", {1}}},
       floats({1, 2, 4, 1},
              {1.078125, 0.359375, 0.234375, 0.78125, 0.984375, 0.265625, 0.203125, 0.84375})},
      {"DepthwiseConv2D",
       R"({"kernel_size":[2,2],"strides":[1,1],"padding":"same","data_format":"channels_last","dilation_rate":[1,1],"activation":"linear","use_bias":false,"depth_multiplier":2})",
       {{1, 2, 3, 2}},
       {{"depthwise_kernel", {2, 2, 2, 2}}},
       floats({1, 2, 3, 4},
              {0.109375, 0.140625,  0.59375,  -0.78125, 0.390625, 0.1875,  -0.109375, 0.171875,
               -0.15625, 0.15625,   -0.0625,  0.0625,   0.0625,   -0.3125, 0.359375,  -0.375,
               0.15625,  -0.078125, 0.046875, 0.140625, -0.0625,  0.15625, -0.03125,  0.09375})},
      {"SeparableConv2D",
       R"({"kernel_size":[2,2],"strides":[1,1],"padding":"same","data_format":"channels_last","dilation_rate":[2,2],"activation":"linear","use_bias":true})",
       {{1, 3, 4, 1}},
       {{"depthwise_kernel", {2, 2, 1, 2}}, {"pointwise_kernel", {1, 1, 2, 1}}, {"bias", {1}}},
       floats({1, 3, 4, 1}, {0.125, 0.4140625, 0.02539063, -0.03125, 0.3105469, 0.04296875,
                             -0.06445313, 0.1933594, 0.125, 0.0703125, 0.1367188, 0.1640625})},
      {"Conv1D",
       R"({"kernel_size":[2],"strides":[1],"padding":"valid","dilation_rate":[2],"activation":"linear","use_bias":true})",
       {{1, 4, 2}},
       {{"kernel", {2, 2, 2}}, {"bias", {2}}},
       floats({1, 2, 2}, {1.015625, -0.265625, 0.109375, 0.484375})},
      {"Conv2D",
       R"({"kernel_size":[2,3],"strides":[2,2],"padding":"valid","data_format":"channels_last","dilation_rate":[1,1],"activation":"relu","use_bias":true})",
       {{1, 3, 4, 1}},
       {{"kernel", {2, 3, 1, 2}}, {"bias", {2}}},
       floats({1, 1, 1, 2}, {0.453125, 0.046875})},
      {"Conv2DTranspose",
       R"({"kernel_size":[3,3],"strides":[2,2],"padding":"valid","data_format":"channels_last","activation":"linear","use_bias":true})",
       {{1, 1, 2, 2}},
       {{"kernel", {3, 3, 1, 2}}, {"bias", {1}}},
       floats({1, 3, 5, 1},
              {1.078125, 0.359375, 0.234375, 0.78125, 0.6875, 0.984375, 0.265625, 0.203125, 0.84375,
               0.75, 0.546875, 1.03125, 0.34375, 0.390625, 0.8125})},
      {"DepthwiseConv2D",
       R"({"kernel_size":[2,2],"strides":[1,1],"padding":"valid","data_format":"channels_last","dilation_rate":[1,1],"activation":"linear","use_bias":false,"depth_multiplier":2})",
       {{1, 2, 3, 2}},
       {{"depthwise_kernel", {2, 2, 2, 2}}},
       floats({1, 1, 2, 4},
              {0.109375, 0.140625, 0.59375, -0.78125, 0.390625, 0.1875, -0.109375, 0.171875})},
      {"SeparableConv2D",
       R"({"kernel_size":[2,2],"strides":[1,1],"padding":"valid","data_format":"channels_last","dilation_rate":[2,2],"activation":"linear","use_bias":true})",
       {{1, 3, 4, 1}},
       {{"depthwise_kernel", {2, 2, 1, 2}}, {"pointwise_kernel", {1, 1, 2, 1}}, {"bias", {1}}},
       floats({1, 1, 2, 1}, {0.04296875, -0.06445313})},
      {"Cropping2D",
       R"({"cropping":[[1,0],[0,2]],"data_format":"channels_last"})",
       {{1, 3, 3, 1}},
       {},
       floats({1, 2, 1, 1}, {-0.375, -0.5})},
      {"ZeroPadding2D",
       R"({"padding":[[1,0],[0,2]],"data_format":"channels_last"})",
       {{1, 1, 2, 1}},
       {},
       floats({1, 2, 4, 1}, {0, 0, 0, 0, -0.25, 0.625, 0, 0})},
      {"UpSampling2D",
       R"({"size":[2,1],"data_format":"channels_last","interpolation":"nearest"})",
       {{1, 2, 2, 1}},
       {},
       floats({1, 4, 2, 1}, {-0.25, 0.625, -0.25, 0.625, 0.125, -0.375, 0.125, -0.375})},
      {"UpSampling2D",
       R"({"size":[1,2],"data_format":"channels_last","interpolation":"bilinear"})",
       {{1, 2, 2, 1}},
       {},
       floats({1, 2, 4, 1}, {-0.25, 0.1875, 0.625, 0.625, 0.125, -0.125, -0.375, -0.375})},
      {"Dense",
       R"({"units":2,"activation":"tanh","use_bias":true})",
       {{1, 3}},
       {{"kernel", {3, 2}}, {"bias", {2}}},
       floats({1, 2}, {0.6794679, -0.2595492})},
      {"Dense",
       R"({"units":2,"activation":"linear","use_bias":false})",
       {{1, 2, 3}},
       {{"kernel", {3, 2}}},
       floats({1, 2, 2}, {0.203125, -0.390625, 0.15625, -0.421875})},
      {"ELU",
       R"({"alpha":1})",
       {{1, 4}},
       {},
       floats({1, 4}, {-0.2211992, 0.625, 0.125, -0.3127107})},
      {"LeakyReLU",
       R"({"alpha":0.3})",
       {{1, 4}},
       {},
       floats({1, 4}, {-0.075, 0.625, 0.125, -0.1125})},
      {"LeakyReLU",
       R"({"alpha":0.125})",
       {{1, 4}},
       {},
       floats({1, 4}, {-0.03125, 0.625, 0.125, -0.046875})},
      {"ReLU", R"({})", {{1, 4}}, {}, floats({1, 4}, {0, 0.625, 0.125, 0})},
      {"ReLU", R"({"max_value":0.25})", {{1, 4}}, {}, floats({1, 4}, {0, 0.25, 0.125, 0})},
      {"Softmax",
       R"({"axis":-1})",
       {{1, 4}},
       {},
       floats({1, 4}, {0.1743265, 0.4181875, 0.2536435, 0.1538426})},
      {"PReLU",
       R"({})",
       {{1, 2, 2}},
       {{"alpha", {2, 2}}},
       floats({1, 2, 2}, {0.0625, 0.625, 0.125, 0.140625})},
      {"PReLU",
       R"({"shared_axes":[1]})",
       {{1, 2, 2}},
       {{"alpha", {1, 2}}},
       floats({1, 2, 2}, {0.0625, 0.625, 0.125, -0.234375})},
      {"Embedding",
       R"({})",
       {{1, 3}},
       {{"embeddings", {4, 2}}},
       floats({1, 3, 2}, {-0.25, 0.625, -0.5, 0.375, 0.5, 0})},
      {"Flatten", R"({})", {{1, 2, 2}}, {}, floats({1, 4}, {-0.25, 0.625, 0.125, -0.375})},
      {"Permute",
       R"({"dims":[2,1]})",
       {{1, 2, 3}},
       {},
       floats({1, 3, 2}, {-0.25, -0.375, 0.625, 0.5, 0.125, 0})},
      {"RepeatVector", R"({"n":2})", {{1, 2}}, {}, floats({1, 2, 2}, {-0.25, 0.625, -0.25, 0.625})},
      {"Reshape",
       R"({"target_shape":[2,null]})",
       {{1, 4}},
       {},
       floats({1, 2, 2}, {-0.25, 0.625, 0.125, -0.375})},
      {"GRU",
       R"({"units":2,"activation":"tanh","recurrent_activation":"hard_sigmoid","use_bias":true,"reset_after":false,"return_sequences":false,"go_backwards":false})",
       {{1, 3, 2}},
       {{"kernel", {2, 6}}, {"recurrent_kernel", {2, 6}}, {"bias", {6}}},
       floats({1, 2}, {-0.3168492, 0.4461622})},
      {"GRU",
       R"({"units":2,"activation":"tanh","recurrent_activation":"sigmoid","use_bias":false,"reset_after":false,"return_sequences":true,"go_backwards":true})",
       {{1, 2, 2}},
       {{"kernel", {2, 6}}, {"recurrent_kernel", {2, 6}}},
       floats({1, 2, 2}, {-0.01440209, 0.04819824, 0.008272701, -0.04216266})},
      {"Bidirectional",
       R"({"merge_mode":"concat","layer":{"class_name":"GRU","config":{"units":2,"activation":"tanh","recurrent_activation":"hard_sigmoid","use_bias":true,"reset_after":false,"return_sequences":true,"go_backwards":false}}})",
       {{1, 2, 1}},
       {{"forward_x/kernel", {1, 6}},
        {"forward_x/recurrent_kernel", {2, 6}},
        {"forward_x/bias", {6}},
        {"backward_x/kernel", {1, 6}},
        {"backward_x/recurrent_kernel", {2, 6}},
        {"backward_x/bias", {6}}},
       floats({1, 2, 4}, {-0.2565024, 0.2172542, -0.408921, 0.2625984, -0.2312969, 0.3467761,
                          -0.2033822, 0.09148375})},
      {"Bidirectional",
       R"({"merge_mode":"sum","layer":{"class_name":"GRU","config":{"units":2,"activation":"tanh","recurrent_activation":"hard_sigmoid","use_bias":true,"reset_after":false,"return_sequences":false,"go_backwards":false}}})",
       {{1, 2, 1}},
       {{"forward_x/kernel", {1, 6}},
        {"forward_x/recurrent_kernel", {2, 6}},
        {"forward_x/bias", {6}},
        {"backward_x/kernel", {1, 6}},
        {"backward_x/recurrent_kernel", {2, 6}},
        {"backward_x/bias", {6}}},
       floats({1, 2}, {-0.640218, 0.6093745})},
      {"Bidirectional",
       R"({"merge_mode":"mul","layer":{"class_name":"GRU","config":{"units":2,"activation":"tanh","recurrent_activation":"hard_sigmoid","use_bias":true,"reset_after":false,"return_sequences":true,"go_backwards":false}}})",
       {{1, 2, 1}},
       {{"forward_x/kernel", {1, 6}},
        {"forward_x/recurrent_kernel", {2, 6}},
        {"forward_x/bias", {6}},
        {"backward_x/kernel", {1, 6}},
        {"backward_x/recurrent_kernel", {2, 6}},
        {"backward_x/bias", {6}}},
       floats({1, 2, 2}, {0.1048892, 0.0570506, 0.04704168, 0.03172438})},
      {"Bidirectional",
       R"({"merge_mode":"ave","layer":{"class_name":"GRU","config":{"units":2,"activation":"tanh","recurrent_activation":"hard_sigmoid","use_bias":true,"reset_after":false,"return_sequences":true,"go_backwards":false}}})",
       {{1, 2, 1}},
       {{"forward_x/kernel", {1, 6}},
        {"forward_x/recurrent_kernel", {2, 6}},
        {"forward_x/bias", {6}},
        {"backward_x/kernel", {1, 6}},
        {"backward_x/recurrent_kernel", {2, 6}},
        {"backward_x/bias", {6}}},
       floats({1, 2, 2}, {-0.3327117, 0.2399263, -0.2173396, 0.2191299})},
      {"LSTM",
       R"({"units":2,"activation":"tanh","recurrent_activation":"hard_sigmoid","use_bias":true,"return_sequences":false,"go_backwards":false})",
       {{1, 3, 2}},
       {{"kernel", {2, 8}}, {"recurrent_kernel", {2, 8}}, {"bias", {8}}},
       floats({1, 2}, {-0.13752, 0.1219755})},
      {"LSTM",
       R"({"units":2,"activation":"tanh","recurrent_activation":"sigmoid","use_bias":false,"return_sequences":true,"go_backwards":true})",
       {{1, 2, 2}},
       {{"kernel", {2, 8}}, {"recurrent_kernel", {2, 8}}},
       floats({1, 2, 2}, {-0.04444833, -0.01257265, 0.03763298, 0.01403958})},
      {"Bidirectional",
       R"({"merge_mode":"concat","layer":{"class_name":"LSTM","config":{"units":2,"activation":"tanh","recurrent_activation":"hard_sigmoid","use_bias":true,"return_sequences":true,"go_backwards":false}}})",
       {{1, 2, 1}},
       {{"forward_x/kernel", {1, 8}},
        {"forward_x/recurrent_kernel", {2, 8}},
        {"forward_x/bias", {8}},
        {"backward_x/kernel", {1, 8}},
        {"backward_x/recurrent_kernel", {2, 8}},
        {"backward_x/bias", {8}}},
       floats({1, 2, 4}, {-0.1447852, 0.04993704, -0.1891061, 0.08968423, -0.1072646, 0.1104616,
                          -0.0620806, 0.05155262})},
      {"Bidirectional",
       R"({"merge_mode":"sum","layer":{"class_name":"LSTM","config":{"units":2,"activation":"tanh","recurrent_activation":"hard_sigmoid","use_bias":true,"return_sequences":false,"go_backwards":false}}})",
       {{1, 2, 1}},
       {{"forward_x/kernel", {1, 8}},
        {"forward_x/recurrent_kernel", {2, 8}},
        {"forward_x/bias", {8}},
        {"backward_x/kernel", {1, 8}},
        {"backward_x/recurrent_kernel", {2, 8}},
        {"backward_x/bias", {8}}},
       floats({1, 2}, {-0.2963707, 0.2001458})},
      {"Bidirectional",
       R"({"merge_mode":"mul","layer":{"class_name":"LSTM","config":{"units":2,"activation":"tanh","recurrent_activation":"hard_sigmoid","use_bias":true,"return_sequences":true,"go_backwards":false}}})",
       {{1, 2, 1}},
       {{"forward_x/kernel", {1, 8}},
        {"forward_x/recurrent_kernel", {2, 8}},
        {"forward_x/bias", {8}},
        {"backward_x/kernel", {1, 8}},
        {"backward_x/recurrent_kernel", {2, 8}},
        {"backward_x/bias", {8}}},
       floats({1, 2, 2}, {0.02737977, 0.004478565, 0.006659052, 0.005694586})},
      {"Bidirectional",
       R"({"merge_mode":"ave","layer":{"class_name":"LSTM","config":{"units":2,"activation":"tanh","recurrent_activation":"hard_sigmoid","use_bias":true,"return_sequences":true,"go_backwards":false}}})",
       {{1, 2, 1}},
       {{"forward_x/kernel", {1, 8}},
        {"forward_x/recurrent_kernel", {2, 8}},
        {"forward_x/bias", {8}},
        {"backward_x/kernel", {1, 8}},
        {"backward_x/recurrent_kernel", {2, 8}},
        {"backward_x/bias", {8}}},
       floats({1, 2, 2}, {-0.1669457, 0.06981064, -0.08467261, 0.08100712})},
      {"SimpleRNN",
       R"({"units":2,"activation":"tanh","use_bias":true,"return_sequences":false,"go_backwards":false})",
       {{1, 3, 2}},
       {{"kernel", {2, 2}}, {"recurrent_kernel", {2, 2}}, {"bias", {2}}},
       floats({1, 2}, {0.3978063, -0.2155533})},
      {"SimpleRNN",
       R"({"units":2,"activation":"tanh","use_bias":false,"return_sequences":true,"go_backwards":true})",
       {{1, 2, 2}},
       {{"kernel", {2, 2}}, {"recurrent_kernel", {2, 2}}},
       floats({1, 2, 2}, {-0.07796644, 0.2153263, 0.01114814, -0.284625})},
      {"Bidirectional",
       R"({"merge_mode":"concat","layer":{"class_name":"SimpleRNN","config":{"units":2,"activation":"tanh","use_bias":true,"return_sequences":true,"go_backwards":false}}})",
       {{1, 2, 1}},
       {{"forward_x/kernel", {1, 2}},
        {"forward_x/recurrent_kernel", {2, 2}},
        {"forward_x/bias", {2}},
        {"backward_x/kernel", {1, 2}},
        {"backward_x/recurrent_kernel", {2, 2}},
        {"backward_x/bias", {2}}},
       floats({1, 2, 4}, {0.1853332, -0.486336, 0.07120803, -0.6008651, 0.2607931, -0.2015775,
                          -0.2301757, -0.1853332})},
      {"Bidirectional",
       R"({"merge_mode":"sum","layer":{"class_name":"SimpleRNN","config":{"units":2,"activation":"tanh","use_bias":true,"return_sequences":false,"go_backwards":false}}})",
       {{1, 2, 1}},
       {{"forward_x/kernel", {1, 2}},
        {"forward_x/recurrent_kernel", {2, 2}},
        {"forward_x/bias", {2}},
        {"backward_x/kernel", {1, 2}},
        {"backward_x/recurrent_kernel", {2, 2}},
        {"backward_x/bias", {2}}},
       floats({1, 2}, {0.3320012, -0.8024426})},
      {"Bidirectional",
       R"({"merge_mode":"mul","layer":{"class_name":"SimpleRNN","config":{"units":2,"activation":"tanh","use_bias":true,"return_sequences":true,"go_backwards":false}}})",
       {{1, 2, 1}},
       {{"forward_x/kernel", {1, 2}},
        {"forward_x/recurrent_kernel", {2, 2}},
        {"forward_x/bias", {2}},
        {"backward_x/kernel", {1, 2}},
        {"backward_x/recurrent_kernel", {2, 2}},
        {"backward_x/bias", {2}}},
       floats({1, 2, 2}, {0.01319721, 0.2922223, -0.06002825, 0.03735901})},
      {"Bidirectional",
       R"({"merge_mode":"ave","layer":{"class_name":"SimpleRNN","config":{"units":2,"activation":"tanh","use_bias":true,"return_sequences":true,"go_backwards":false}}})",
       {{1, 2, 1}},
       {{"forward_x/kernel", {1, 2}},
        {"forward_x/recurrent_kernel", {2, 2}},
        {"forward_x/bias", {2}},
        {"backward_x/kernel", {1, 2}},
        {"backward_x/recurrent_kernel", {2, 2}},
        {"backward_x/bias", {2}}},
       floats({1, 2, 2}, {0.1282706, -0.5436006, 0.01530872, -0.1934554})},
      {"TimeDistributed",
       R"({"layer":{"class_name":"Dense","config":{"units":2,"activation":"relu","use_bias":true}}})",
       {{1, 2, 2}},
       {{"kernel", {2, 2}}, {"bias", {2}}},
       floats({1, 2, 2}, {0.765625, 0, 0.546875, 0.34375})},
      {"TimeDistributed",
       R"({"layer":{"class_name":"Activation","config":{"activation":"relu"}}})",
       {{1, 2, 2}},
       {},
       floats({1, 2, 2}, {0, 0.625, 0.125, 0})},
  };
}

// A model of one layer, which takes {1, 3}, or {1, 2, 3, 4} if it is about pictures.
std::string problem_of(const std::string& kind, const std::string& config, const Dims& dims,
                       const std::vector<Weight>& weights = {}) {
  LayersWriter writer;
  writer.layer("InputLayer", "x", LayersWriter::shape(dims)).layer(kind, "y", config);
  for (const Weight& each : weights) {
    writer.weight("y/" + each.name, each.dims, pattern(each.dims, 0));
  }
  return failure([&] { writer.load(); });
}

std::string refusal(const std::string& what) {
  return "unsupported_op: the model uses an operator that is not supported: keras." + what + " (y)";
}

}  // namespace

TEST_CASE("every layer computes what it does in TF.js") {
  const std::vector<LayerCase> cases = layer_cases();
  std::set<std::string> missing;
  for (const std::string& name : model::tfjs::keras_layer_names()) missing.insert(name);
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

TEST_CASE("a layer has its own weights, whatever the names of others are") {
  // ((x * 2) + 1) * 3 * 5
  LayersWriter writer;
  writer.layer("Dense", "a/b", R"({"units":1,"batch_input_shape":[null,1]})")
      .layer("Dense", "b", R"({"units":1,"use_bias":false})")
      .layer("Dense", "a", R"({"units":1,"use_bias":false})");
  writer.weight("a/b/kernel", {1, 1}, {2}).weight("a/b/bias", {1}, {1});
  writer.weight("b/kernel", {1, 1}, {3}).weight("a/kernel", {1, 1}, {5});
  const auto model = writer.load();
  CHECK(read<float>(model->predict_now({buffer<float>({10}, {1, 1})})[0]) ==
        std::vector<float>{315});
}

TEST_CASE("weights may have the names of models before that of the layer") {
  LayersWriter writer;
  writer.layer("Dense", "d", R"({"units":1,"use_bias":false,"batch_input_shape":[null,1]})");
  writer.weight("outer/d/kernel", {1, 1}, {2});
  CHECK(read<float>(writer.load()->predict_now({buffer<float>({10}, {1, 1})})[0]) ==
        std::vector<float>{20});
  writer.weight("other/d/kernel", {1, 1}, {2});
  CHECK(failure([&] { writer.load(); }) ==
        "invalid_model: Dense (d): there are several weights kernel");
}

TEST_CASE("a layer can be called several times") {
  // 2 * (2 * x) + 2 * x
  LayersWriter writer;
  writer.input("x", {1, 1});
  writer.layer("Dense", "d", R"({"units":1,"use_bias":false})",
               {call_of({output_of("x")}), call_of({output_of("d")})});
  writer.layer("Add", "sum", "{}", {call_of({output_of("d", 1), output_of("d")})});
  writer.weight("d/kernel", {1, 1}, {2}).output(output_of("sum")).output(output_of("d"));
  const auto results = writer.load()->predict_now({buffer<float>({10}, {1, 1})});
  CHECK(read<float>(results[0]) == std::vector<float>{60});
  CHECK(read<float>(results[1]) == std::vector<float>{20});
}

TEST_CASE("the calls of a nested model begin with 1, or with 0") {
  for (const int64_t first : {0, 1}) {
    CAPTURE(first);
    LayersWriter inner;
    inner.layer("Dense", "d", R"({"units":1,"use_bias":false,"batch_input_shape":[null,1]})");
    LayersWriter writer;
    writer.input("x", {1, 1});
    writer.layer("Sequential", "inner", inner.config(),
                 {call_of({output_of("x")}), call_of({output_of("inner", first)})});
    writer.weight("d/kernel", {1, 1}, {3}).output(output_of("inner", first + 1));
    CHECK(read<float>(writer.load()->predict_now({buffer<float>({10}, {1, 1})})[0]) ==
          std::vector<float>{90});
  }
}

TEST_CASE("the first layer of a sequential model may be a model") {
  LayersWriter inner;
  inner.input("x", {1, 1}).layer("Dense", "d", R"({"units":1})", {call_of({output_of("x")})});
  inner.output(output_of("d"));
  LayersWriter writer;
  writer.layer("Model", "inner", inner.config()).layer("ReLU", "y", R"({"max_value":25})");
  writer.weight("d/kernel", {1, 1}, {2}).weight("d/bias", {1}, {1});
  const auto model = writer.load();
  CHECK(model->inputs()[0].name == "x");
  CHECK(model->outputs()[0].name == "y");
  CHECK(read<float>(model->predict_now({buffer<float>({10, 20}, {2, 1})})[0]) ==
        std::vector<float>{21, 25});
}

TEST_CASE("options that TF.js does not have, or that need more than one result, are refused") {
  const Dims picture{1, 4, 4, 2};
  const Dims sequence{1, 3, 2};
  CHECK(problem_of("Subtract", "{}", {1, 3}) == refusal("Subtract"));
  CHECK(problem_of("DepthwiseConv2D", R"({"kernel_size":2,"dilation_rate":2})", picture) ==
        refusal("DepthwiseConv2D with dilation"));
  CHECK(problem_of("Conv1D", R"({"kernel_size":[2],"padding":"causal"})", sequence) ==
        refusal("Conv1D with padding causal"));
  CHECK(problem_of("Conv2D", R"({"kernel_size":2,"groups":2})", picture) ==
        refusal("Conv2D with several groups"));
  CHECK(problem_of("Conv2D", R"({"kernel_size":2,"data_format":"channels_first"})", picture) ==
        refusal("Conv2D with channels first"));
  CHECK(problem_of("Conv2DTranspose", R"({"kernel_size":2,"strides":3})", picture) ==
        refusal("Conv2DTranspose with output padding, or gaps between windows without padding"));
  CHECK(problem_of("GlobalMaxPooling2D", R"({"keepdims":true})", picture) ==
        refusal("GlobalMaxPooling2D with keepdims"));
  CHECK(problem_of("LayerNormalization", R"({"axis":1})", sequence) ==
        refusal("LayerNormalization with other axes than the last ones"));
  CHECK(problem_of("Softmax", R"({"axis":1})", sequence) ==
        refusal("Softmax with another axis than the last"));
  CHECK(problem_of("ReLU", R"({"negative_slope":0.5})", {1, 3}) == refusal("ReLU with a slope"));
  CHECK(problem_of("ELU", R"({"alpha":0.5})", {1, 3}) == refusal("ELU with another alpha than 1"));
  CHECK(problem_of("Activation", R"({"activation":"exponential"})", {1, 3}) ==
        refusal("Activation with the activation exponential"));
  CHECK(problem_of("Embedding", R"({"mask_zero":true})", {1, 3}) ==
        refusal("Embedding with masks"));
  CHECK(problem_of("GRU", R"({"units":2,"reset_after":true})", sequence) ==
        refusal("GRU with reset_after"));
  CHECK(problem_of("LSTM", R"({"units":2,"return_state":true})", sequence) ==
        refusal("LSTM with states that are kept or returned"));
  CHECK(problem_of("Bidirectional",
                   R"({"merge_mode":null,"layer":{"class_name":"GRU","config":{"units":2}}})",
                   sequence) == refusal("Bidirectional with directions that are not merged"));
  CHECK(problem_of("TimeDistributed", R"({"layer":{"class_name":"Flatten","config":{}}})",
                   picture) == refusal("TimeDistributed with a layer of class Flatten"));
}

TEST_CASE("initial states of a recurrent layer are refused, with all its outputs") {
  LayersWriter writer;
  writer.input("x", {1, 3, 2}).input("h", {1, 2});
  writer.layer("GRU", "y", R"({"units":2,"return_state":true})",
               {call_of({output_of("x"), output_of("h")})});
  writer.output(output_of("y")).output(output_of("y", 0, 1));
  CHECK(failure([&] { writer.load(); }) == refusal("GRU with several inputs"));
}

TEST_CASE("layers whose options or weights are invalid") {
  CHECK(problem_of("Dense", R"({"units":1})", {1, 3}, {{"kernel", {3, 1}}}) ==
        "invalid_model: Dense (y): the weight bias is missing");
  CHECK(problem_of("RepeatVector", R"({"n":[]})", {1, 3}) ==
        "invalid_model: RepeatVector (y): n has 0 values, expected 1");
  CHECK(problem_of("ZeroPadding2D", R"({"padding":-1})", {1, 2, 2, 1}) ==
        "invalid_model: ZeroPadding2D (y): padding has the value -1, expected 0 to 1048576");
  CHECK(problem_of("BatchNormalization", R"({"axis":0})", {1, 3}) ==
        "invalid_model: BatchNormalization (y): axis is not an axis of the input");
  CHECK(problem_of("LSTM", R"({"units":2})", {1, 3, 2},
                   {{"kernel", {2, 4}}, {"recurrent_kernel", {2, 8}}, {"bias", {8}}}) ==
        "invalid_model: LSTM (y): the weights do not fit 2 units");
}

}  // namespace dala::test::tfjs
