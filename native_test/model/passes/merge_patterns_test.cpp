// Patterns that exporters write: how many nodes are left, and that the results do not change.
#include "model/passes/merge_patterns.hpp"

#include "model/graph/graph_sketch.hpp"

namespace dala::test {

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

}  // namespace dala::test
