// The optimizer: how many nodes are left, and that the results do not change.
#include "model/optimize.hpp"

#include "model/graph_sketch.hpp"

namespace dala::test {
namespace {

void check_merged(const GraphSketch& net, const Shape& x, const std::string& y, size_t nodes) {
  CHECK(net.whole(x, {y})->info().nodes == nodes);
  net.check(x, {y});
}

}  // namespace

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

TEST_CASE("a bias row and an activation are fused into a matrix product") {
  GraphSketch net;
  net.weights("w", {6, 10}).weights("row", {10}).number("zero", 0).number("six", 6);
  net.node("MatMul", {"x", "w"}, {"a"}).node("Add", {"row", "a"}, {"b"});
  net.node("Relu", {"b"}, {"c"});
  check_merged(net, {2, 3, 6}, "c", 1);
  check_merged(net, {2, 3, 6}, "b", 1);
  net.steps[2] = {"Clip", {"b", "zero", "six"}, {"c"}, {}};
  check_merged(net, {2, 3, 6}, "c", 1);
  GraphSketch both = net;
  both.node("Sub", {"a", "c"}, {"d"});
  check_merged(both, {2, 3, 6}, "d", 4);  // the product has another use
  GraphSketch gemm;
  gemm.weights("w", {10, 6}).weights("row", {10}).weights("column", {3, 1});
  for (const char* added : {"row", "column"}) {
    gemm.steps.clear();
    gemm.node("Gemm", {"x", "w", added}, {"a"}, {attribute("transB", int64_t{1})});
    gemm.node("Relu", {"a"}, {"b"});
    check_merged(gemm, {3, 6}, "b", 1);
  }
}

TEST_CASE("a decomposed Gelu is merged, with the factor 1/2 in three places") {
  GraphSketch net;
  net.number("root", 1.41421356F).number("one", 1).number("half", 0.5F);
  net.node("Div", {"x", "root"}, {"a"}).node("Erf", {"a"}, {"b"}).node("Add", {"b", "one"}, {"c"});
  GraphSketch last = net;
  last.node("Mul", {"x", "c"}, {"d"}).node("Mul", {"d", "half"}, {"y"});
  check_merged(last, {3, 7}, "y", 1);
  GraphSketch first = net;
  first.node("Mul", {"half", "x"}, {"d"}).node("Mul", {"d", "c"}, {"y"});
  check_merged(first, {3, 7}, "y", 1);
  GraphSketch middle = net;
  middle.node("Mul", {"c", "half"}, {"d"}).node("Mul", {"d", "x"}, {"y"});
  check_merged(middle, {3, 7}, "y", 1);
  GraphSketch other = net;
  other.number("half", 0.4F);
  other.node("Mul", {"x", "c"}, {"d"}).node("Mul", {"d", "half"}, {"y"});
  check_merged(other, {3, 7}, "y", 5);
}

TEST_CASE("a decomposed LayerNormalization is merged") {
  GraphSketch net;
  net.weights("scale", {7}).weights("shift", {7}).number("two", 2).number("small", 1e-5F);
  const std::vector<AttributeBytes> last{attribute("axes", Integers{-1})};
  net.node("ReduceMean", {"x"}, {"mean"}, last).node("Sub", {"x", "mean"}, {"d"});
  net.node("Pow", {"d", "two"}, {"squares"}).node("ReduceMean", {"squares"}, {"variance"}, last);
  net.node("Add", {"variance", "small"}, {"more"}).node("Sqrt", {"more"}, {"deviation"});
  net.node("Div", {"d", "deviation"}, {"n"}).node("Mul", {"n", "scale"}, {"scaled"});
  net.node("Add", {"scaled", "shift"}, {"y"});
  check_merged(net, {2, 3, 7}, "y", 1);
  GraphSketch first = net;
  first.steps[0].attributes = {attribute("axes", Integers{1})};
  check_merged(first, {2, 3, 7}, "y", 9);
}

TEST_CASE("a decomposed HardSwish is merged, with the factor 1/6 in two places") {
  GraphSketch net;
  net.number("three", 3).number("zero", 0).number("six", 6);
  net.conv("x", "x1", 2, 4, 1).node("Add", {"x1", "three"}, {"a"});
  net.node("Clip", {"a", "zero", "six"}, {"b"});
  GraphSketch last = net;
  last.node("Mul", {"x1", "b"}, {"c"}).node("Div", {"c", "six"}, {"y"});
  check_merged(last, {1, 2, 3, 5}, "y", 1);
  GraphSketch middle = net;
  middle.number("sixth", 1.0F / 6).node("Mul", {"b", "sixth"}, {"c"});
  middle.node("Mul", {"x1", "c"}, {"y"});
  check_merged(middle, {1, 2, 3, 5}, "y", 1);
}

TEST_CASE("operators between the convolutions of an NHWC model are fused") {
  // pad, conv; conv + residual, activation; a row by channel: all between transposes.
  const Integers first{0, 3, 1, 2};
  const Integers last{0, 2, 3, 1};
  const auto turned = [](GraphSketch& net, const std::string& x, const std::string& y,
                         const Integers& to) {
    net.node("Transpose", {x}, {y}, {attribute("perm", to)});
  };
  GraphSketch net;
  net.integers = {{"pads", {0, 1, 1, 0, 0, 0, 1, 0}}};
  net.weights("row", {5}).weights("w", {5, 4, 2, 2});
  turned(net, "x", "x first", first);
  net.conv("x first", "a first", 3, 4, 1);
  turned(net, "a first", "a", last);
  net.node("Relu", {"a"}, {"b"}).node("Pad", {"b", "pads"}, {"c"});
  turned(net, "c", "c first", first);
  net.node("Conv", {"c first", "w"}, {"d first"});
  turned(net, "d first", "d", last);
  turned(net, "d", "e first", first);
  net.conv("e first", "f first", 5, 5, 3);
  turned(net, "f first", "f", last);
  net.node("Add", {"d", "f"}, {"g"}).node("Relu", {"g"}, {"h"}).node("Mul", {"h", "row"}, {"y"});
  // Three convolutions, a product, and a transpose at either end.
  check_merged(net, {1, 4, 5, 3}, "y", 6);
  net.check({1, 4, 5, 3}, {"y", "b", "d", "g"});
}

}  // namespace dala::test
