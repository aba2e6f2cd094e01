// States: what a model remembers between predictions, against loops on the host.
#include "model/state.hpp"

#include "model/import/tflite/lite_model.hpp"
#include "model/onnx_model.hpp"

namespace dala::test {
namespace {

using model::ElementType;
using model::State;
using Floats = std::vector<float>;

// sum' = sum + x, y = 2 * sum'.
OnnxWriter adding() {
  OnnxWriter writer;
  writer.input("x", {2}).input("sum", {2}).output("y").output("next");
  writer.node("Add", {"x", "sum"}, {"next"}).node("Add", {"next", "next"}, {"y"});
  return writer;
}

// A cache that grows: all = Concat(past, x), y = ReduceSum(all).
OnnxWriter growing() {
  OnnxWriter writer;
  writer.input("x", {"batch", "length", 2}).input("past", {"batch", "past_length", 2});
  writer.output("y").output("present");
  writer.node("Concat", {"past", "x"}, {"present"}, {attribute("axis", int64_t{1})});
  writer.constant<int64_t>("axis", ElementType::i64, {1}, {1});
  writer.node("ReduceSum", {"present", "axis"}, {"y"}, {attribute("keepdims", int64_t{0})});
  return writer;
}

std::vector<BufferPtr> step(State& state, const std::vector<BufferPtr>& given) {
  return state.keep(state.model().predict_now(state.inputs(given)));
}

Floats step(State& state, const Floats& x, const Shape& shape) {
  const auto outputs = step(state, {buffer(x, shape)});
  REQUIRE(outputs.size() == 1);
  return read<float>(outputs[0]);
}

}  // namespace

TEST_CASE("a state is carried from prediction to prediction, and reset") {
  State state(load(adding()), {{"next", "sum"}}, {});
  CHECK(state.given() == std::vector<size_t>{0});
  CHECK(state.returned() == std::vector<size_t>{0});
  CHECK(state.values().empty());
  CHECK(step(state, {1, 2}, {2}) == Floats{2, 4});
  CHECK(step(state, {1, 2}, {2}) == Floats{4, 8});
  REQUIRE(state.values().size() == 1);
  CHECK(state.values()[0].first == "sum");
  CHECK(read<float>(state.values()[0].second) == Floats{2, 4});
  state.reset();
  CHECK(step(state, {10, 0}, {2}) == Floats{20, 0});
}

TEST_CASE("states of one model do not share values") {
  const auto model = load(adding());
  std::vector<State> states;
  for (int i = 0; i < 20; ++i)
    states.emplace_back(model, State::Pairs{{"next", "sum"}}, std::map<std::string, BufferPtr>{});
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < 20; ++i) {
      const float expected = static_cast<float>(2 * i * round);
      CHECK(step(states[static_cast<size_t>(i)], {static_cast<float>(i), 0}, {2}) ==
            Floats{expected, 0});
    }
  }
}

TEST_CASE("the first values of a state are given, and come back with a reset") {
  State state(load(adding()), {{"next", "sum"}}, {{"sum", buffer<float>({5, 6}, {2})}});
  for (int round = 0; round < 2; ++round) {
    CHECK(step(state, {1, 1}, {2}) == Floats{12, 14});
    CHECK(step(state, {1, 1}, {2}) == Floats{14, 16});
    state.reset();
    CHECK(read<float>(state.values()[0].second) == Floats{5, 6});
  }
}

TEST_CASE("a cache starts empty, takes its batch from the other inputs, and grows") {
  State state(load(growing()), {{"present", "past"}}, {});
  Floats expected(6, 0);
  for (int64_t length : {3, 1, 1, 2}) {
    const Floats x = random_floats(static_cast<size_t>(3 * length * 2), 7);
    for (size_t i = 0; i < x.size(); ++i) {
      expected[i / static_cast<size_t>(length * 2) * 2 + i % 2] += x[i];
    }
    const Floats got = step(state, x, {3, length, 2});
    check_close(got, std::vector<double>(expected.begin(), expected.end()));
  }
  CHECK(state.values()[0].second->type() == TensorType{DType::f32, {3, 7, 2}});
}

TEST_CASE("an open dimension that a model keeps starts with 1") {
  OnnxWriter writer;
  writer.input("x", {2}).input("h", {"n", 2}).output("y").output("next");
  writer.node("Add", {"x", "h"}, {"next"}).node("Neg", {"next"}, {"y"});
  State state(load(writer), {{"next", "h"}}, {});
  CHECK(step(state, {1, 2}, {2}) == Floats{-1, -2});
  CHECK(state.values()[0].second->type() == TensorType{DType::f32, {1, 2}});
}

