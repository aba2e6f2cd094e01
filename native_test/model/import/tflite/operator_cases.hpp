// Single TFLite operators against formulas and literal values. The spatial operators are tested
// with more shapes in channels_last_test.cpp.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <set>

#include "model/import/tflite/lite_model.hpp"
#include "model/import/tflite/table.hpp"

namespace dala::test {

// The builtin codes of the operators.
inline const std::map<std::string, int> kCodes{
    {"ABS", 101},
    {"ADD", 0},
    {"ADD_N", 106},
    {"ARG_MAX", 56},
    {"ARG_MIN", 79},
    {"AVERAGE_POOL_2D", 1},
    {"BATCH_MATMUL", 126},
    {"BATCH_TO_SPACE_ND", 37},
    {"BROADCAST_TO", 130},
    {"CAST", 53},
    {"CEIL", 104},
    {"CONCATENATION", 2},
    {"CONV_2D", 3},
    {"COS", 108},
    {"CUMSUM", 128},
    {"DENSIFY", 124},
    {"DEPTHWISE_CONV_2D", 4},
    {"DEPTH_TO_SPACE", 5},
    {"DEQUANTIZE", 6},
    {"DIV", 42},
    {"ELU", 111},
    {"EQUAL", 71},
    {"EXP", 47},
    {"EXPAND_DIMS", 70},
    {"FILL", 94},
    {"FLOOR", 8},
    {"FLOOR_DIV", 90},
    {"FLOOR_MOD", 95},
    {"FULLY_CONNECTED", 9},
    {"GATHER", 36},
    {"GATHER_ND", 107},
    {"GELU", 150},
    {"GREATER", 61},
    {"GREATER_EQUAL", 62},
    {"HARD_SWISH", 117},
    {"L2_NORMALIZATION", 11},
    {"L2_POOL_2D", 12},
    {"LEAKY_RELU", 98},
    {"LESS", 58},
    {"LESS_EQUAL", 63},
    {"LOCAL_RESPONSE_NORMALIZATION", 13},
    {"LOG", 73},
    {"LOGICAL_AND", 86},
    {"LOGICAL_NOT", 87},
    {"LOGICAL_OR", 84},
    {"LOGISTIC", 14},
    {"LOG_SOFTMAX", 50},
    {"MAXIMUM", 55},
    {"MAX_POOL_2D", 17},
    {"MEAN", 40},
    {"MINIMUM", 57},
    {"MIRROR_PAD", 100},
    {"MUL", 18},
    {"NEG", 59},
    {"NOT_EQUAL", 72},
    {"PACK", 83},
    {"PAD", 34},
    {"PADV2", 60},
    {"POW", 78},
    {"PRELU", 54},
    {"QUANTIZE", 114},
    {"RANGE", 96},
    {"RANK", 110},
    {"REDUCE_ALL", 140},
    {"REDUCE_ANY", 91},
    {"REDUCE_MAX", 82},
    {"REDUCE_MIN", 89},
    {"REDUCE_PROD", 81},
    {"RELU", 19},
    {"RELU6", 21},
    {"RELU_0_TO_1", 152},
    {"RELU_N1_TO_1", 20},
    {"RESHAPE", 22},
    {"RESIZE_BILINEAR", 23},
    {"RESIZE_NEAREST_NEIGHBOR", 97},
    {"REVERSE_V2", 105},
    {"ROUND", 116},
    {"RSQRT", 76},
    {"SELECT", 64},
    {"SELECT_V2", 123},
    {"SHAPE", 77},
    {"SIGN", 158},
    {"SIN", 66},
    {"SLICE", 65},
    {"SOFTMAX", 25},
    {"SPACE_TO_BATCH_ND", 38},
    {"SPACE_TO_DEPTH", 26},
    {"SPLIT", 49},
    {"SPLIT_V", 102},
    {"SQRT", 75},
    {"SQUARE", 92},
    {"SQUARED_DIFFERENCE", 99},
    {"SQUEEZE", 43},
    {"STRIDED_SLICE", 45},
    {"SUB", 41},
    {"SUM", 74},
    {"TANH", 28},
    {"TILE", 69},
    {"TOPK_V2", 48},
    {"TRANSPOSE", 39},
    {"TRANSPOSE_CONV", 67},
    {"UNPACK", 88},
    {"WHERE", 109},
    {"ZEROS_LIKE", 93},
};

// The operators that were checked so far.
inline std::set<std::string>& checked_names() {
  static std::set<std::string> names;
  return names;
}

inline void check(const std::string& name, const FlatTable& options,
                  const std::vector<LiteTensor>& given, const std::vector<LiteTensor>& expected) {
  CAPTURE(name);
  checked_names().insert(name);
  check_operator(kCodes.at(name), options, given, expected);
}

inline void check_each(const std::string& name, const std::function<double(double)>& formula,
                       const std::vector<double>& x = {-2.5, -0.5, 0, 0.75, 1.5, 7},
                       const FlatTable& options = {}) {
  LiteTensor expected{{static_cast<int32_t>(x.size())}, {}};
  for (double each : x) expected.values.push_back(formula(static_cast<float>(each)));
  check(name, options, {{expected.shape, x}}, {expected});
}

inline void check_both(const std::string& name,
                       const std::function<double(double, double)>& formula,
                       int result = LiteType::f32, const FlatTable& options = {}) {
  const std::vector<double> a{3, 1.5, 4, 0.5, 2, 6};
  const std::vector<double> b{2, 1.5, 0.25};
  LiteTensor expected{{2, 3}, {}, result};
  for (size_t i = 0; i < a.size(); ++i) expected.values.push_back(formula(a[i], b[i % 3]));
  check(name, options, {{{2, 3}, a}, {{3}, b}}, {expected});
}

// Every operator of the family must have been checked, or be one of those that are tested
// elsewhere.
inline void check_complete(const model::tflite::Operators& family,
                           const std::set<std::string>& elsewhere = {}) {
  std::set<std::string> missing;
  for (const model::tflite::Operator& each : family) {
    if (checked_names().count(each.name) == 0) missing.insert(each.name);
  }
  CHECK(missing == elsewhere);
}

}  // namespace dala::test
