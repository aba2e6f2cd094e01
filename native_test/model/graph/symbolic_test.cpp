// Output shapes as formulas: formulas that are found, dimensions that no formula fits, and whole
// networks.
#include "model/graph/symbolic.hpp"

#include <doctest/doctest.h>

#include "model/model.hpp"
#include "model/networks/architectures.hpp"
#include "support/engine_fixture.hpp"
#include "support/onnx_writer.hpp"

namespace dala::test {
namespace {

using model::Dimension;
using model::ElementType;
using model::Port;

std::string shape_text(const std::vector<Dimension>& shape) {
  std::string result;
  for (const Dimension& dimension : shape) {
    if (!result.empty()) result += ", ";
    result += dimension.size           ? std::to_string(*dimension.size)
              : dimension.name.empty() ? "?"
                                       : dimension.name;
  }
  return result;
}

Port port(const std::vector<Dim>& dims) {
  Port result;
  result.shape.emplace();
  for (const Dim& dim : dims) {
    result.shape->push_back(dim.name.empty() && dim.size >= 0 ? Dimension{dim.size, ""}
                                                              : Dimension{std::nullopt, dim.name});
  }
  return result;
}

// The formula of one dimension that depends on {"h", "w"}; a negative value rejects the sizes.
template <typename Rule>
std::string found(const Rule& rule) {
  const auto outputs = model::symbolic_outputs(
      {port({"h", "w"})},
      [&](const std::vector<Shape>& shapes) -> std::optional<std::vector<Shape>> {
        const int64_t value = rule(shapes[0][0], shapes[0][1]);
        if (value < 0) return std::nullopt;
        return std::vector<Shape>{{value}};
      });
  return outputs ? shape_text((*outputs)[0]) : "nothing";
}

std::string outputs_of(const std::string& file) {
  const auto model = model::Model::load(engine(), as_bytes(file), "");
  std::string texts;
  for (const Port& output : model->outputs()) {
    if (!texts.empty()) texts += "; ";
    texts += output.shape ? shape_text(*output.shape) : "any";
  }
  return texts;
}

}  // namespace

TEST_CASE("formulas that fit the samples") {
  CHECK(found([](int64_t, int64_t) { return 7; }) == "7");
  CHECK(found([](int64_t h, int64_t) { return h; }) == "h");
  CHECK(found([](int64_t, int64_t w) { return 3 * w + 2; }) == "3*w+2");
  CHECK(found([](int64_t, int64_t w) { return w - 2; }) == "w-2");
  CHECK(found([](int64_t, int64_t w) { return w % 32 == 0 ? w / 32 : -1; }) == "w/32");
  CHECK(found([](int64_t, int64_t w) { return (w + 15) / 16; }) == "ceil(w/16)");
  CHECK(found([](int64_t, int64_t w) { return w / 8; }) == "floor(w/8)");
  CHECK(found([](int64_t, int64_t w) { return (w + 7) / 8 * 4; }) == "4*ceil(w/8)");
  // Frames of 512 at a step of 160 are 3*floor(w/512)-2 for small sizes alone.
  CHECK(found([](int64_t, int64_t w) { return w < 512 ? -1 : (w - 512) / 160 + 1; }) == "?");
  CHECK(found([](int64_t h, int64_t w) { return 3 * h * w; }) == "3*h*w");
  CHECK(found([](int64_t h, int64_t w) { return w % 8 == 0 ? h * w / 8 : -1; }) == "h*w/8");
}

TEST_CASE("a dimension that is a sum of others") {
  CHECK(found([](int64_t h, int64_t w) { return h + w; }) == "h+w");
  CHECK(found([](int64_t h, int64_t w) { return h + w + 1; }) == "h+w+1");
  CHECK(found([](int64_t h, int64_t w) { return 2 * (h + w); }) == "2*(h+w)");
}

TEST_CASE("a dimension that no formula fits stays unknown") {
  CHECK(found([](int64_t, int64_t w) { return w * w; }) == "?");
  CHECK(found([](int64_t h, int64_t w) { return h * h + w; }) == "?");
  CHECK(found([](int64_t h, int64_t) { return 100 - h; }) == "?");
  // Any two samples are on a line.
  CHECK(found([](int64_t, int64_t w) { return w == 64 || w == 128 ? w + 3 : -1; }) == "?");
  CHECK(found([](int64_t, int64_t) { return -1; }) == "nothing");
  Port any;
  CHECK_FALSE(model::symbolic_outputs({any}, [](const auto&) { return std::nullopt; }));
}

TEST_CASE("unnamed dimensions are in no formula, and dependent ones are not fixed") {
  Dim unnamed(int64_t{-1});
  const auto outputs =
      model::symbolic_outputs({port({unnamed, "w"})}, [](const std::vector<Shape>& shapes) {
        return std::optional(std::vector<Shape>{{shapes[0][0], shapes[0][1], 5}});
      });
  REQUIRE(outputs);
  CHECK(shape_text((*outputs)[0]) == "?, w, 5");
}

TEST_CASE("declared dimensions stay if nothing better is known") {
  std::vector<Port> outputs{port({"rows", "columns", 4}), Port()};
  model::complete_outputs(outputs, {{{}, {std::nullopt, "w/2"}, {4, ""}}, {{9, ""}}});
  CHECK(shape_text(*outputs[0].shape) == "rows, w/2, 4");
  CHECK(shape_text(*outputs[1].shape) == "9");
}

TEST_CASE("outputs of networks in terms of their inputs") {
  CHECK(outputs_of(mobilenet_v2({0.1, 32, 10}).onnx()) == "batch, 10");
  CHECK(outputs_of(blazeface({0.25, 32}).onnx()) == "batch, 56, 16; batch, 56, 1");
  CHECK(outputs_of(deeplab_v3({.width = 0.1, .head = 8}).onnx()) == "batch, 21, height, width");
  const std::string rows = "1, ceil(height/16), ceil(width/16), ";
  CHECK(outputs_of(posenet({.width = 0.1}).onnx()) ==
        rows + "17; " + rows + "34; " + rows + "32; " + rows + "32");
}

TEST_CASE("graphs with a batch of one only, fixed shapes, and shapes that depend on values") {
  OnnxWriter single;
  single.input("x", {"batch", "n"}).output("y");
  single.constant<int64_t>("target", ElementType::i64, {3}, {1, -1, 1});
  single.constant<float>("w", ElementType::f32, {1, 1}, {2});
  single.node("Reshape", {"x", "target"}, {"r"}).node("MatMul", {"r", "w"}, {"y"});
  CHECK(outputs_of(single.str()) == "1, batch*n, 1");

  OnnxWriter fixed;
  fixed.input("x", {2, 3}).output("y").node("Transpose", {"x"}, {"y"});
  CHECK(outputs_of(fixed.str()) == "3, 2");

  OnnxWriter values;
  values.input("x", {"n"}).output("y", {1, "places"}, ElementType::i64);
  values.node("NonZero", {"x"}, {"y"});
  CHECK(outputs_of(values.str()) == "1, places");
}

TEST_CASE("shape inference does not use the device") {
  const auto in_use = [] { return engine().runtime().memory().info().in_use; };
  const std::string file = deeplab_v3({.width = 0.1, .head = 8}).onnx();
  const auto before = in_use();
  const auto model = model::Model::load(engine(), as_bytes(file), "");
  CHECK(in_use() == before);
  CHECK(model->info().working_bytes == 0);
}

}  // namespace dala::test
