// TF.js layers models: calls of layers, nested models, names of weights, and errors.
#include "model/import/tfjs/layers/import.hpp"

#include "model/import/tfjs/layers/layers_writer.hpp"

namespace dala::test::tfjs {
namespace {

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
        "invalid_model: BatchNormalization (y): axis is 0, expected 1 to 1, or -1 to -1 from the "
        "end");
  CHECK(problem_of("LSTM", R"({"units":2})", {1, 3, 2},
                   {{"kernel", {2, 4}}, {"recurrent_kernel", {2, 8}}, {"bias", {8}}}) ==
        "invalid_model: LSTM (y): kernel has shape {2, 4} and recurrent_kernel {2, 8}, expected 8 "
        "columns for 2 units");
}

}  // namespace dala::test::tfjs
