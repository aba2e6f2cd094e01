// Operators that compute values: activations, arithmetic, normalization, products.
#include <algorithm>
#include <cmath>

#include "model/networks/reference.hpp"

namespace dala::test {
namespace {

template <typename Formula>
std::vector<Array> each(const ReferenceInputs& inputs, const Formula& formula) {
  Array y = *inputs[0];
  for (double& value : y.data) value = formula(value);
  return {y};
}

std::vector<Array> relu(const NetNode&, const ReferenceInputs& inputs) {
  return each(inputs, [](double x) { return std::max(x, 0.0); });
}

std::vector<Array> clip(const NetNode&, const ReferenceInputs& inputs) {
  const double low = inputs[1]->data[0];
  const double high = inputs[2]->data[0];
  return each(inputs, [=](double x) { return std::clamp(x, low, high); });
}

std::vector<Array> sigmoid(const NetNode&, const ReferenceInputs& inputs) {
  return each(inputs, [](double x) { return 1 / (1 + std::exp(-x)); });
}

std::vector<Array> hard_sigmoid(const NetNode& node, const ReferenceInputs& inputs) {
  const double alpha = attribute_or<float>(node, "alpha", 0.2F);
  const double beta = attribute_or<float>(node, "beta", 0.5F);
  return each(inputs, [=](double x) { return std::clamp(alpha * x + beta, 0.0, 1.0); });
}

std::vector<Array> hard_swish(const NetNode&, const ReferenceInputs& inputs) {
  return each(inputs, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); });
}

// The second input is broadcast to the first, or the first to the second.
template <typename Formula>
std::vector<Array> both(const ReferenceInputs& inputs, const Formula& formula) {
  const Array& a = *inputs[0];
  const Array& b = *inputs[1];
  const bool first_is_larger = a.data.size() >= b.data.size();
  Array y(first_is_larger ? a.shape : b.shape);
  const auto element = [&](const Array& from, size_t i) {
    if (from.data.size() == y.data.size()) return from.data[i];
    size_t at = 0;
    size_t stride = 1;
    for (size_t back = 1; back <= y.shape.size(); ++back) {
      const auto dim = static_cast<size_t>(y.shape[y.shape.size() - back]);
      const size_t place = i % dim;
      i /= dim;
      if (back > from.shape.size()) continue;
      const auto own = static_cast<size_t>(from.shape[from.shape.size() - back]);
      if (own > 1) at += place * stride;
      stride *= own;
    }
    return from.data[at];
  };
  for (size_t i = 0; i < y.data.size(); ++i) y.data[i] = formula(element(a, i), element(b, i));
  return {y};
}

std::vector<Array> add(const NetNode&, const ReferenceInputs& inputs) {
  return both(inputs, [](double a, double b) { return a + b; });
}

std::vector<Array> mul(const NetNode&, const ReferenceInputs& inputs) {
  return both(inputs, [](double a, double b) { return a * b; });
}

std::vector<Array> power(const NetNode&, const ReferenceInputs& inputs) {
  return both(inputs, [](double a, double b) { return std::pow(a, b); });
}

std::vector<Array> batch_normalization(const NetNode& node, const ReferenceInputs& inputs) {
  const double epsilon = attribute_or<float>(node, "epsilon", 1e-5F);
  Array y = *inputs[0];
  const auto pixels = static_cast<size_t>(extent(y.shape, 2, y.shape.size()));
  for (size_t i = 0; i < y.data.size(); ++i) {
    const size_t channel = i / pixels % static_cast<size_t>(y.shape[1]);
    const auto of = [&](size_t input) { return inputs[input]->data[channel]; };
    y.data[i] = (y.data[i] - of(3)) / std::sqrt(of(4) + epsilon) * of(1) + of(2);
  }
  return {y};
}

// The second matrix is transposed.
std::vector<Array> gemm(const NetNode&, const ReferenceInputs& inputs) {
  const Array& a = *inputs[0];
  const Array& b = *inputs[1];
  const int64_t depth = a.dim(1);
  Array y({a.dim(0), b.dim(0)});
  auto result = y.data.begin();
  for (int64_t row = 0; row < a.dim(0); ++row) {
    for (int64_t column = 0; column < b.dim(0); ++column) {
      double sum = inputs[2]->data[static_cast<size_t>(column)];
      for (int64_t k = 0; k < depth; ++k) {
        sum += a.data[static_cast<size_t>(row * depth + k)] *
               b.data[static_cast<size_t>(column * depth + k)];
      }
      *result++ = sum;
    }
  }
  return {y};
}

}  // namespace

ReferenceOps reference_formulas() {
  return {{"Relu", relu},
          {"Clip", clip},
          {"Sigmoid", sigmoid},
          {"HardSigmoid", hard_sigmoid},
          {"HardSwish", hard_swish},
          {"Add", add},
          {"Mul", mul},
          {"Pow", power},
          {"BatchNormalization", batch_normalization},
          {"Gemm", gemm}};
}

}  // namespace dala::test
