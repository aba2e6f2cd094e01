#include "model/passes/fold_weights.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "model/graph/exact_sums.hpp"
#include "model/graph/graph_uses.hpp"

namespace dala::model {
namespace {

// The index of each element along an axis, for values that are one per tensor or one per index.
class Along {
 public:
  Along(const HostTensor& x, const HostTensor& values, int64_t axis) {
    const auto rank = static_cast<int64_t>(x.shape.size());
    if (axis < 0) axis += rank;
    fits_ = values.count() == 1;
    if (fits_ || axis < 0 || axis >= rank || values.shape.size() != 1) return;
    size_ = x.shape[static_cast<size_t>(axis)];
    for (int64_t d = axis + 1; d < rank; ++d) inner_ *= x.shape[static_cast<size_t>(d)];
    fits_ = values.count() == size_;
  }

  bool fits() const { return fits_; }
  int64_t index(int64_t element) const { return element / inner_ % size_; }

 private:
  bool fits_ = false;
  int64_t size_ = 1;
  int64_t inner_ = 1;
};

// (x - zero) * scale in floats; null if the parts have other shapes. Without a scale it is 1.
HostTensorPtr dequantized(const HostTensor& x, const HostTensor* scale, const HostTensor* zero,
                          int64_t axis) {
  if (is_float(x.type) || (scale != nullptr && scale->type != ElementType::f32)) return nullptr;
  const HostTensor one(ElementType::f32, {});
  const Along scales(x, scale == nullptr ? one : *scale, axis);
  const Along zeros(x, zero == nullptr ? one : *zero, axis);
  if (!scales.fits() || !zeros.fits()) return nullptr;
  auto result = std::make_shared<HostTensor>(ElementType::f32, x.shape);
  const int64_t count = x.count();
  float* const to = result->data<float>();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t shift = zero == nullptr ? 0 : zero->integer(zeros.index(i));
    const auto factor =
        scale == nullptr ? 1.0F : static_cast<float>(scale->number(scales.index(i)));
    to[i] = static_cast<float>(x.integer(i) - shift) * factor;
  }
  return result;
}

bool has_input(const Node& node, size_t index) {
  return index < node.inputs.size() && node.inputs[index] != kNone;
}

// Whether the input is absent, or a constant.
bool is_settled(const Graph& graph, const Node& node, size_t index) {
  return !has_input(node, index) || constant(graph, node.inputs[index]) != nullptr;
}

const HostTensor* known(const Graph& graph, const Node& node, size_t index) {
  return has_input(node, index) ? constant(graph, node.inputs[index]) : nullptr;
}

// The constant that a node DequantizeLinear gives; null if it is none.
HostTensorPtr dequantized(const Graph& graph, const Node& node) {
  const HostTensor* x = known(graph, node, 0);
  const HostTensor* scale = known(graph, node, 1);
  if (x == nullptr || scale == nullptr || !is_settled(graph, node, 2)) return nullptr;
  if (integer_of(node, "block_size", 0) != 0) return nullptr;
  return dequantized(*x, scale, known(graph, node, 2), integer_of(node, "axis", 1));
}

// Where the operators of products of integers have their weights, and what belongs to these.
struct IntegerWeights {
  const char* op;
  size_t weights;
  size_t zero;
  size_t input_zero;  // the zero point of the other operand
  size_t bias;        // 0 if there is none
  int64_t axis;       // of several zero points, and of the results
};
constexpr IntegerWeights kIntegerWeights[] = {
    {"ConvInteger", 1, 3, 2, 0, 0},
    {"MatMulInteger", 1, 3, 2, 0, -1},
    {"QLinearConv", 3, 5, 2, 8, 0},
    {"QLinearMatMul", 3, 5, 2, 0, -1},
};

// The values that bytes have after their zero point is subtracted.
struct ByteRange {
  double low = -255;
  double high = 255;
};

ByteRange range_of(const Graph& graph, const Node& node, size_t zero) {
  if (!has_input(node, zero)) return {-128, 255};
  const HostTensor* values = constant(graph, node.inputs[zero]);
  if (values == nullptr || values->count() != 1) return {};
  const bool is_signed = values->type == ElementType::i8;
  const auto shift = static_cast<double>(values->integer(0));
  return {(is_signed ? -128 : 0) - shift, (is_signed ? 127 : 255) - shift};
}

// The largest magnitude of a partial sum of products, in any order, with the bias.
double largest_sum(const HostTensor& weights, ByteRange range, const HostTensor* bias,
                   int64_t axis) {
  const auto rank = static_cast<int64_t>(weights.shape.size());
  const bool vector = rank < 2;
  const int64_t results = vector ? 1 : weights.shape[static_cast<size_t>(axis < 0 ? rank - 1 : 0)];
  if (results == 0) return 0;
  // A product of a batch of matrices sums over one dimension; the sum over all is a bound as well.
  std::vector<double> above(static_cast<size_t>(results));
  std::vector<double> below(static_cast<size_t>(results));
  const int64_t count = weights.count();
  const int64_t inner = axis < 0 ? 1 : count / results;
  const float* const values = weights.data<float>();
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i / inner % results);
    const auto value = static_cast<double>(values[i]);
    above[at] += std::max({value * range.low, value * range.high, 0.0});
    below[at] -= std::min({value * range.low, value * range.high, 0.0});
  }
  double largest = 0;
  for (int64_t i = 0; i < results; ++i) {
    const auto at = static_cast<size_t>(i);
    const double added =
        bias != nullptr && i < bias->count() ? std::fabs(static_cast<double>(bias->integer(i))) : 0;
    largest = std::max(largest, std::max(above[at], below[at]) + added);
  }
  return largest;
}

HostTensorPtr as_doubles(const HostTensor& floats) {
  auto result = std::make_shared<HostTensor>(ElementType::f64, floats.shape);
  std::copy_n(floats.data<float>(), static_cast<size_t>(floats.count()), result->data<double>());
  return result;
}

// Puts floats in the place of integer weights; the operators know these as shifted already. They
// are f64 where a sum may not be exact in f32.
void shift_weights(Graph& graph, Node& node) {
  for (const IntegerWeights& each : kIntegerWeights) {
    if (!is(&node, each.op)) continue;
    const HostTensor* weights = known(graph, node, each.weights);
    if (weights == nullptr || !is_settled(graph, node, each.zero)) return;
    HostTensorPtr shifted =
        dequantized(*weights, nullptr, known(graph, node, each.zero), each.axis);
    if (shifted == nullptr) return;
    const bool has_bias = each.bias != 0 && has_input(node, each.bias);
    const HostTensor* bias = has_bias ? known(graph, node, each.bias) : nullptr;
    const bool exact = (!has_bias || bias != nullptr) &&
                       is_exact_in_f32(largest_sum(*shifted, range_of(graph, node, each.input_zero),
                                                   bias, each.axis));
    if (!exact) shifted = as_doubles(*shifted);
    const std::string name = graph.name_of(node.inputs[each.weights]) + " as floats";
    node.inputs[each.weights] = add_constant(graph, name, std::move(shifted));
  }
}

}  // namespace

void fold_weights(Graph& graph) {
  for (Node& node : graph.nodes) {
    shift_weights(graph, node);
    if (!is(&node, "DequantizeLinear") || node.outputs.size() != 1) continue;
    HostTensorPtr values = dequantized(graph, node);
    if (values == nullptr) continue;
    graph.constants[node.outputs[0]] = std::move(values);
    node.inputs.clear();
    node.outputs.clear();
  }
  std::erase_if(graph.nodes, [](const Node& node) { return node.outputs.empty(); });
}

}  // namespace dala::model
