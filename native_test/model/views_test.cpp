// Graphs whose tensors lie in several orders: the whole must give what its nodes give one by one,
// each loaded as a model of its own, whose input and output lie as their shapes say.
#include "model/views.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>

#include "model/model.hpp"
#include "support/engine_fixture.hpp"
#include "support/onnx_writer.hpp"

namespace dala::test {
namespace {

using model::ElementType;
using model::Model;
using Integers = std::vector<int64_t>;

std::vector<float> random_floats(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> range(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = range(random);
  return values;
}

int64_t count_of(const Shape& shape) { return TensorType{DType::f32, shape}.count(); }

struct Net {
  struct Step {
    std::string op;
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    std::vector<AttributeBytes> attributes;
  };
  std::map<std::string, std::pair<Shape, std::vector<float>>> floats;
  std::map<std::string, Integers> integers;
  std::vector<Step> steps;

  Net& weights(const std::string& name, const Shape& shape) {
    floats[name] = {shape, random_floats(count_of(shape), static_cast<uint32_t>(floats.size()))};
    return *this;
  }
  Net& node(const std::string& op, const std::vector<std::string>& inputs,
            const std::vector<std::string>& outputs,
            const std::vector<AttributeBytes>& attributes = {}) {
    steps.push_back({op, inputs, outputs, attributes});
    return *this;
  }
  // y = conv(x) with padding that keeps the planes' size.
  Net& conv(const std::string& x, const std::string& y, int64_t in, int64_t out, int64_t size,
            int64_t groups = 1) {
    const std::string name = y + " weights";
    weights(name, {out, in / groups, size, size});
    return node("Conv", {x, name}, {y},
                {attribute("group", groups), attribute("pads", Integers(4, size / 2))});
  }

  void constants(OnnxWriter& writer, const std::vector<std::string>& used) const {
    for (const std::string& name : used) {
      if (const auto found = floats.find(name); found != floats.end()) {
        writer.constant(name, ElementType::f32, found->second.first, found->second.second);
      }
      if (const auto found = integers.find(name); found != integers.end()) {
        const auto size = static_cast<int64_t>(found->second.size());
        writer.constant(name, ElementType::i64, {size}, found->second);
      }
    }
  }

  std::shared_ptr<Model> whole(const Shape& x, const std::vector<std::string>& outputs) const {
    OnnxWriter writer;
    writer.input("x", std::vector<Dim>(x.begin(), x.end()));
    for (const std::string& output : outputs) writer.output(output);
    std::vector<std::string> used;
    for (const Step& step : steps) {
      for (const std::string& input : step.inputs) {
        if (std::find(used.begin(), used.end(), input) == used.end()) used.push_back(input);
      }
    }
    constants(writer, used);
    for (const Step& step : steps) writer.node(step.op, step.inputs, step.outputs, step.attributes);
    return Model::load(engine(), as_bytes(writer.str()), "");
  }

  std::map<std::string, BufferPtr> one_by_one(const BufferPtr& x) const {
    std::map<std::string, BufferPtr> values{{"x", x}};
    for (const Step& step : steps) {
      OnnxWriter writer;
      std::vector<BufferPtr> given;
      std::vector<std::string> seen;
      for (const std::string& input : step.inputs) {
        const auto found = values.find(input);
        if (found == values.end() || std::find(seen.begin(), seen.end(), input) != seen.end()) {
          continue;
        }
        seen.push_back(input);
        const Shape& shape = found->second->type().shape;
        writer.input(input, std::vector<Dim>(shape.begin(), shape.end()));
        given.push_back(found->second);
      }
      for (const std::string& output : step.outputs) writer.output(output);
      constants(writer, step.inputs);
      writer.node(step.op, step.inputs, step.outputs, step.attributes);
      const auto results = Model::load(engine(), as_bytes(writer.str()), "")->predict_now(given);
      for (size_t i = 0; i < results.size(); ++i) values[step.outputs[i]] = results[i];
    }
    return values;
  }

  void check(const Shape& shape, const std::vector<std::string>& outputs) const {
    const BufferPtr x = buffer(random_floats(count_of(shape), 77), shape);
    const auto expected = one_by_one(x);
    const auto got = whole(shape, outputs)->predict_now({x});
    for (size_t i = 0; i < outputs.size(); ++i) {
      CAPTURE(outputs[i]);
      const BufferPtr& wanted = expected.at(outputs[i]);
      REQUIRE(got[i]->type() == wanted->type());
      const auto ours = read<float>(got[i]);
      const auto theirs = read<float>(wanted);
      size_t wrong = 0;
      for (size_t j = 0; j < ours.size(); ++j) {
        if (!(std::fabs(ours[j] - theirs[j]) <= 1e-4F * std::max(1.0F, std::fabs(theirs[j])))) {
          ++wrong;
        }
      }
      CHECK(wrong == 0);
    }
  }
};

// How many stages of a model move elements without computing anything.
size_t layers_of(const std::shared_ptr<Model>& model, const Shape& shape, const std::string& op) {
  size_t found = 0;
  for (const auto& layer : model->profile({zeros(DType::f32, shape)}).layers) {
    if (layer.layer.rfind(op + " (", 0) == 0) ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("convolutions with residuals, broadcasts and several consumers") {
  Net net;
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

TEST_CASE("pools, resizing, joining and cutting of what convolutions give") {
  Net net;
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
  net.node("Resize", {"c", "", "", "sizes"}, {"d"}, {attribute("mode", std::string("linear"))});
  net.node("Resize", {"c", "", "scales"}, {"e"}, {attribute("mode", std::string("nearest"))});
  net.node("Concat", {"a", "c", "x"}, {"f"}, {attribute("axis", int64_t{1})});
  net.node("Concat", {"x", "a"}, {"g"}, {attribute("axis", int64_t{1})});
  net.node("Slice", {"f", "starts", "ends", "axes", "steps"}, {"h"});
  net.node("Split", {"f"}, {"i", "j"}, {attribute("axis", int64_t{1})});
  net.node("Pad", {"a", "pads"}, {"k"}).node("Transpose", {"h"}, {"l"});
  net.check({2, 4, 7, 5}, {"b", "c", "ceil", "d", "e", "f", "g", "h", "i", "j", "k", "l"});
}

TEST_CASE("shapes and orders of what lies with its channels last") {
  Net net;
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

TEST_CASE("convolutions along one dimension") {
  Net net;
  net.weights("w", {5, 4, 3}).weights("v", {5, 1, 3});
  net.node("Conv", {"x", "w"}, {"a"}, {attribute("pads", Integers{1, 1})});
  net.node("Conv", {"a", "v"}, {"b"}, {attribute("group", int64_t{5})});
  net.node("Relu", {"b"}, {"c"});
  net.check({2, 4, 9}, {"a", "b", "c"});
}

TEST_CASE("transpositions around convolutions cost nothing") {
  // What becomes of formats with their channels last.
  const Integers first{0, 3, 1, 2};
  const Integers last{0, 2, 3, 1};
  Net net;
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

TEST_CASE("weights that are not constants") {
  Net net;
  net.weights("k", {3, 3, 1, 1});
  net.node("Neg", {"x"}, {"w"}).node("Conv", {"x", "w"}, {"a"});
  net.node("Conv", {"x", "k"}, {"b"}).node("Conv", {"b", "w"}, {"c"});
  net.check({3, 3, 2, 2}, {"a", "b", "c"});
}

}  // namespace dala::test
