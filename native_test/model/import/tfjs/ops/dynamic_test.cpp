// Operators whose parameters are not constants of the file but values of the prediction.
#include <doctest/doctest.h>

#include "model/import/tfjs/cases.hpp"

namespace dala::test::tfjs {
namespace {

using Integers = std::vector<int32_t>;

// Runs one node over f32 {4, 3} with the numbers 0 to 11 and these inputs.
BufferPtr run(const std::string& op, const std::vector<Integers>& values,
              const std::vector<std::string>& attributes) {
  TfjsWriter writer;
  writer.placeholder("x", {4, 3});
  std::vector<std::string> names{"x"};
  std::vector<float> numbers(12);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  std::vector<BufferPtr> inputs{buffer(numbers, {4, 3})};
  for (const Integers& each : values) {
    names.push_back(text("v", names.size()));
    const auto count = static_cast<int64_t>(each.size());
    writer.placeholder(names.back(), {count}, "DT_INT32");
    inputs.push_back(buffer(each, {count}));
  }
  if (op == "StridedSlice") {
    writer.weight<int32_t>("steps", {2}, {1, 1});
    names.push_back("steps");
  }
  writer.node(op, "y", names, attributes);
  const TemporaryFolder folder;
  return model::Model::load_file(engine(), writer.write(folder))->predict_now(inputs)[0];
}

}  // namespace

TEST_CASE("TF.js: slices whose bounds are values") {
  check_values(run("Slice", {{1, 0}, {2, -1}}, {}), floats({2, 3}, {3, 4, 5, 6, 7, 8}), 0);
  check_values(run("Slice", {{1, 2}, {-1, 1}}, {}), floats({3, 1}, {5, 8, 11}), 0);
  check_values(run("StridedSlice", {{1, 1}, {3, 2}}, {}), floats({2, 1}, {4, 7}), 0);
  check_values(run("StridedSlice", {{1, 1}, {3, 2}}, {whole("end_mask", 2)}),
               floats({2, 2}, {4, 5, 7, 8}), 0);
  check_values(run("StridedSlice", {{2, 1}, {9, 9}}, {whole("shrink_axis_mask", 1)}),
               floats({2}, {7, 8}), 0);
  check_values(run("StridedSlice", {{-1, 1}, {0, 3}}, {whole("shrink_axis_mask", 1)}),
               floats({2}, {10, 11}), 0);
  check_values(run("StridedSlice", {{9, 0}, {9, 2}},
                   {whole("begin_mask", 1), whole("end_mask", 1), whole("shrink_axis_mask", 0)}),
               floats({4, 2}, {0, 1, 3, 4, 6, 7, 9, 10}), 0);
}

TEST_CASE("TF.js: SparseToDense of values that are not constants") {
  TfjsWriter writer;
  writer.placeholder("places", {2, 2}, "DT_INT32").placeholder("values", {2});
  writer.placeholder("shape", {2}, "DT_INT32");
  writer.weight<float>("rest", {}, {-1}).weight<float>("same", {}, {5});
  writer.node("SparseToDense", "y", {"places", "shape", "values", "rest"});
  writer.node("SparseToDense", "z", {"places", "shape", "same", "rest"});
  const TemporaryFolder folder;
  const auto results =
      model::Model::load_file(engine(), writer.write(folder))
          ->predict_now({buffer<int32_t>({0, 1, 1, 2}, {2, 2}), buffer<float>({3, 4}, {2}),
                         buffer<int32_t>({2, 3}, {2})});
  check_values(results[0], floats({2, 3}, {-1, 3, -1, -1, -1, 4}), 0);
  check_values(results[1], floats({2, 3}, {-1, 5, -1, -1, -1, 5}), 0);
}

TEST_CASE("TF.js: a depthwise convolution with computed weights") {
  TfjsWriter writer;
  writer.placeholder("x", {1, 2, 2, 2}).placeholder("w", {2, 1, 2, 1});
  writer.node("DepthwiseConv2dNative", "y", {"x", "w"},
              {wholes("strides", {1, 1, 1, 1}), word("padding", "VALID"), kind("T", "DT_FLOAT")});
  const TemporaryFolder folder;
  const auto results = model::Model::load_file(engine(), writer.write(folder))
                           ->predict_now({buffer<float>({1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 2, 2}),
                                          buffer<float>({1, 10, 2, 20}, {2, 1, 2, 1})});
  check_values(results[0], floats({1, 1, 2, 2}, {11, 140, 17, 200}), 0);
}

TEST_CASE("TF.js: blocks with paddings and crops that are values") {
  TfjsWriter writer;
  writer.placeholder("x", {1, 3, 1}).placeholder("pads", {1, 2}, "DT_INT32");
  writer.weight<int32_t>("block", {1}, {2});
  writer.node("SpaceToBatchND", "cut", {"x", "block", "pads"});
  writer.node("BatchToSpaceND", "y", {"cut", "block", "pads"});
  writer.node("Identity", "z", {"cut"});
  const TemporaryFolder folder;
  const auto results =
      model::Model::load_file(engine(), writer.write(folder))
          ->predict_now({buffer<float>({1, 2, 3}, {1, 3, 1}), buffer<int32_t>({0, 1}, {1, 2})});
  check_values(results[0], floats({1, 3, 1}, {1, 2, 3}), 0);
  check_values(results[1], floats({2, 2, 1}, {1, 3, 2, 0}), 0);
}

}  // namespace dala::test::tfjs
