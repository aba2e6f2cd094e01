// Arrays and lists of TF.js. A list is no output, so each case ends with what it holds.
#include <doctest/doctest.h>

#include "model/import/tfjs/cases.hpp"
#include "model/import/tfjs/table.hpp"

namespace dala::test::tfjs {
namespace {

// Constants of rank 0 to 2, all of which are used by name.
TfjsWriter with_constants() {
  TfjsWriter writer;
  writer.weight<float>("x", {3, 2}, {1, 2, 3, 4, 5, 6}).weight<float>("row", {2}, {7, 8});
  writer.weight<int32_t>("any", {}, {-1}).weight<int32_t>("pair", {1}, {2});
  for (int32_t i : {0, 1, 2, 3}) writer.weight<int32_t>(std::to_string(i), {}, {i});
  writer.weight<int32_t>("2,0", {2}, {2, 0}).weight<int32_t>("1,2", {2}, {1, 2});
  return writer;
}

const std::string kType = kind("element_dtype", "DT_FLOAT");

struct ListCase {
  std::string result;  // a node
  Values expected;
};

}  // namespace

TEST_CASE("TF.js: lists of tensors") {
  TfjsWriter writer = with_constants();
  writer.node("TensorListFromTensor", "list", {"x", "pair"}, {kType});
  writer.node("TensorListStack", "stack", {"list", "pair"}, {kType});
  writer.node("TensorListGetItem", "get", {"list", "1", "pair"}, {kType});
  writer.node("TensorListLength", "length", {"list"});
  writer.node("TensorListGather", "gather", {"list", "2,0", "pair"}, {kType});
  writer.node("TensorListConcat", "concat", {"list"}, {kType});
  writer.node("TensorListConcatV2", "concat2", {"list", "pair", "pair"}, {kType});
  writer.node("TensorListSetItem", "set", {"list", "1", "row"}, {kType});
  writer.node("TensorListStack", "set_stack", {"set", "any"}, {kType});
  writer.node("TensorListPushBack", "push", {"list", "row"}, {kType});
  writer.node("TensorListLength", "push_length", {"push"});
  writer.node("TensorListPopBack", "pop", {"push", "pair"}, {kType});
  writer.node("TensorListStack", "pop_stack", {"pop", "pair"}, {kType});
  writer.node("TensorListReserve", "reserve", {"pair", "2"}, {kType});
  writer.node("TensorListStack", "reserve_stack", {"reserve", "pair"}, {kType});
  writer.node("TensorListSetItem", "half", {"reserve", "1", "row"}, {kType});
  writer.node("TensorListStack", "half_stack", {"half", "pair"}, {kType});
  writer.node("EmptyTensorList", "empty", {"pair", "any"}, {kType});
  writer.node("TensorListStack", "empty_stack", {"empty", "pair"}, {kType});
  writer.node("TensorListSplit", "split", {"x", "any", "1,2"}, {kType});
  writer.node("TensorListGetItem", "split_get", {"split", "1", "any"}, {kType});
  writer.node("GatherV2", "two", {"x", "2,0", "0"}, {kind("Tparams", "DT_FLOAT")});
  writer.node("TensorListScatter", "scatter", {"two", "2,0", "pair"}, {kType});
  writer.node("TensorListStack", "scatter_stack", {"scatter", "pair"}, {kType});
  writer.node("TensorListScatterV2", "scatter2", {"two", "1,2", "pair", "3"}, {kType});
  writer.node("TensorListStack", "scatter2_stack", {"scatter2", "pair"}, {kType});
  writer.node("TensorListScatterIntoExistingList", "into", {"list", "two", "1,2"}, {kType});
  writer.node("TensorListStack", "into_stack", {"into", "pair"}, {kType});
  const std::vector<ListCase> cases{
      {"stack", floats({3, 2}, {1, 2, 3, 4, 5, 6})},
      {"get", floats({2}, {3, 4})},
      {"length", number(3)},
      {"gather", floats({2, 2}, {5, 6, 1, 2})},
      {"concat", floats({6}, {1, 2, 3, 4, 5, 6})},
      {"concat2:1", list({2, 2, 2})},
      {"set_stack", floats({3, 2}, {1, 2, 7, 8, 5, 6})},
      {"push_length", number(4)},
      {"pop:1", floats({2}, {7, 8})},
      {"pop_stack", floats({3, 2}, {1, 2, 3, 4, 5, 6})},
      {"reserve_stack", floats({2, 2}, {0, 0, 0, 0})},
      {"half_stack", floats({2, 2}, {0, 0, 7, 8})},
      {"empty_stack", floats({0, 2}, {})},
      {"split_get", floats({2, 2}, {3, 4, 5, 6})},
      {"scatter_stack", floats({3, 2}, {1, 2, 0, 0, 5, 6})},
      {"scatter2_stack", floats({3, 2}, {0, 0, 5, 6, 1, 2})},
      {"into_stack", floats({3, 2}, {1, 2, 5, 6, 1, 2})},
  };
  std::vector<std::string> ports;
  for (size_t i = 0; i < cases.size(); ++i) {
    ports.push_back(text("\"", i + 10, "\":{\"name\":\"", cases[i].result, "\"}"));
  }
  writer.signature("{\"outputs\":{" + join(ports, ",") + "}}");
  const TemporaryFolder folder;
  const auto model = model::Model::load_file(engine(), writer.write(folder));
  const auto results = model->predict_now({});
  for (size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(cases[i].result);
    check_values(results.at(i), cases[i].expected, 0);
  }
}

TEST_CASE("TF.js: the flow of an array is its content") {
  TfjsWriter writer = with_constants();
  writer.node("TensorArrayV3", "array", {"0"}, {kind("dtype", "DT_FLOAT")});
  writer.node("TensorArraySplitV3", "split", {"array", "x", "1,2", "array:1"});
  writer.node("TensorArrayReadV3", "read", {"array", "1", "split"});
  writer.node("TensorArrayWriteV3", "write", {"array", "3", "x", "split"});
  writer.node("TensorArraySizeV3", "size", {"array", "write"});
  writer.node("TensorArrayCloseV3", "close", {"array"});
  writer.signature("{\"outputs\":{\"a\":{\"name\":\"read\"},\"b\":{\"name\":\"size\"}}}");
  const TemporaryFolder folder;
  const auto model = model::Model::load_file(engine(), writer.write(folder));
  const auto results = model->predict_now({});
  check_values(results.at(0), floats({2, 2}, {3, 4, 5, 6}), 0);
  check_values(results.at(1), number(4), 0);
}

TEST_CASE("TF.js: lists that are used wrongly are refused") {
  const auto problem = [](const std::string& index) {
    TfjsWriter writer = with_constants();
    writer.node("TensorListReserve", "list", {"any", "2"}, {kType});
    writer.node("TensorListGetItem", "y", {"list", index, "any"}, {kType});
    writer.signature("{\"outputs\":{\"y\":{\"name\":\"y\"}}}");
    const TemporaryFolder folder;
    return failure(
        [&] { model::Model::load_file(engine(), writer.write(folder))->predict_now({}); });
  };
  CHECK(problem("1") == "invalid_model: ListGet (y): item 1 of a list was never set");
  CHECK(problem("3") == "invalid_model: ListGet (y): index 3 is outside of a list of 2 items");
  TfjsWriter output = with_constants();
  output.node("TensorListReserve", "y", {"any", "2"}, {kType});
  output.signature("{\"outputs\":{\"y\":{\"name\":\"y\"}}}");
  const TemporaryFolder folder;
  CHECK(failure([&] { model::Model::load_file(engine(), output.write(folder)); }) ==
        "unsupported_op: output \"y\" is a list of tensors");
}

}  // namespace dala::test::tfjs
