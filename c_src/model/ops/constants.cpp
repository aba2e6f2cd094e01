// Operators that create tensors from attributes, shapes and scalars: constants, ranges, windows.
#include <cmath>
#include <numbers>

#include "model/ops/families.hpp"

namespace dala::model {
namespace {

template <typename T>
HostTensorPtr list_of(ElementType type, const std::vector<T>& values) {
  auto tensor = std::make_shared<HostTensor>(type, Shape{static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) {
    tensor->set(static_cast<int64_t>(i), static_cast<double>(values[i]));
  }
  return tensor;
}

void constant(OpCall& call) {
  Build& build = call.build;
  const auto& attributes = call.node.attributes;
  if (const auto found = attributes.find("value");
      found != attributes.end() && found->second.tensor != nullptr) {
    call.set(0, build.constant(found->second.tensor));
  } else if (call.has_attribute("value_float")) {
    call.set(0, scalar(build, ElementType::f32, call.real("value_float", 0)));
  } else if (call.has_attribute("value_int")) {
    const Tensor list = build.constant(vector_of({call.integer("value_int", 0)}));
    call.set(0, Build::reshaped(list, {}));
  } else if (call.has_attribute("value_floats")) {
    call.set(0, build.constant(list_of(ElementType::f32, call.reals("value_floats"))));
  } else if (call.has_attribute("value_ints")) {
    call.set(0, build.constant(vector_of(call.integers("value_ints"))));
  } else {
    unsupported("a constant that is not numeric is not supported");
  }
}

void constant_of_shape(OpCall& call) {
  const Shape shape = call.build.integers(call.in(0));
  const auto found = call.node.attributes.find("value");
  if (found == call.node.attributes.end() || found->second.tensor == nullptr) {
    call.set(0, filled(call.build, ElementType::f32, shape, 0));
    return;
  }
  const HostTensor& one = *found->second.tensor;
  if (one.count() != 1) {
    reject(text("attribute value has ", one.count(), " elements, expected 1"));
  }
  Tensor output = call.build.result({}, one.type, shape);
  call.build.fill(output, dala::Value{one.bytes});
  call.set(0, output);
}

void shape_of(OpCall& call) {
  const Shape& shape = call.in(0).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const auto bound = [rank](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = bound(call.integer("start", 0));
  const int64_t end = std::max(start, bound(call.integer("end", rank)));
  call.set(0, call.build.constant(
                  vector_of(std::vector<int64_t>(shape.begin() + start, shape.begin() + end))));
}

void size_of_tensor(OpCall& call) {
  call.set(0, Build::reshaped(call.build.constant(vector_of({call.in(0).count()})), {}));
}

void range(OpCall& call) {
  Build& build = call.build;
  const ElementType type = call.in(0).type;
  const HostTensor& start = build.values(call.in(0));
  const HostTensor& limit = build.values(call.in(1));
  const HostTensor& delta = build.values(call.in(2));
  if (start.count() != 1 || limit.count() != 1 || delta.count() != 1 || delta.number(0) == 0) {
    throw Error(Reason::shape_mismatch,
                "start, limit and delta must have one element each, and delta must not be 0");
  }
  constexpr double kMaxCount = 1 << 22;
  const double steps = std::ceil((limit.number(0) - start.number(0)) / delta.number(0));
  if (!(steps <= kMaxCount)) {
    throw Error(Reason::shape_mismatch,
                text("the range has ", steps, " elements, at most ", kMaxCount, " are supported"));
  }
  const auto count = static_cast<int64_t>(std::max(0.0, steps));
  auto tensor = std::make_shared<HostTensor>(type, Shape{count});
  for (int64_t i = 0; i < count; ++i) {
    if (is_float(type)) {
      tensor->set(i, start.number(0) + static_cast<double>(i) * delta.number(0));
      continue;
    }
    // Unsigned arithmetic, whose overflow is defined.
    const auto whole =
        static_cast<int64_t>(static_cast<uint64_t>(start.integer(0)) +
                             static_cast<uint64_t>(i) * static_cast<uint64_t>(delta.integer(0)));
    if (storage_of(type) == DType::s64) {
      tensor->data<int64_t>()[i] = whole;
    } else {
      tensor->set(i, static_cast<double>(whole));
    }
  }
  call.set(0, build.constant(tensor));
}

void eye_like(OpCall& call) {
  const Tensor& like = call.in(0);
  if (like.rank() != 2) {
    throw Error(Reason::shape_mismatch,
                text("input 0 has shape ", to_string(like.shape), ", expected 2 dimensions"));
  }
  const ElementType type =
      call.has_attribute("dtype") ? element_type(call.integer("dtype", 1)) : like.type;
  const int64_t diagonal = call.integer("k", 0);
  if (like.count() > (int64_t{1} << 22)) {
    throw Error(Reason::shape_mismatch,
                text("shape ", to_string(like.shape), " is too large for EyeLike"));
  }
  auto tensor = std::make_shared<HostTensor>(type, like.shape);
  for (int64_t row = 0; row < like.dim(0); ++row) {
    // A diagonal far outside of the matrix would overflow the sum.
    const int64_t column =
        diagonal >= -like.dim(0) && diagonal <= like.dim(1) ? row + diagonal : -1;
    if (column >= 0 && column < like.dim(1)) tensor->set(row * like.dim(1) + column, 1);
  }
  call.set(0, call.build.constant(tensor));
}

// Window functions for signals: sums of cosines over the period.
void window(OpCall& call, double a0, double a1, double a2) {
  const int64_t size = call.build.values(call.in(0)).integer(0);
  constexpr int64_t kMaxWindow = int64_t{1} << 22;
  if (size < 0 || size > kMaxWindow) {
    throw Error(Reason::shape_mismatch,
                text("the window size is ", size, ", expected 0 to ", kMaxWindow));
  }
  const ElementType type = element_type(call.integer("output_datatype", 1));
  const bool periodic = call.integer("periodic", 1) != 0;
  const auto period = static_cast<double>(periodic ? size : size - 1);
  auto tensor = std::make_shared<HostTensor>(type, Shape{size});
  for (int64_t i = 0; i < size; ++i) {
    const double at = 2 * std::numbers::pi * static_cast<double>(i) / period;
    tensor->set(i, a0 - a1 * std::cos(at) + a2 * std::cos(2 * at));
  }
  call.set(0, call.build.constant(tensor));
}

void hann_window(OpCall& call) { window(call, 0.5, 0.5, 0); }
void hamming_window(OpCall& call) { window(call, 25.0 / 46, 1 - 25.0 / 46, 0); }
void blackman_window(OpCall& call) { window(call, 0.42, 0.5, 0.08); }

}  // namespace

Operators constant_operators() {
  return {
      {"BlackmanWindow", blackman_window},
      {"Constant", constant},
      {"ConstantOfShape", constant_of_shape},
      {"EyeLike", eye_like},
      {"HammingWindow", hamming_window},
      {"HannWindow", hann_window},
      {"Range", range},
      {"Shape", shape_of},
      {"Size", size_of_tensor},
  };
}

}  // namespace dala::model
