// Casts, and operators on shapes.
#include "model/import/tflite/table.hpp"

namespace dala::model::tflite {
namespace {

// A quantized input is cast from its integers.
void cast(OpCall& call) {
  const TensorInfo& to = call.out_info(0);
  if (to.quantized()) unsupported("a quantized result");
  const bool half = to.type == ElementType::f16 || to.type == ElementType::bf16;
  call.set(0,
           call.builder.add(
               "Cast", {call.raw(0)},
               {{"to", attr::integer(static_cast<int64_t>(half ? ElementType::f32 : to.type))}}));
}

void shape(OpCall& call) {
  const TensorId dims = call.builder.add("Shape", {call.in(0)});
  call.set(0, call.builder.cast(dims, call.out_info(0).type));
}

void rank(OpCall& call) {
  const auto count = static_cast<double>(call.in_info(0).shape.size());
  call.set(0, call.builder.scalar(count, ElementType::i32));
}

// Inputs: the shape and the value.
void fill(OpCall& call) {
  const TensorId dims = call.builder.cast(call.in(0), ElementType::i64);
  call.set(0, call.builder.add("Expand", {call.in(1), dims}));
}

void zeros_like(OpCall& call) {
  const TensorInfo& info = call.in_info(0);
  const ElementType type = info.quantized() ? ElementType::f32 : info.type;
  const TensorId dims = call.builder.add("Shape", {call.in(0)});
  call.set(0, call.builder.add("Expand", {call.builder.scalar(0, type), dims}));
}

void range(OpCall& call) {
  call.set(0, call.builder.add("Range", {call.in(0), call.in(1), call.in(2)}));
}

}  // namespace

Operators shape_operators() {
  return {
      {"CAST", cast},   {"FILL", fill, Keeps::values},
      {"RANGE", range}, {"RANK", rank},
      {"SHAPE", shape}, {"ZEROS_LIKE", zeros_like, Keeps::values},
  };
}

}  // namespace dala::model::tflite
