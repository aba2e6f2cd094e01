// Every supported TFLite operator, one at a time, against loops and literal values. The spatial
// operators are tested with more shapes in channels_last_test.cpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "model/tflite/lite_model.hpp"
#include "model/tflite/ops/table.hpp"

namespace dala::test {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();

// The builtin codes of the operators, and which of them were tested.
const std::map<std::string, int> kCodes{
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

void check(const std::string& name, const FlatTable& options, const std::vector<LiteTensor>& given,
           const std::vector<LiteTensor>& expected) {
  CAPTURE(name);
  check_operator(kCodes.at(name), options, given, expected);
}

void check_each(const std::string& name, const std::function<double(double)>& formula,
                const std::vector<double>& x = {-2.5, -0.5, 0, 0.75, 1.5, 7},
                const FlatTable& options = {}) {
  LiteTensor expected{{static_cast<int32_t>(x.size())}, {}};
  for (double each : x) expected.values.push_back(formula(static_cast<float>(each)));
  check(name, options, {{expected.shape, x}}, {expected});
}

void check_both(const std::string& name, const std::function<double(double, double)>& formula,
                int result = LiteType::f32, const FlatTable& options = {}) {
  const std::vector<double> a{3, 1.5, 4, 0.5, 2, 6};
  const std::vector<double> b{2, 1.5, 0.25};
  LiteTensor expected{{2, 3}, {}, result};
  for (size_t i = 0; i < a.size(); ++i) expected.values.push_back(formula(a[i], b[i % 3]));
  check(name, options, {{{2, 3}, a}, {{3}, b}}, {expected});
}

// A flexbuffer map, as for custom operators: keys, key offsets, the map header, values, value
// types, and the root. Offsets point backwards; all values have 4 bytes here.
std::vector<uint8_t> flexbuffer(const std::map<std::string, float>& options) {
  std::string out;
  const auto put = [&](auto value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  const auto back_to = [&](size_t place) { put(static_cast<uint32_t>(out.size() - place)); };
  std::vector<size_t> names;
  for (const auto& [name, value] : options) {
    names.push_back(out.size());
    out += name + '\0';
  }
  const auto count = static_cast<uint32_t>(options.size());
  put(count);
  const size_t keys = out.size();
  for (size_t name : names) back_to(name);
  back_to(keys);
  put(uint32_t{4});
  put(count);
  const size_t map = out.size();
  for (const auto& [name, value] : options) put(value);
  out.append(options.size(), static_cast<char>(3 << 2 | 2));  // floats of 4 bytes
  back_to(map);
  out += {static_cast<char>(9 << 2 | 2), 4};  // a map, and the width of its offset
  return {out.begin(), out.end()};
}

}  // namespace

TEST_CASE("every supported TFLite operator has a code and a test in this file") {
  // Custom operators have no code.
  std::set<std::string> tested{"Convolution2DTransposeBias", "TFLite_Detection_PostProcess"};
  // See control_test.cpp.
  tested.insert({"ASSIGN_VARIABLE", "CALL_ONCE", "IF", "READ_VARIABLE",
                 "UNIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN", "VAR_HANDLE",
                 "WHILE"});
  for (const auto& [name, code] : kCodes) tested.insert(name);
  const auto names = model::tflite::operator_names();
  CHECK(tested == std::set<std::string>(names.begin(), names.end()));
}

TEST_CASE("TFLite: unary arithmetic") {
  const std::vector<double> positive{0.25, 1, 2, 9};
  check_each("ABS", [](double x) { return std::fabs(x); });
  check_each("CEIL", [](double x) { return std::ceil(x); });
  check_each("COS", [](double x) { return std::cos(x); });
  check_each("ELU", [](double x) { return x < 0 ? std::expm1(x) : x; });
  check_each("EXP", [](double x) { return std::exp(x); });
  check_each("FLOOR", [](double x) { return std::floor(x); });
  check_each("HARD_SWISH", [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; });
  check_each(
      "LOG", [](double x) { return std::log(x); }, positive);
  check_each("LOGISTIC", [](double x) { return 1 / (1 + std::exp(-x)); });
  check_each("NEG", [](double x) { return -x; });
  check_each("RELU", [](double x) { return std::max(x, 0.0); });
  check_each("RELU6", [](double x) { return std::clamp(x, 0.0, 6.0); });
  check_each("RELU_0_TO_1", [](double x) { return std::clamp(x, 0.0, 1.0); });
  check_each("RELU_N1_TO_1", [](double x) { return std::clamp(x, -1.0, 1.0); });
  check_each("ROUND", [](double x) { return std::nearbyint(x); });  // ties to even
  check_each(
      "RSQRT", [](double x) { return 1 / std::sqrt(x); }, positive);
  check_each("SIGN", [](double x) { return (x > 0) - (x < 0); });
  check_each("SIN", [](double x) { return std::sin(x); });
  check_each(
      "SQRT", [](double x) { return std::sqrt(x); }, positive);
  check_each("SQUARE", [](double x) { return x * x; });
  check_each("TANH", [](double x) { return std::tanh(x); });
  check_each("ZEROS_LIKE", [](double) { return 0; });
  check_each(
      "LEAKY_RELU", [](double x) { return x < 0 ? 0.25 * x : x; }, {-2, 0, 3},
      FlatTable().real(0, 0.25F));
  const auto exact = [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); };
  const auto by_tanh = [](double x) {
    return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  };
  check_each("GELU", exact, {-2, -0.5, 0, 3});
  check_each("GELU", by_tanh, {-2, -0.5, 0, 3}, FlatTable().flag(0));
}

TEST_CASE("TFLite: binary arithmetic") {
  check_both("ADD", [](double a, double b) { return a + b; });
  check_both("DIV", [](double a, double b) { return a / b; });
  check_both("FLOOR_DIV", [](double a, double b) { return std::floor(a / b); });
  check_both("FLOOR_MOD", [](double a, double b) { return a - std::floor(a / b) * b; });
  check_both("MAXIMUM", [](double a, double b) { return std::max(a, b); });
  check_both("MINIMUM", [](double a, double b) { return std::min(a, b); });
  check_both("MUL", [](double a, double b) { return a * b; });
  check_both("POW", [](double a, double b) { return std::pow(a, b); });
  check_both("SQUARED_DIFFERENCE", [](double a, double b) { return (a - b) * (a - b); });
  check_both("SUB", [](double a, double b) { return a - b; });
  check_both(
      "EQUAL", [](double a, double b) { return a == b; }, LiteType::boolean);
  check_both(
      "GREATER", [](double a, double b) { return a > b; }, LiteType::boolean);
  check_both(
      "GREATER_EQUAL", [](double a, double b) { return a >= b; }, LiteType::boolean);
  check_both(
      "LESS", [](double a, double b) { return a < b; }, LiteType::boolean);
  check_both(
      "LESS_EQUAL", [](double a, double b) { return a <= b; }, LiteType::boolean);
  check_both(
      "NOT_EQUAL", [](double a, double b) { return a != b; }, LiteType::boolean);
  // Fused activations.
  const auto with = [&](int activation, const std::function<double(double)>& formula) {
    check_both(
        "SUB", [&](double a, double b) { return formula(a - b); }, LiteType::f32,
        FlatTable().byte(0, activation));
  };
  with(1, [](double x) { return std::clamp(x, 0.0, kEndless); });
  with(2, [](double x) { return std::clamp(x, -1.0, 1.0); });
  with(3, [](double x) { return std::clamp(x, 0.0, 6.0); });
  with(4, [](double x) { return std::tanh(x); });
  check("ADD", {}, {{{2}, {1, 2}, LiteType::i32}, {{2}, {10, 20}, LiteType::i32}},
        {{{2}, {11, 22}, LiteType::i32}});
  check("ADD_N", {}, {{{2}, {1, 2}}, {{2}, {10, 20}}, {{2}, {5, 5}}}, {{{2}, {16, 27}}});
  check("PRELU", {},
        {{{1, 2, 1, 2}, {-1, -2, 3, -4}}, constant_of({1, 1, 2}, {0.5, 2}, LiteType::f32)},
        {{{1, 2, 1, 2}, {-0.5, -4, 3, -8}}});
}

TEST_CASE("TFLite: logic and selection") {
  const LiteTensor a{{4}, {0, 0, 1, 1}, LiteType::boolean};
  const LiteTensor b{{4}, {0, 1, 0, 1}, LiteType::boolean};
  check("LOGICAL_AND", {}, {a, b}, {{{4}, {0, 0, 0, 1}, LiteType::boolean}});
  check("LOGICAL_OR", {}, {a, b}, {{{4}, {0, 1, 1, 1}, LiteType::boolean}});
  check("LOGICAL_NOT", {}, {b}, {{{4}, {1, 0, 1, 0}, LiteType::boolean}});
  check("REDUCE_ANY", {}, {{{2, 2}, {0, 0, 1, 0}, LiteType::boolean}, constant_of({1}, {1})},
        {{{2}, {0, 1}, LiteType::boolean}});
  check("REDUCE_ALL", {}, {{{2, 2}, {1, 1, 1, 0}, LiteType::boolean}, constant_of({1}, {1})},
        {{{2}, {1, 0}, LiteType::boolean}});
  const LiteTensor x{{2, 2}, {1, 2, 3, 4}};
  const LiteTensor y{{2, 2}, {5, 6, 7, 8}};
  check("SELECT", {}, {{{2}, {1, 0}, LiteType::boolean}, x, y}, {{{2, 2}, {1, 2, 7, 8}}});
  check("SELECT_V2", {}, {{{2}, {1, 0}, LiteType::boolean}, x, y}, {{{2, 2}, {1, 6, 3, 8}}});
  check("WHERE", {}, {{{2, 2}, {0, 1, 1, 0}, LiteType::boolean}},
        {{{2, 2}, {0, 1, 1, 0}, LiteType::i64}});
}

TEST_CASE("TFLite: data movement") {
  const LiteTensor x{{2, 3}, {0, 1, 2, 3, 4, 5}};
  const LiteTensor planes{{1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}};
  const LiteTensor none = constant_of({2, 2}, {0, 0, 0, 0});
  check("SPACE_TO_BATCH_ND", {}, {planes, constant_of({2}, {2, 2}), none},
        {{{4, 1, 1, 2}, {0, 1, 2, 3, 4, 5, 6, 7}}});
  check("BATCH_TO_SPACE_ND", {},
        {{{4, 1, 1, 1}, {0, 1, 2, 3}}, constant_of({2}, {2, 2}), constant_of({2, 2}, {0, 0, 1, 0})},
        {{{1, 2, 1, 1}, {1, 3}}});
  check("BROADCAST_TO", {}, {{{1, 2}, {3, 4}}, constant_of({2}, {2, 2})}, {{{2, 2}, {3, 4, 3, 4}}});
  check("CONCATENATION", FlatTable().integer(0, 1).byte(1, 1), {x, {{2, 1}, {-1, 7}}},
        {{{2, 4}, {0, 1, 2, 0, 3, 4, 5, 7}}});
  check("DEPTH_TO_SPACE", FlatTable().integer(0, 2), {{{1, 1, 1, 4}, {0, 1, 2, 3}}},
        {{{1, 2, 2, 1}, {0, 1, 2, 3}}});
  check("SPACE_TO_DEPTH", FlatTable().integer(0, 2), {planes},
        {{{1, 1, 1, 8}, {0, 1, 2, 3, 4, 5, 6, 7}}});
  check("DENSIFY", {}, {x}, {x});
  check("DEQUANTIZE", {}, {x}, {x});
  check("EXPAND_DIMS", {}, {x, constant_of({}, {1})}, {{{2, 1, 3}, x.values}});
  check("GATHER", FlatTable().integer(0, 1), {x, constant_of({2}, {2, 0})},
        {{{2, 2}, {2, 0, 5, 3}}});
  check("GATHER_ND", {}, {x, constant_of({2, 2}, {1, 2, 0, 1})}, {{{2}, {5, 1}}});
  check("MIRROR_PAD", {}, {x, constant_of({2, 2}, {0, 0, 2, 1})},
        {{{2, 6}, {2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4}}});
  check("PACK", FlatTable().integer(0, 2).integer(1, 1), {{{2}, {1, 2}}, {{2}, {3, 4}}},
        {{{2, 2}, {1, 3, 2, 4}}});
  check("PAD", {}, {x, constant_of({2, 2}, {0, 1, 1, 0})},
        {{{3, 4}, {0, 0, 1, 2, 0, 3, 4, 5, 0, 0, 0, 0}}});
  check("PADV2", {},
        {x, constant_of({2, 2}, {0, 0, 0, 1}, LiteType::i64), constant_of({}, {9}, LiteType::f32)},
        {{{2, 4}, {0, 1, 2, 9, 3, 4, 5, 9}}});
  check("QUANTIZE", {}, {x}, {x});
  check("RESHAPE", {}, {x, constant_of({2}, {3, -1})}, {{{3, 2}, x.values}});
  check("RESHAPE", FlatTable().numbers(0, std::vector<int32_t>{6}), {x}, {{{6}, x.values}});
  check("REVERSE_V2", {}, {x, constant_of({1}, {1})}, {{{2, 3}, {2, 1, 0, 5, 4, 3}}});
  check("SLICE", {}, {x, constant_of({2}, {0, 1}), constant_of({2}, {1, -1})}, {{{1, 2}, {1, 2}}});
  check("SPLIT", FlatTable().integer(0, 3), {constant_of({}, {1}), x},
        {{{2, 1}, {0, 3}}, {{2, 1}, {1, 4}}, {{2, 1}, {2, 5}}});
  check("SPLIT_V", FlatTable().integer(0, 2), {x, constant_of({2}, {1, -1}), constant_of({}, {-1})},
        {{{2, 1}, {0, 3}}, {{2, 2}, {1, 2, 4, 5}}});
  check("SQUEEZE", FlatTable().numbers(0, std::vector<int32_t>{1}), {{{2, 1, 1}, {1, 2}}},
        {{{2, 1}, {1, 2}}});
  check("SQUEEZE", {}, {{{2, 1, 1}, {1, 2}}}, {{{2}, {1, 2}}});
  check("STRIDED_SLICE", FlatTable().integer(0, 2).integer(1, 2).integer(4, 1),
        {x, constant_of({2}, {1, 0}), constant_of({2}, {2, 0}), constant_of({2}, {1, 2})},
        {{{2}, {3, 5}}});
  check("TILE", {}, {x, constant_of({2}, {1, 2})},
        {{{2, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}}});
  check("TRANSPOSE", {}, {x, constant_of({2}, {1, 0})}, {{{3, 2}, {0, 3, 1, 4, 2, 5}}});
  check("UNPACK", FlatTable().integer(0, 2).integer(1, 0), {x},
        {{{3}, {0, 1, 2}}, {{3}, {3, 4, 5}}});
}

TEST_CASE("TFLite: casts and shapes") {
  const LiteTensor x{{2, 3}, {0, 1.75, -2.5, 3, 4, 5}};
  check("CAST", FlatTable().byte(1, LiteType::i32), {x},
        {{{2, 3}, {0, 1, -2, 3, 4, 5}, LiteType::i32}});
  check("CAST", FlatTable().byte(1, LiteType::f32), {{{2}, {7, 200}, LiteType::u8}},
        {{{2}, {7, 200}}});
  check("SHAPE", {}, {x}, {{{2}, {2, 3}, LiteType::i32}});
  check("RANK", {}, {x}, {{{}, {2}, LiteType::i32}});
  check("FILL", {}, {constant_of({2}, {1, 2}), {{}, {6}}}, {{{1, 2}, {6, 6}}});
  check("RANGE", {}, {constant_of({}, {1}), constant_of({}, {8}), constant_of({}, {3})},
        {{{3}, {1, 4, 7}, LiteType::i32}});
}

TEST_CASE("TFLite: reductions and matrix products") {
  const LiteTensor x{{2, 3}, {0, 5, 2, 3, 1, 4}};
  const LiteTensor last = constant_of({1}, {-1});
  const FlatTable keep = FlatTable().flag(0);
  check("MEAN", keep, {x, last}, {{{2, 1}, {7.0 / 3, 8.0 / 3}}});
  check("SUM", {}, {x, constant_of({2}, {0, 1})}, {{{}, {15}}});
  check("REDUCE_MAX", {}, {x, last}, {{{2}, {5, 4}}});
  check("REDUCE_MIN", keep, {x, constant_of({}, {0})}, {{{1, 3}, {0, 1, 2}}});
  check("REDUCE_PROD", {}, {x, last}, {{{2}, {0, 12}}});
  check("ARG_MAX", FlatTable().byte(0, LiteType::i32), {x, constant_of({}, {1})},
        {{{2}, {1, 2}, LiteType::i32}});
  check("ARG_MIN", FlatTable().byte(0, LiteType::i64), {x, constant_of({}, {0})},
        {{{3}, {0, 1, 0}, LiteType::i64}});
  check("TOPK_V2", {}, {x, constant_of({}, {2})},
        {{{2, 2}, {5, 2, 4, 3}}, {{2, 2}, {1, 2, 2, 0}, LiteType::i32}});
  check("CUMSUM", {}, {x, constant_of({}, {1})}, {{{2, 3}, {0, 5, 7, 3, 4, 8}}});

  LiteTensor soft{{1, 3}, {}};
  LiteTensor logarithm{{1, 3}, {}};
  const double sum = 1 + std::exp(1.0) + std::exp(2.0);
  for (double each : {0, 1, 2}) {
    soft.values.push_back(std::exp(each) / sum);
    logarithm.values.push_back(each - std::log(sum));
  }
  check("SOFTMAX", FlatTable().real(0, 0.5F), {{{1, 3}, {0, 2, 4}}}, {soft});
  check("LOG_SOFTMAX", {}, {{{1, 3}, {0, 1, 2}}}, {logarithm});
  check("L2_NORMALIZATION", {}, {{{2, 2}, {3, 4, 0, 0}}}, {{{2, 2}, {0.6, 0.8, 0, 0}}});

  const LiteTensor weights = constant_of({2, 3}, {1, 0, 2, -1, 1, 0}, LiteType::f32);
  check("FULLY_CONNECTED", FlatTable().byte(0, 1),
        {x, weights, constant_of({2}, {10, -1}, LiteType::f32)}, {{{2, 2}, {14, 4, 21, 0}}});
  check("FULLY_CONNECTED", FlatTable().number(2, uint8_t{1}), {{{1, 2, 3}, x.values}, weights},
        {{{1, 2, 2}, {4, 5, 11, -2}}});
  check("BATCH_MATMUL", FlatTable().flag(1), {x, {{2, 3}, {1, 0, 2, -1, 1, 0}}},
        {{{2, 2}, {4, 5, 11, -2}}});
}

TEST_CASE("TFLite: convolutions, pools and resizing") {
  LiteTensor x{{1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
  const auto window = [](int padding, int stride) {
    return FlatTable().byte(0, padding).integer(1, stride).integer(2, stride);
  };
  const auto pool = [&](int padding) { return window(padding, 2).integer(3, 2).integer(4, 2); };
  check("MAX_POOL_2D", pool(0), {x}, {{{1, 2, 2, 1}, {5, 6, 8, 9}}});
  check("AVERAGE_POOL_2D", pool(0), {x}, {{{1, 2, 2, 1}, {3, 4.5, 7.5, 9}}});
  check("AVERAGE_POOL_2D", pool(1), {x}, {{{1, 1, 1, 1}, {3}}});
  check("L2_POOL_2D", pool(1), {x}, {{{1, 1, 1, 1}, {std::sqrt(46.0 / 4)}}});
  // Of two outputs, the second is the sum of the corners of its window.
  const LiteTensor weights = constant_of({2, 2, 2, 1}, {1, 0, 0, 0, 1, 1, 1, 1}, LiteType::f32);
  const LiteTensor bias = constant_of({2}, {0.5, -20}, LiteType::f32);
  check("CONV_2D", window(1, 1).byte(3, 1), {x, weights, bias},
        {{{1, 2, 2, 2}, {1.5, 0, 2.5, 0, 4.5, 4, 5.5, 8}}});
  check("CONV_2D", window(0, 2), {x, weights, bias},
        {{{1, 2, 2, 2}, {1.5, -8, 3.5, -11, 7.5, -5, 9.5, -11}}});
  check("CONV_2D", window(1, 1).integer(4, 2).integer(5, 2), {x, weights, bias},
        {{{1, 1, 1, 2}, {1.5, 0}}});
  check("DEPTHWISE_CONV_2D", window(1, 1).integer(3, 2),
        {x, constant_of({1, 2, 2, 2}, {1, 2, 0, 0, 0, 0, 1, 2}, LiteType::f32)},
        {{{1, 2, 2, 2}, {6, 12, 8, 16, 12, 24, 14, 28}}});
  check("TRANSPOSE_CONV", window(1, 2),
        {constant_of({4}, {1, 2, 4, 1}),
         constant_of({1, 2, 2, 1}, {1, 2, 3, 4}, LiteType::f32),
         {{1, 1, 2, 1}, {1, 10}}},
        {{{1, 2, 4, 1}, {1, 2, 10, 20, 3, 4, 30, 40}}});
  check("RESIZE_NEAREST_NEIGHBOR", {}, {{{1, 1, 2, 1}, {1, 2}}, constant_of({2}, {2, 4})},
        {{{1, 2, 4, 1}, {1, 1, 2, 2, 1, 1, 2, 2}}});
  check("RESIZE_NEAREST_NEIGHBOR", FlatTable().flag(0),
        {{{1, 1, 3, 1}, {1, 2, 3}}, constant_of({2}, {1, 5})}, {{{1, 1, 5, 1}, {1, 2, 2, 3, 3}}});
  check("RESIZE_NEAREST_NEIGHBOR", FlatTable().flag(1),
        {{{1, 1, 3, 1}, {1, 2, 3}}, constant_of({2}, {1, 2})}, {{{1, 1, 2, 1}, {1, 3}}});
  const LiteTensor row{{1, 1, 2, 1}, {1, 3}};
  check("RESIZE_BILINEAR", {}, {row, constant_of({2}, {1, 4})}, {{{1, 1, 4, 1}, {1, 2, 3, 3}}});
  check("RESIZE_BILINEAR", FlatTable().flag(2), {row, constant_of({2}, {1, 3})},
        {{{1, 1, 3, 1}, {1, 2, 3}}});
  check("RESIZE_BILINEAR", FlatTable().flag(3), {row, constant_of({2}, {1, 4})},
        {{{1, 1, 4, 1}, {1, 1.5, 2.5, 3}}});
  check("LOCAL_RESPONSE_NORMALIZATION",
        FlatTable().integer(0, 1).real(1, 1).real(2, 0.5F).real(3, 0.5F),
        {{{1, 1, 1, 3}, {1, 2, 3}}},
        {{{1, 1, 1, 3}, {1 / std::sqrt(3.5), 2 / std::sqrt(8.0), 3 / std::sqrt(7.5)}}});
}

TEST_CASE("TFLite: MediaPipe's transposed convolution with bias") {
  TfliteWriter writer;
  const int x = writer.tensor("x", {1, 1, 2, 1});
  const int weights = writer.constant<float>({1, 2, 2, 1}, LiteType::f32, {1, 2, 3, 4});
  const int bias = writer.constant<float>({1}, LiteType::f32, {0.5F});
  const int y = writer.tensor("y", {1, 2, 4, 1});
  writer.custom("Convolution2DTransposeBias", {x, weights, bias}, {y},
                {1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0});
  writer.inputs({x}).outputs({y});
  check_tensor(run_lite(writer, {{{1, 1, 2, 1}, {1, 10}}})[0],
               {{1, 2, 4, 1}, {1.5, 2.5, 10.5, 20.5, 3.5, 4.5, 30.5, 40.5}}, 1e-5);
}

TEST_CASE("TFLite: detections are the best boxes that do not overlap, then zeros") {
  const auto detector = [](std::map<std::string, float> options) {
    TfliteWriter writer;
    const int codes = writer.tensor("codes", {1, 3, 4});
    const int scores = writer.tensor("scores", {1, 3, 3});
    const int anchors = writer.constant<float>(
        {3, 4}, LiteType::f32, {0.5F, 0.5F, 1, 1, 0.5F, 0.5F, 1, 1, 0.25F, 0.25F, 0.5F, 0.5F});
    std::vector<int32_t> outputs;
    for (const char* name : {"boxes", "classes", "scores", "count"}) {
      outputs.push_back(writer.tensor(name, {}));
    }
    for (const auto& [name, value] : std::map<std::string, float>{{"max_detections", 3},
                                                                  {"num_classes", 2},
                                                                  {"nms_iou_threshold", 0.5F},
                                                                  {"y_scale", 10},
                                                                  {"x_scale", 10},
                                                                  {"h_scale", 5},
                                                                  {"w_scale", 5}}) {
      options.emplace(name, value);
    }
    writer.custom("TFLite_Detection_PostProcess", {codes, scores, anchors}, outputs,
                  flexbuffer(options));
    return writer.inputs({codes, scores}).outputs(outputs);
  };
  // The second box, moved down by a tenth of its anchor, is nearly the first; the third is half as
  // high as its anchor. The first score of each is that of the background.
  const auto half = static_cast<float>(5 * std::log(0.5));
  const std::vector<LiteTensor> given{{{1, 3, 4}, {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, half, 0}},
                                      {{1, 3, 3}, {0.9, 0.1, 0.8, 0, 0.7, 0, 0, 0.6, 0.2}}};
  const auto outputs = run_lite(detector({}), given);
  REQUIRE(outputs.size() == 4);
  check_tensor(outputs[0], {{1, 3, 4}, {0, 0, 1, 1, 0.125, 0, 0.375, 0.5, 0, 0, 0, 0}}, 1e-6);
  check_tensor(outputs[1], {{1, 3}, {1, 0, 0}}, 0);
  check_tensor(outputs[2], {{1, 3}, {0.8, 0.6, 0}}, 1e-6);
  check_tensor(outputs[3], {{1}, {2}}, 0);

  const auto problem = [&](const std::map<std::string, float>& options) {
    return failure([&] { load_lite(detector(options).str()); });
  };
  CHECK(problem({{"use_regular_nms", 1}}).find("with per-class suppression") != std::string::npos);
  CHECK(problem({{"max_classes_per_detection", 2}}).find("with several classes per detection") !=
        std::string::npos);
  CHECK(problem({{"max_detections", -1}}) ==
        "invalid_model: TFLite_Detection_PostProcess (boxes): option max_detections is missing "
        "or out of range");
}

TEST_CASE("TFLite: a convolution between blocks becomes a dilated convolution") {
  TfliteWriter writer;
  const int x = writer.tensor("x", {1, 4, 4, 1});
  const int block = writer.constant<int32_t>({2}, LiteType::i32, {2, 2});
  const int pads = writer.constant<int32_t>({2, 2}, LiteType::i32, {2, 2, 2, 2});
  const int crops = writer.constant<int32_t>({2, 2}, LiteType::i32, {0, 0, 0, 0});
  const int weights = writer.constant<float>({1, 3, 3, 1}, LiteType::f32, std::vector<float>(9, 1));
  const int cut = writer.tensor("cut", {4, 4, 4, 1});
  const int c = writer.tensor("c", {4, 2, 2, 1});
  const int y = writer.tensor("y", {1, 4, 4, 1});
  writer.op(38, {x, block, pads}, {cut});
  writer.op(3, {cut, weights}, {c}, FlatTable().byte(0, 1).integer(1, 1).integer(2, 1));
  writer.op(37, {c, block, crops}, {y}).inputs({x}).outputs({y});
  // Every second element in both directions: four of them.
  LiteTensor given{{1, 4, 4, 1}, {}};
  LiteTensor expected{{1, 4, 4, 1}, {}};
  for (int i = 0; i < 16; ++i) given.values.push_back(i);
  for (int i = 0; i < 16; ++i) {
    const int row = i / 4 % 2;
    const int column = i % 2;
    expected.values.push_back(4 * (4 * (row + 1) + column + 1));
  }
  check_tensor(run_lite(writer, {given})[0], expected, 1e-5);
  // Two transposes around it, and no block operators.
  CHECK(load_lite(writer.str())->info().nodes <= 3);
}

}  // namespace dala::test
