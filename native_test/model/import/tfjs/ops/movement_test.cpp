// TF.js operators that move elements, with literal results.
#include "model/import/tfjs/cases.hpp"
#include "model/import/tfjs/table.hpp"

namespace dala::test::tfjs {
namespace {

const Values kMatrix = floats({2, 3}, {1, 2, 3, 4, 5, 6});

// {1, 2, 3, ...}
Values counted(std::vector<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  std::vector<double> numbers;
  for (int64_t i = 1; i <= count; ++i) numbers.push_back(static_cast<double>(i));
  return floats(std::move(dims), std::move(numbers));
}

std::vector<std::string> masks(int64_t begin, int64_t end, int64_t ellipsis = 0,
                               int64_t new_axis = 0, int64_t shrink = 0) {
  return {whole("begin_mask", begin), whole("end_mask", end), whole("ellipsis_mask", ellipsis),
          whole("new_axis_mask", new_axis), whole("shrink_axis_mask", shrink)};
}

std::vector<Case> movements() {
  return {
      {"Reshape", {kMatrix, list({3, -1})}, {}, {counted({3, 2})}},
      {"Reshape", {floats({0, 3}, {}), list({0, 5})}, {}, {floats({0, 5}, {})}},
      {"Transpose", {kMatrix, list({1, 0})}, {}, {floats({3, 2}, {1, 4, 2, 5, 3, 6})}},
      {"Squeeze", {counted({1, 2, 1, 2})}, {}, {counted({2, 2})}},
      {"Squeeze", {counted({1, 2, 1})}, {wholes("squeeze_dims", {-1})}, {counted({1, 2})}},
      {"ExpandDims", {kMatrix, number(1)}, {}, {counted({2, 1, 3})}},
      {"ExpandDims", {kMatrix, number(-1)}, {}, {counted({2, 3, 1})}},
      {"Concat", {number(0), list({1}), list({2, 3})}, {}, {list({1, 2, 3})}},
      {"ConcatV2",
       {kMatrix, floats({2, 1}, {7, 8}), number(-1)},
       {whole("N", 2)},
       {floats({2, 4}, {1, 2, 3, 7, 4, 5, 6, 8})}},
      {"Pack", {number(5), number(6)}, {whole("axis", 0)}, {list({5, 6})}},
      {"Pack", {list({1, 2}), list({3, 4})}, {whole("axis", -1)}, {ints({2, 2}, {1, 3, 2, 4})}},
      {"Unpack",
       {kMatrix},
       {whole("axis", 1), whole("num", 3)},
       {floats({2}, {1, 4}), floats({2}, {2, 5}), floats({2}, {3, 6})}},
      {"Split",
       {number(0), kMatrix},
       {whole("num_split", 2)},
       {floats({1, 3}, {1, 2, 3}), floats({1, 3}, {4, 5, 6})}},
      {"SplitV",
       {kMatrix, list({1, 2}), number(1)},
       {whole("num_split", 2)},
       {floats({2, 1}, {1, 4}), floats({2, 2}, {2, 3, 5, 6})}},
      {"SplitV",
       {counted({6}), list({1, -1, 2, 1}), number(0)},
       {whole("num_split", 4)},
       {floats({1}, {1}), floats({2}, {2, 3}), floats({2}, {4, 5}), floats({1}, {6})}},
      {"Slice", {kMatrix, list({0, 1}), list({-1, 2})}, {}, {floats({2, 2}, {2, 3, 5, 6})}},
      {"StridedSlice",
       {kMatrix, list({0, 2}), list({2, 0}), list({1, -1})},
       masks(0, 0),
       {floats({2, 2}, {3, 2, 6, 5})}},
      {"StridedSlice",
       {kMatrix, list({0, 0}), list({0, 0}), list({1, -2})},
       masks(3, 3),
       {floats({2, 2}, {3, 1, 6, 4})}},
      {"StridedSlice",
       {kMatrix, list({-1, 0}), list({0, 0}), list({1, 1})},
       masks(2, 2, 0, 0, 1),
       {floats({3}, {4, 5, 6})}},
      {"StridedSlice",
       {counted({1, 2, 3}), list({0, -1, 0}), list({0, 3, 0}), list({1, 1, 1})},
       masks(0, 0, 1, 4),
       {floats({1, 2, 1, 1}, {3, 6})}},
      {"ReverseV2", {kMatrix, list({1})}, {}, {floats({2, 3}, {3, 2, 1, 6, 5, 4})}},
      {"Pad",
       {floats({1, 2}, {1, 2}), ints({2, 2}, {1, 0, 0, 2})},
       {},
       {floats({2, 4}, {0, 0, 0, 0, 1, 2, 0, 0})}},
      {"PadV2",
       {floats({2}, {1, 2}), ints({1, 2}, {1, 2}), floats({}, {9})},
       {},
       {floats({5}, {9, 1, 2, 9, 9})}},
      {"MirrorPad",
       {floats({3}, {1, 2, 3}), ints({1, 2}, {2, 1})},
       {word("mode", "REFLECT")},
       {floats({6}, {3, 2, 1, 2, 3, 2})}},
      {"MirrorPad",
       {floats({3}, {1, 2, 3}), ints({1, 2}, {1, 1})},
       {word("mode", "SYMMETRIC")},
       {floats({5}, {1, 1, 2, 3, 3})}},
  };
}

}  // namespace

TEST_CASE("TF.js: data movement") { check_cases(movements(), model::tfjs::movement_operators()); }

}  // namespace dala::test::tfjs
