// Transposes that move behind other nodes, which can then be fused.
#include "model/passes/sink_transposes.hpp"

#include "model/graph/graph_sketch.hpp"

namespace dala::test {

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