TEST_CASE("a named dimension is a length if the model does not tell what it returns") {
  // The trip count is a value, so shapes of outputs are not known before a prediction.
  OnnxWriter body;
  body.input("i", {}, ElementType::i64).input("c", {}, ElementType::boolean).input("h", {1, "m"});
  body.output("going", {}, ElementType::boolean).output("sum");
  body.node("Identity", {"c"}, {"going"}).node("Add", {"h", "h"}, {"sum"});
  for (const char* name : {"past", ""}) {
    OnnxWriter writer;
    writer.input("n", {}, ElementType::i64).input("h", {1, name}).output("y");
    writer.node("Loop", {"n", "", "h"}, {"y"}, {attribute("body", body)});
    State state(load(writer), {{"y", "h"}}, {});
    CHECK(step(state, {buffer<int64_t>({2}, {})}).empty());
    const int64_t length = *name == 0 ? 1 : 0;
    CHECK(state.values()[0].second->type() == TensorType{DType::f32, {1, length}});
  }
}

TEST_CASE("the variables of a TFLite file are its state") {
  constexpr int kSequenceRnn = 35;
  TfliteWriter writer;
  const int x = writer.tensor("x", {1, 1, 1});
  const int w = writer.constant<float>({1, 1}, LiteType::f32, {0.5F});
  const int r = writer.constant<float>({1, 1}, LiteType::f32, {-0.75F});
  const int b = writer.constant<float>({1}, LiteType::f32, {0.1F});
  const int h = writer.variable("h", {1, 1});
  const int y = writer.tensor("y", {1, 1, 1});
  writer.op(kSequenceRnn, {x, w, r, b, h}, {y}, FlatTable().byte(1, 4)).inputs({x}).outputs({y});
  State state(load_lite(writer.str()), {}, {});
  double expected = 0;
  for (float each : {1.0F, -2.0F, 0.5F, 3.0F}) {
    expected = std::tanh(0.5 * each - 0.75 * expected + 0.1);
    const Floats got = step(state, {each}, {1, 1, 1});
    REQUIRE(got.size() == 1);
    CHECK(got[0] == doctest::Approx(expected));
  }
}

TEST_CASE("a state that is gone or reset holds no memory") {
  const auto model = load(growing());
  const auto used = [] { return engine().runtime().memory().info().in_use; };
  const Floats x(size_t{64} * 1024 * 2, 1);
  step(*std::make_unique<State>(model, State::Pairs{{"present", "past"}},
                                std::map<std::string, BufferPtr>{}),
       x, {1, 64 * 1024, 2});
  const auto before = used();
  auto state = std::make_unique<State>(model, State::Pairs{{"present", "past"}},
                                       std::map<std::string, BufferPtr>{});
  step(*state, x, {1, 64 * 1024, 2});
  CHECK(used() >= before + x.size() * sizeof(float));
  state->reset();
  CHECK(used() == before);
  step(*state, x, {1, 64 * 1024, 2});
  state.reset();
  CHECK(used() == before);
}

TEST_CASE("states that cannot be are refused") {
  const auto model = load(adding());
  const auto refusal = [&](const State::Pairs& pairs, std::map<std::string, BufferPtr> initial) {
    return failure([&] { State(model, pairs, std::move(initial)); });
  };
  CHECK(refusal({}, {}) ==
        "invalid_param: the model has no variables; name the outputs that are kept, and the inputs "
        "that take them: state: %{\"output\" => \"input\"}");
  CHECK(refusal({{"last", "sum"}}, {}) ==
        "invalid_param: the model has no output \"last\"; its outputs are \"y\", \"next\"");
  CHECK(refusal({{"next", "total"}}, {}) ==
        "invalid_param: the model has no input \"total\"; its inputs are \"x\", \"sum\"");
  CHECK(
      refusal({{"next", "sum"}, {"y", "sum"}}, {}) ==
      "invalid_param: input \"sum\" takes output \"next\" and \"y\", expected one output for each "
      "input");
  CHECK(refusal({{"next", "sum"}}, {{"x", buffer<float>({1, 2}, {2})}}) ==
        "invalid_param: the state has no input \"x\"");
  CHECK(refusal({{"next", "sum"}}, {{"sum", buffer<float>({1}, {1})}}) ==
        "shape_mismatch: input \"sum\" has shape {1}, the model takes {2}");
  State state(model, {{"next", "sum"}}, {});
  CHECK(failure([&] { state.inputs({}); }) ==
        "arity_mismatch: the model takes 1 input beside its state, got 0");
}

TEST_CASE("pairs of other types or ranks are refused") {
  OnnxWriter writer;
  writer.input("x", {2}).input("h", {2}).output("y", {}, ElementType::i64).output("z");
  writer.node("Add", {"x", "h"}, {"a"});
  writer.node("Cast", {"a"}, {"y"}, {attribute("to", int64_t{7})});
  writer.constant<int64_t>("shape", ElementType::i64, {2}, {1, 2});
  writer.node("Reshape", {"a", "shape"}, {"z"});
  const auto model = load(writer);
  CHECK(failure([&] {
          State(model, {{"y", "h"}}, {});
        }) == "dtype_mismatch: output \"y\" is s64, input \"h\" takes f32");
  CHECK(failure([&] {
          State(model, {{"z", "h"}}, {});
        }) == "shape_mismatch: output \"z\" has 2 dimensions, input \"h\" takes 1");
}

}  // namespace dala::test
