// Control flow of ONNX: branches and loops that are resolved while planning, that depend on the
// values of small inputs, and that depend on data.
#include "model/onnx_model.hpp"

namespace dala::test {
namespace {

using model::ElementType;
using model::Model;
using Floats = std::vector<float>;

Floats run(const std::shared_ptr<Model>& model, const std::vector<BufferPtr>& inputs,
           size_t output = 0) {
  return read<float>(model->predict_now(inputs)[output]);
}

// y = op(x), with x captured.
OnnxWriter branch(const std::string& op) {
  OnnxWriter graph;
  graph.output("z").node(op, {"x"}, {"z"});
  return graph;
}

// Negates x if `condition`, which the caller defines, and takes its absolute value otherwise.
void add_if(OnnxWriter& writer, const std::string& condition) {
  writer.node("If", {condition}, {"y"},
              {attribute("then_branch", branch("Neg")), attribute("else_branch", branch("Abs"))});
}

// An addition of `step` to the state, which the body hands out in every trip as well.
OnnxWriter adding_body(const std::string& go_on) {
  OnnxWriter body;
  body.input("i", {}, ElementType::i64).input("go", {}, ElementType::boolean).input("s", {2});
  body.output(go_on).output("next").output("seen");
  body.node("Identity", {"go"}, {"same"});
  body.node("Add", {"s", "step"}, {"next"}).node("Mul", {"next", "next"}, {"seen"});
  return body;
}

}  // namespace

TEST_CASE("a branch on a shape disappears from the plan") {
  OnnxWriter writer;
  writer.input("x", {"n"}).output("y");
  writer.constant<int64_t>("two", ElementType::i64, {1}, {2});
  writer.node("Shape", {"x"}, {"shape"}).node("Greater", {"shape", "two"}, {"long"});
  add_if(writer, "long");
  const auto model = load(writer);
  CHECK(run(model, {buffer<float>({1, -2, 3})}) == Floats{-1, 2, -3});
  CHECK(run(model, {buffer<float>({1, -2})}) == Floats{1, 2});
  CHECK(model->info().working_bytes == 0);
  CHECK(model->profile({buffer<float>({1, -2, 3})}).layers.size() == 1);
}

TEST_CASE("a branch on the value of a small input has a plan for each value") {
  OnnxWriter writer;
  writer.input("x", {2}).input("rate", {}, ElementType::i64).output("y");
  writer.constant<int64_t>("wanted", ElementType::i64, {}, {16000});
  writer.node("Equal", {"rate", "wanted"}, {"same"});
  add_if(writer, "same");
  const auto model = load(writer);
  const BufferPtr x = buffer<float>({1, -2});
  for (int round = 0; round < 2; ++round) {
    CHECK(run(model, {x, buffer<int64_t>({16000}, {})}) == Floats{-1, 2});
    CHECK(run(model, {x, buffer<int64_t>({8000}, {})}) == Floats{1, 2});
  }
  CHECK(model->profile({x, buffer<int64_t>({8000}, {})}).layers.size() == 1);
  // A value that is new every time is not worth a plan.
  for (int64_t rate = 0; rate < 40; ++rate) {
    CHECK(run(model, {x, buffer<int64_t>({rate}, {})}) == Floats{1, 2});
  }
  CHECK(run(model, {x, buffer<int64_t>({16000}, {})}) == Floats{-1, 2});
  CHECK(failure([&] {
          model->profile({x, buffer<int64_t>({8000}, {})});
        }).find("unsupported") == 0);
}

TEST_CASE("a branch on data, with a branch inside of it") {
  OnnxWriter inner;
  inner.output("z");
  inner.node("If", {"positive"}, {"z"},
             {attribute("then_branch", branch("Exp")), attribute("else_branch", branch("Neg"))});
  OnnxWriter writer;
  writer.input("x", {2}).output("y");
  writer.constant<float>("zero", ElementType::f32, {}, {0});
  writer.constant<int64_t>("axes", ElementType::i64, {1}, {0});
  writer.node("ReduceSum", {"x", "axes"}, {"sum"}, {attribute("keepdims", int64_t{0})});
  writer.node("Greater", {"sum", "zero"}, {"positive"}).node("Abs", {"sum"}, {"size"});
  writer.constant<float>("one", ElementType::f32, {}, {1});
  writer.node("Less", {"size", "one"}, {"small"});
  writer.node("If", {"small"}, {"y"},
              {attribute("then_branch", inner), attribute("else_branch", branch("Abs"))});
  const auto model = load(writer);
  CHECK(run(model, {buffer<float>({-0.5F, 0})}) == Floats{0.5F, 0});
  CHECK(run(model, {buffer<float>({-5, 1})}) == Floats{5, 1});
  CHECK(run(model, {buffer<float>({0.5F, 0})})[1] == doctest::Approx(1));
}

TEST_CASE("a loop with a known number of trips is unrolled") {
  OnnxWriter writer;
  writer.input("x", {2}).output("last").output("all");
  writer.constant<int64_t>("trips", ElementType::i64, {}, {3});
  writer.constant<float>("step", ElementType::f32, {2}, {1, 10});
  writer.node("Loop", {"trips", "", "x"}, {"last", "all"},
              {attribute("body", adding_body("same"))});
  const auto model = load(writer);
  const auto outputs = model->predict_now({buffer<float>({0, 1})});
  CHECK(read<float>(outputs[0]) == Floats{3, 31});
  CHECK(outputs[1]->type().shape == Shape{3, 2});
  CHECK(read<float>(outputs[1]) == Floats{1, 121, 4, 441, 9, 961});
  CHECK(!model->profile({buffer<float>({0, 1})}).layers.empty());
}

TEST_CASE("a loop without trips gives its state and empty outputs") {
  OnnxWriter writer;
  writer.input("x", {2}).output("last").output("all");
  writer.constant<int64_t>("trips", ElementType::i64, {}, {0});
  writer.constant<float>("step", ElementType::f32, {2}, {1, 10});
  writer.node("Loop", {"trips", "", "x"}, {"last", "all"},
              {attribute("body", adding_body("same"))});
  const auto outputs = load(writer)->predict_now({buffer<float>({4, 1})});
  CHECK(read<float>(outputs[0]) == Floats{4, 1});
  CHECK(outputs[1]->type().shape[0] == 0);
}

TEST_CASE("a loop that data ends") {
  OnnxWriter body = adding_body("more");
  body.node("ReduceMax", {"next"}, {"most"}, {attribute("keepdims", int64_t{0})});
  body.node("Less", {"most", "limit"}, {"more"});
  OnnxWriter writer;
  writer.input("x", {2}).output("last").output("all");
  writer.constant<float>("step", ElementType::f32, {2}, {1, 10});
  writer.constant<float>("limit", ElementType::f32, {}, {35});
  writer.constant<uint8_t>("go", ElementType::boolean, {}, {1});
  writer.node("Loop", {"", "go", "x"}, {"last", "all"}, {attribute("body", body)});
  const auto model = load(writer);
  CHECK(run(model, {buffer<float>({0, 0})}) == Floats{4, 40});
  CHECK(run(model, {buffer<float>({0, 30})}) == Floats{1, 40});
}

TEST_CASE("a scan over slices, backwards, along other axes") {
  OnnxWriter body;
  body.input("s", {2}).input("v", {2}).output("next").output("seen");
  body.node("Add", {"s", "v"}, {"next"}).node("Identity", {"next"}, {"seen"});
  OnnxWriter writer;
  writer.input("s0", {2}).input("x", {2, 3}).output("last").output("all");
  using Integers = std::vector<int64_t>;
  writer.node(
      "Scan", {"s0", "x"}, {"last", "all"},
      {attribute("body", body), attribute("num_scan_inputs", int64_t{1}),
       attribute("scan_input_axes", Integers{1}), attribute("scan_input_directions", Integers{1}),
       attribute("scan_output_axes", Integers{-1}),
       attribute("scan_output_directions", Integers{1})});
  const auto outputs = load(writer)->predict_now(
      {buffer<float>({0, 100}), buffer<float>({1, 2, 3, 4, 5, 6}, {2, 3})});
  CHECK(read<float>(outputs[0]) == Floats{6, 115});
  CHECK(outputs[1]->type().shape == Shape{2, 3});
  CHECK(read<float>(outputs[1]) == Floats{6, 5, 3, 115, 111, 106});
}

TEST_CASE("errors of control flow") {
  OnnxWriter writer;
  writer.input("x", {2}).output("y").node("If", {"x"}, {"y"});
  CHECK(failure([&] {
          load(writer)->predict_now({buffer<float>({1, 2})});
        }) == "invalid_model: If (If_1): the condition has shape {2}, expected one element");
  OnnxWriter bare;
  bare.input("x", {2}).output("y");
  bare.constant<uint8_t>("go", ElementType::boolean, {}, {1}).node("If", {"go"}, {"y"});
  CHECK(failure([&] { load(bare); }) ==
        "invalid_model: If (If_1): attribute then_branch is missing or not a graph");
}

}  // namespace dala::test
