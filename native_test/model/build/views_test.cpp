// Graphs whose tensors have several memory orders.
#include "model/build/views.hpp"

#include "model/graph/graph_sketch.hpp"

namespace dala::test {
namespace {

// The number of stages of a model that only move elements.
size_t layers_of(const std::shared_ptr<Model>& model, const Shape& shape, const std::string& op) {
  size_t found = 0;
  for (const auto& layer : model->profile({zeros(DType::f32, shape)}).layers) {
    if (layer.layer.rfind(op + " (", 0) == 0) ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("convolutions with residuals, broadcasts and several consumers") {
  GraphSketch net;
  net.weights("scale", {1, 8, 1, 1}).weights("row", {6}).weights("full", {1, 8, 5, 6});
  net.conv("x", "a", 3, 8, 3).conv("a", "b", 8, 8, 3, 8).node("Add", {"b", "a"}, {"c"});
  net.node("Mul", {"c", "scale"}, {"d"}).node("Add", {"d", "row"}, {"e"});
  net.node("Sub", {"e", "full"}, {"f"}).node("Sin", {"f"}, {"g"});
  net.node("GlobalAveragePool", {"g"}, {"gate"}).node("Mul", {"g", "gate"}, {"h"});
  net.conv("h", "i", 8, 4, 1).node("Softmax", {"i"}, {"j"}, {attribute("axis", int64_t{1})});
  net.node("ReduceMean", {"g"}, {"k"},
           {attribute("axes", Integers{1, 3}), attribute("keepdims", int64_t{0})});
  net.check({2, 3, 5, 6}, {"a", "c", "f", "g", "h", "i", "j", "k"});
  net.check({1, 3, 5, 6}, {"j"});
}

TEST_CASE("pools, resizing, concatenation and slicing of NHWC views") {
  GraphSketch net;
  net.integers = {{"sizes", {2, 6, 11, 9}}, {"starts", {1, 2}}, {"ends", {5, 100}},
                  {"axes", {1, 2}},         {"steps", {2, 3}},  {"pads", {0, 1, 0, 2, 0, 0, 1, 0}}};
  net.weights("scales", {4});
  net.floats["scales"].second = {1, 1, 2, 2};
  net.conv("x", "a", 4, 6, 3);
  net.node("MaxPool", {"a"}, {"b"},
           {attribute("kernel_shape", Integers{2, 3}), attribute("pads", Integers{1, 0, 0, 1}),
            attribute("strides", Integers{1, 2})});
  net.node("AveragePool", {"a"}, {"c"},
           {attribute("kernel_shape", Integers{3, 3}), attribute("pads", Integers{1, 1, 1, 1})});
  net.node("MaxPool", {"a"}, {"ceil"},
           {attribute("kernel_shape", Integers{2, 2}), attribute("strides", Integers{2, 2}),
            attribute("ceil_mode", int64_t{1})});
  net.node("AveragePool", {"a"}, {"mean"},
           {attribute("kernel_shape", Integers{3, 3}), attribute("strides", Integers{2, 3}),
            attribute("pads", Integers{1, 0, 0, 0}), attribute("ceil_mode", int64_t{1})});
  net.node("Resize", {"c", "", "", "sizes"}, {"d"}, {attribute("mode", std::string("linear"))});
  net.node("Resize", {"c", "", "scales"}, {"e"}, {attribute("mode", std::string("nearest"))});
  net.node("Concat", {"a", "c", "x"}, {"f"}, {attribute("axis", int64_t{1})});
  net.node("Concat", {"x", "a"}, {"g"}, {attribute("axis", int64_t{1})});
  net.node("Slice", {"f", "starts", "ends", "axes", "steps"}, {"h"});
  net.node("Split", {"f"}, {"i", "j"}, {attribute("axis", int64_t{1})});
  net.node("Pad", {"a", "pads"}, {"k"}).node("Transpose", {"h"}, {"l"});
  net.check({2, 4, 7, 5}, {"b", "c", "ceil", "mean", "d", "e", "f", "g", "h", "i", "j", "k", "l"});
}

TEST_CASE("reshapes and transposes of NHWC views") {
  GraphSketch net;
  net.integers = {{"split", {2, 2, 3, 20}},
                  {"flat", {2, -1}},
                  {"planes", {2, 6, 20}},
                  {"mixed", {4, 3, 4, 5}},
                  {"long", {2, 3, 2, 4, 5}}};
  net.conv("x", "a", 3, 6, 3);
  net.node("Reshape", {"a", "split"}, {"b"});
  net.node("Transpose", {"b"}, {"c"}, {attribute("perm", Integers{0, 1, 3, 2})});
  net.node("Reshape", {"a", "flat"}, {"d"}).node("Reshape", {"a", "planes"}, {"e"});
  net.node("Transpose", {"e"}, {"f"}, {attribute("perm", Integers{0, 2, 1})});
  net.node("Reshape", {"a", "mixed"}, {"g"}).node("Reshape", {"a", "long"}, {"h"});
  net.node("Transpose", {"h"}, {"i"}, {attribute("perm", Integers{0, 3, 4, 1, 2})});
  net.node("Flatten", {"a"}, {"j"}).node("Identity", {"e"}, {"k"}).node("Tanh", {"f"}, {"l"});
  net.check({2, 3, 4, 5}, {"b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"});
}

TEST_CASE("1-D convolutions") {
  GraphSketch net;
  net.weights("w", {5, 4, 3}).weights("v", {5, 1, 3});
  net.node("Conv", {"x", "w"}, {"a"}, {attribute("pads", Integers{1, 1})});
  net.node("Conv", {"a", "v"}, {"b"}, {attribute("group", int64_t{5})});
  net.node("Relu", {"b"}, {"c"});
  net.check({2, 4, 9}, {"a", "b", "c"});
}

TEST_CASE("transposes around convolutions cost nothing") {
  // The pattern of imported NHWC models.
  const Integers first{0, 3, 1, 2};
  const Integers last{0, 2, 3, 1};
  GraphSketch net;
  net.node("Transpose", {"x"}, {"x first"}, {attribute("perm", first)});
  net.conv("x first", "a first", 3, 8, 3);
  net.node("Transpose", {"a first"}, {"a"}, {attribute("perm", last)}).node("Sin", {"a"}, {"b"});
  net.node("Transpose", {"b"}, {"b first"}, {attribute("perm", first)});
  net.conv("b first", "c first", 8, 8, 3, 8);
  net.node("Transpose", {"c first"}, {"c"}, {attribute("perm", last)});
  net.node("Add", {"c", "b"}, {"d"}).node("Tanh", {"d"}, {"e"});
  const Shape shape{1, 6, 5, 3};
  net.check(shape, {"b", "d", "e"});
  const auto model = net.whole(shape, {"e"});
  CHECK(layers_of(model, shape, "Transpose") == 0);
  CHECK(model->profile({zeros(DType::f32, shape)}).layers.size() == 5);
}

// The expected results come from the general kernel, which runs if the weights are not constants.
TEST_CASE("transposed convolutions by phases") {
  struct Case {
    Integers size, strides, pads, extra;
  };
  for (const Case& each :
       {Case{{2, 2}, {2, 2}, {0, 0, 0, 0}, {0, 0}}, Case{{4, 4}, {2, 2}, {1, 1, 1, 1}, {0, 0}},
        Case{{3, 3}, {2, 2}, {1, 0, 0, 1}, {0, 0}}, Case{{3, 5}, {1, 3}, {1, 2, 0, 1}, {0, 0}},
        Case{{3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}}, Case{{1, 2}, {3, 2}, {0, 0, 0, 0}, {2, 0}}}) {
    const Shape shape{3, 5, each.size[0], each.size[1]};
    GraphSketch known;
    known.weights("w", shape).weights("bias", {5});
    const std::vector<AttributeBytes> attributes{attribute("strides", each.strides),
                                                 attribute("pads", each.pads),
                                                 attribute("output_padding", each.extra)};
    known.node("ConvTranspose", {"x", "w", "bias"}, {"y"}, attributes);
    known.node("Relu", {"y"}, {"z"});
    const BufferPtr x = buffer(random_floats(2 * 3 * 4 * 3, 5), {2, 3, 4, 3});
    const auto got = known.whole({2, 3, 4, 3}, {"y", "z"})->predict_now({x});
    OnnxWriter writer;
    writer.input("x", {2, 3, 4, 3}).input("w", {3, 5, each.size[0], each.size[1]}).output("y");
    writer.constant("bias", ElementType::f32, {5}, known.floats["bias"].second);
    writer.node("ConvTranspose", {"x", "w", "bias"}, {"y"}, attributes);
    const auto expected = load(writer)->predict_now({x, buffer(known.floats["w"].second, shape)});
    REQUIRE(got[0]->type() == expected[0]->type());
    const auto ours = read<float>(got[0]);
    const auto theirs = read<float>(expected[0]);
    for (size_t i = 0; i < ours.size(); ++i) {
      CAPTURE(i);
      CHECK(std::fabs(ours[i] - theirs[i]) < 1e-5F);
    }
  }
}

TEST_CASE("weights that are not constants") {
  GraphSketch net;
  net.weights("k", {3, 3, 1, 1});
  net.node("Neg", {"x"}, {"w"}).node("Conv", {"x", "w"}, {"a"});
  net.node("Conv", {"x", "k"}, {"b"}).node("Conv", {"b", "w"}, {"c"});
  net.check({3, 3, 2, 2}, {"a", "b", "c"});
}

}  // namespace dala::test
