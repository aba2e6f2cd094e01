// TFLite files with several graphs: branches, loops, variables.
#include <doctest/doctest.h>

#include "model/import/tflite/lite_model.hpp"

namespace dala::test {
namespace {

using Floats = std::vector<float>;

constexpr int kAdd = 0;
constexpr int kAbs = 101;
constexpr int kNeg = 59;
constexpr int kLess = 58;
constexpr int kIf = 118;
constexpr int kWhile = 119;
constexpr int kCallOnce = 129;
constexpr int kVarHandle = 142;
constexpr int kReadVariable = 143;
constexpr int kAssignVariable = 144;

// A graph of one operator: y = op(x).
void add_unary_graph(TfliteWriter& writer, int code) {
  writer.next_graph();
  const int x = writer.tensor("x", {2});
  const int y = writer.tensor("y", {2});
  writer.op(code, {x}, {y}).inputs({x}).outputs({y});
}

// An accumulator: y = variable + x, which becomes the variable. The graph that sets it to `initial`
// is the file's second one.
TfliteWriter accumulator(float initial) {
  TfliteWriter writer;
  const FlatTable named = FlatTable().text(1, "sum");
  const int x = writer.tensor("x", {2});
  const int handle = writer.tensor("handle", {}, LiteType::resource);
  const int before = writer.tensor("before", {2});
  const int y = writer.tensor("y", {2});
  writer.op(kCallOnce, {}, {}, FlatTable().integer(0, 1));
  writer.op(kVarHandle, {}, {handle}, named).op(kReadVariable, {handle}, {before});
  writer.op(kAdd, {before, x}, {y}).op(kAssignVariable, {handle, y}, {});
  writer.inputs({x}).outputs({y});
  writer.next_graph();
  const int other = writer.tensor("handle", {}, LiteType::resource);
  const int value = writer.constant<float>({2}, LiteType::f32, {initial, initial});
  writer.op(kVarHandle, {}, {other}, named).op(kAssignVariable, {other, value}, {});
  return writer;
}

}  // namespace

TEST_CASE("TFLite: IF takes the branch that its condition says") {
  TfliteWriter writer;
  const int condition = writer.tensor("condition", {1}, LiteType::boolean);
  const int x = writer.tensor("x", {2});
  const int y = writer.tensor("y", {2});
  writer.op(kIf, {condition, x}, {y}, FlatTable().integer(0, 1).integer(1, 2));
  writer.inputs({condition, x}).outputs({y});
  add_unary_graph(writer, kNeg);
  add_unary_graph(writer, kAbs);
  const auto model = load_lite(writer.str());
  const BufferPtr values = buffer<float>({1, -2});
  CHECK(read<float>(model->predict_now({buffer<uint8_t>({1}), values})[0]) == Floats{-1, 2});
  CHECK(read<float>(model->predict_now({buffer<uint8_t>({0}), values})[0]) == Floats{1, 2});
}

TEST_CASE("TFLite: WHILE runs while its condition holds") {
  TfliteWriter writer;
  const int start = writer.constant<int32_t>({1}, LiteType::i32, {0});
  const int x = writer.tensor("x", {2});
  const int count = writer.tensor("count", {1}, LiteType::i32);
  const int y = writer.tensor("y", {2});
  writer.op(kWhile, {start, x}, {count, y}, FlatTable().integer(0, 1).integer(1, 2));
  writer.inputs({x}).outputs({y, count});
  writer.next_graph();
  const int i = writer.tensor("i", {1}, LiteType::i32);
  const int state = writer.tensor("state", {2});
  const int limit = writer.constant<int32_t>({1}, LiteType::i32, {3});
  const int more = writer.tensor("more", {1}, LiteType::boolean);
  writer.op(kLess, {i, limit}, {more}).inputs({i, state}).outputs({more});
  writer.next_graph();
  const int j = writer.tensor("j", {1}, LiteType::i32);
  const int before = writer.tensor("before", {2});
  const int one = writer.constant<int32_t>({1}, LiteType::i32, {1});
  const int next = writer.tensor("next", {1}, LiteType::i32);
  const int after = writer.tensor("after", {2});
  writer.op(kAdd, {j, one}, {next}).op(kAdd, {before, before}, {after});
  writer.inputs({j, before}).outputs({next, after});
  const auto model = load_lite(writer.str());
  const auto outputs = model->predict_now({buffer<float>({1, -2})});
  CHECK(read<float>(outputs[0]) == Floats{8, -16});
  CHECK(read<int32_t>(outputs[1]) == std::vector<int32_t>{3});
  CHECK(!model->profile({buffer<float>({1, 2})}).layers.empty());  // unrolled
}

TEST_CASE("TFLite: a graph that is not there") {
  TfliteWriter writer;
  const int x = writer.tensor("x", {2});
  const int y = writer.tensor("y", {2});
  writer.op(kWhile, {x}, {y}, FlatTable().integer(0, 4).integer(1, 5)).inputs({x}).outputs({y});
  CHECK(failure([&] { load_lite(writer.str()); }) ==
        "invalid_model: WHILE (y): graph 4 does not exist, the file has 1");
}

TEST_CASE("TFLite: a variable is an input, and an output that feeds it") {
  const auto model = load_lite(accumulator(0).str());
  REQUIRE(model->inputs().size() == 2);
  REQUIRE(model->outputs().size() == 2);
  CHECK(model->inputs()[1].name == "variable /sum");
  CHECK(model->outputs()[0].feeds.empty());
  CHECK(model->outputs()[1].feeds == "variable /sum");
  const auto outputs = model->predict_now({buffer<float>({1, 2}), buffer<float>({10, 20})});
  CHECK(read<float>(outputs[0]) == Floats{11, 22});
  CHECK(read<float>(outputs[1]) == Floats{11, 22});
  CHECK(failure([&] { load_lite(accumulator(3).str()); }) ==
        "unsupported_op: the model uses an operator that is not supported: tflite.CALL_ONCE with "
        "variables that do not start at 0 (CALL_ONCE)");
}

}  // namespace dala::test
