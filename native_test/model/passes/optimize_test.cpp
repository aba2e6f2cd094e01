// The optimizer: how many nodes are left, and that the results do not change.
#include "model/passes/optimize.hpp"

#include "model/graph/graph_sketch.hpp"

namespace dala::test {
TEST_CASE("a clamp is fused into the convolution") {
  GraphSketch net;
  net.number("low", -0.25F).number("high", 0.5F);
  net.conv("x", "a", 3, 5, 3).node("Clip", {"a", "low", "high"}, {"b"});
  check_merged(net, {1, 3, 6, 5}, "b", 1);
  // An empty range is not fused.
  net.number("high", -0.5F);
  check_merged(net, {1, 3, 6, 5}, "b", 2);
}

TEST_CASE("arithmetic per channel is folded into the convolution") {
  GraphSketch net;
  net.weights("scale", {1, 5, 1, 1}).weights("shift", {5, 1, 1}).number("one", 1.5F);
  net.conv("x", "a", 3, 5, 3).node("Mul", {"scale", "a"}, {"b"}).node("Add", {"b", "shift"}, {"c"});
  net.node("Sub", {"one", "c"}, {"d"}).node("Div", {"d", "one"}, {"e"}).node("Relu", {"e"}, {"f"});
  check_merged(net, {1, 3, 6, 4}, "f", 1);
  // Arithmetic per column is not.
  GraphSketch columns;
  columns.weights("row", {5}).conv("x", "a", 3, 5, 3).node("Add", {"a", "row"}, {"b"});
  check_merged(columns, {1, 3, 6, 5}, "b", 2);
}

TEST_CASE("a residual is not scaled by the arithmetic after it") {
  GraphSketch net;
  net.weights("scale", {4}).weights("shift", {4}).weights("mean", {4});
  net.floats["variance"] = {{4}, {0.5F, 1, 2, 0.25F}};
  net.conv("x", "a", 4, 4, 3).node("Add", {"a", "x"}, {"b"});
  net.node("BatchNormalization", {"b", "scale", "shift", "mean", "variance"}, {"c"});
  net.node("Relu", {"c"}, {"d"});
  check_merged(net, {1, 4, 5, 5}, "d", 2);
}

TEST_CASE("an activation is fused into a batch normalization without convolution") {
  GraphSketch net;
  net.weights("scale", {20}).weights("shift", {20}).weights("mean", {20});
  std::vector<float> variance;
  for (int i = 0; i < 20; ++i) variance.push_back(0.25F * static_cast<float>(i + 1));
  net.floats["variance"] = {{20}, variance};
  net.node("BatchNormalization", {"x", "scale", "shift", "mean", "variance"}, {"a"});
  net.node("Relu", {"a"}, {"b"});
  for (const Shape& x : {Shape{2, 20, 5, 3}, Shape{2, 20, 7}, Shape{3, 20}}) {
    check_merged(net, x, "b", 1);
  }
  // The same on an NHWC view from a convolution, whose second use prevents folding.
  GraphSketch pixels = net;
  pixels.steps.clear();
  pixels.conv("x", "c", 3, 20, 3);
  pixels.node("BatchNormalization", {"c", "scale", "shift", "mean", "variance"}, {"d"});
  pixels.node("Sigmoid", {"d"}, {"e"}).node("Add", {"e", "c"}, {"f"});
  check_merged(pixels, {2, 3, 6, 5}, "f", 3);
}

TEST_CASE("channels are scaled by factors computed at run time") {
  for (const int64_t channels : {16, 20, 48}) {
    GraphSketch net;
    net.conv("x", "a", 3, channels, 3).node("GlobalAveragePool", {"a"}, {"b"});
    net.conv("b", "c", channels, channels, 1).node("Sigmoid", {"c"}, {"d"});
    net.node("Mul", {"d", "a"}, {"e"});
    check_merged(net, {1, 3, 6, 5}, "e", 4);
    check_merged(net, {2, 3, 6, 5}, "e", 4);
  }
}

TEST_CASE("a Pad with zeros is fused into the convolution") {
  GraphSketch net;
  net.integers = {{"pads", {0, 0, 1, 0, 0, 0, 2, 3}}};
  net.node("Pad", {"x", "pads"}, {"a"});
  net.weights("w", {4, 3, 3, 3});
  net.node("Conv", {"a", "w"}, {"b"}, {attribute("pads", Integers{1, 0, 0, 2})});
  check_merged(net, {2, 3, 6, 5}, "b", 1);
  GraphSketch valid = net;
  valid.steps[1].attributes = {attribute("auto_pad", std::string("VALID"))};
  check_merged(valid, {2, 3, 6, 5}, "b", 1);
  GraphSketch same = net;
  same.steps[1].attributes = {attribute("auto_pad", std::string("SAME_UPPER"))};
  check_merged(same, {2, 3, 6, 5}, "b", 2);
  GraphSketch ones = net;
  ones.number("one", 1).steps[0].inputs.push_back("one");
  check_merged(ones, {2, 3, 6, 5}, "b", 2);
  GraphSketch edges = net;
  edges.steps[0].attributes = {attribute("mode", std::string("edge"))};
  check_merged(edges, {2, 3, 6, 5}, "b", 2);
  GraphSketch channels = net;
  channels.weights("w", {4, 4, 3, 3}).integers["pads"] = {0, 1, 0, 0, 0, 0, 0, 0};
  check_merged(channels, {2, 3, 6, 5}, "b", 2);
}

TEST_CASE("a Pad with zeros is fused into an average pool that counts it") {
  GraphSketch net;
  net.integers = {{"pads", {0, 0, 1, 0, 0, 0, 2, 1}}};
  net.node("Pad", {"x", "pads"}, {"a"});
  const auto size = attribute("kernel_shape", Integers{3, 2});
  net.node("AveragePool", {"a"}, {"b"}, {size});
  check_merged(net, {2, 3, 6, 5}, "b", 1);
  // Padding wider than a window.
  GraphSketch wide = net;
  wide.integers["pads"] = {0, 0, 4, 0, 0, 0, 5, 3};
  check_merged(wide, {1, 3, 6, 5}, "b", 1);
  GraphSketch counted = net;
  counted.steps[1].attributes = {size, attribute("pads", Integers{1, 1, 0, 0}),
                                 attribute("count_include_pad", int64_t{1})};
  check_merged(counted, {2, 3, 6, 5}, "b", 1);
  // A pool that excludes its own padding is not fused.
  GraphSketch apart = counted;
  apart.steps[1].attributes.pop_back();
  check_merged(apart, {2, 3, 6, 5}, "b", 2);
}

TEST_CASE("a sum with a tensor that is computed after the convolution") {
  // y = relu(conv(x) + abs(x)), with the absolute value last; the weights are twice the identity.
  OnnxWriter writer;
  writer.input("x", {1, 2, 2, 2}).output("y");
  writer.constant<float>("w", ElementType::f32, {2, 2, 1, 1}, {2, 0, 0, 2});
  writer.node("Conv", {"x", "w"}, {"c"});
  writer.node("Abs", {"x"}, {"a"});
  writer.node("Add", {"a", "c"}, {"s"});
  writer.node("Relu", {"s"}, {"y"});
  const auto model = load(writer);
  CHECK(model->info().nodes == 2);
  const auto outputs =
      model->predict_now({buffer<float>({1, -1, 2, -2, 3, -3, 4, -4}, {1, 2, 2, 2})});
  CHECK(read<float>(outputs[0]) == std::vector<float>{3, 0, 6, 0, 9, 0, 12, 0});
}

TEST_CASE("activations that exporters decompose are fused into the convolution") {
  const std::vector<float> x{1, -1, 2, -2, 4, -4};
  const auto run_gate = [&](const std::string& gate,
                            const std::vector<AttributeBytes>& attributes) {
    OnnxWriter writer;
    writer.input("x", {1, 1, 2, 3}).output("y");
    writer.constant<float>("w", ElementType::f32, {1, 1, 1, 1}, {1});
    writer.node("Conv", {"x", "w"}, {"c"});
    writer.node(gate, {"c"}, {"g"}, attributes);
    writer.node("Mul", {"g", "c"}, {"y"});
    const auto model = load(writer);
    CHECK(model->info().nodes == 1);
    return read<float>(model->predict_now({buffer(x, {1, 1, 2, 3})})[0]);
  };
  std::vector<double> silu;
  std::vector<double> hardswish;
  for (float each : x) {
    silu.push_back(each / (1 + std::exp(-static_cast<double>(each))));
    hardswish.push_back(each * std::clamp(each / 6.0 + 0.5, 0.0, 1.0));
  }
  check_close(run_gate("Sigmoid", {}), silu);
  check_close(run_gate("HardSigmoid", {attribute("alpha", 1.0F / 6), attribute("beta", 0.5F)}),
              hardswish);
}

}  // namespace dala::test
