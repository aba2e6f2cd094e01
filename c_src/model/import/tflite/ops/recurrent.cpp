// Recurrent layers over sequences. Their states are variables: tensors that keep their values.
#include "model/import/tflite/schema.hpp"
#include "model/import/tflite/table.hpp"

namespace dala::model::tflite {
namespace {

// Weights of the gates, stacked as ONNX has them: {1, rows, columns}, or {1, rows} of vectors. A
// tensor that is kNone is zeros, and a negative factor turns the input gate of a layer that has
// none into 1 - forget gate, since 1 - sigmoid(x) is sigmoid(-x).
struct Part {
  TensorId tensor = kNone;
  float factor = 1;
};

TensorId stacked(const OpCall& call, const std::vector<Part>& parts, int64_t rows,
                 int64_t columns) {
  const auto count = static_cast<int64_t>(parts.size());
  const int64_t each = rows * std::max<int64_t>(1, columns);
  Shape shape{1, count * rows};
  if (columns > 0) shape.push_back(columns);
  auto all = std::make_shared<HostTensor>(ElementType::f32, shape);
  for (int64_t p = 0; p < count; ++p) {
    const Part& part = parts[static_cast<size_t>(p)];
    if (part.tensor == kNone) continue;
    const HostTensorPtr known = call.builder.known(part.tensor);
    if (known == nullptr) unsupported("weights that are not constant");
    if (known->count() != each) {
      reject(text("weights of ", known->count(), " elements, expected ", each));
    }
    for (int64_t i = 0; i < each; ++i) {
      all->data<float>()[p * each + i] = part.factor * static_cast<float>(known->number(i));
    }
  }
  return call.builder.constant(std::move(all));
}

std::string activation_name(int64_t code) {
  switch (static_cast<ActivationFunction>(code)) {
    case ActivationFunction::tanh:
      return "Tanh";
    case ActivationFunction::relu:
      return "Relu";
    case ActivationFunction::none:
      return "Affine";
    default:
      unsupported(text("the activation function ", code));
  }
}

Attribute texts(std::vector<std::string> values) {
  Attribute attribute;
  attribute.texts = std::move(values);
  return attribute;
}

// The shape of a weight matrix {rows, columns}.
std::pair<int64_t, int64_t> matrix(const OpCall& call, size_t index) {
  const Shape& shape = call.in_info(index).shape;
  if (shape.size() != 2) {
    reject(text("input ", index, " has shape ", to_string(shape), ", expected 2 dimensions"));
  }
  return {shape[0], shape[1]};
}

// A state {batch, units} with a dimension for the direction, which ONNX has.
TensorId with_direction(OpCall& call, size_t index, bool time_major) {
  const int64_t units = call.in_info(index).shape.back();
  return time_major ? call.builder.reshape(call.in(index), {1, -1, units})
                    : call.builder.reshape(call.in(index), {-1, 1, units});
}

void update(OpCall& call, size_t index, TensorId state) {
  const int64_t units = call.in_info(index).shape.back();
  call.around->update(call.op.inputs[index], call.builder.reshape(state, {-1, units}));
}

// {batch, time, 1, units} or, time first, {time, 1, batch, units} without the direction.
TensorId without_direction(OpCall& call, TensorId y, int64_t units, bool time_major) {
  if (!time_major) return call.builder.reshape(y, {0, 0, units});
  return call.builder.reshape(call.builder.transpose(y, {0, 2, 1, 3}), {0, 0, units});
}

// Gates of ONNX: input, output, forget, cell; of TFLite: input, forget, cell, output.
void sequence_lstm(OpCall& call) {
  enum Inputs : size_t {
    kInput = 0,
    kOfInput = 1,
    kOfState = 5,
    kPeepholes = 9,
    kBiases = 12,
    kProjection = 16,
    kState = 18,
    kCell = 19,
    kNorms = 20,
  };
  if (call.has(kProjection)) unsupported("a projection");
  for (size_t i = kNorms; i < kNorms + 4; ++i) {
    if (call.has(i)) unsupported("layer normalization");
  }
  // Named functions rather than structured bindings: lambdas below need them.
  const std::pair<int64_t, int64_t> sizes = matrix(call, kOfInput + 1);
  const int64_t units = sizes.first;
  const bool coupled = !call.has(kOfInput);
  const auto gates = [&](size_t first) {
    return std::vector<Part>{
        coupled ? Part{call.optional(first + 1), -1} : Part{call.optional(first), 1},
        {call.optional(first + 3), 1},
        {call.optional(first + 1), 1},
        {call.optional(first + 2), 1}};
  };
  GraphBuilder& builder = call.builder;
  std::vector<Part> biases = gates(kBiases);
  for (size_t g = 0; g < 4; ++g) biases.push_back({});
  const bool time_major = call.flag(option::kLstmTimeMajor);
  std::vector<TensorId> inputs{call.in(kInput),
                               stacked(call, gates(kOfInput), units, sizes.second),
                               stacked(call, gates(kOfState), units, units),
                               stacked(call, biases, units, 0),
                               kNone,
                               with_direction(call, kState, time_major),
                               with_direction(call, kCell, time_major)};
  if (call.has(kPeepholes + 1)) {
    const TensorId forget = call.in(kPeepholes + 1);
    inputs.push_back(stacked(call,
                             {coupled ? Part{forget, -1} : Part{call.optional(kPeepholes), 1},
                              {call.optional(kPeepholes + 2), 1},
                              {forget, 1}},
                             units, 0));
  }
  const std::string activation = activation_name(call.byte(option::kLstmActivation));
  const auto results =
      builder.add_many("LSTM", std::move(inputs), 3,
                       {{"hidden_size", attr::integer(units)},
                        {"layout", attr::integer(time_major ? 0 : 1)},
                        {"activations", texts({"Sigmoid", activation, activation})},
                        {"cell_clip", attr::real(call.real(option::kLstmCellClip))}});
  call.set(0, without_direction(call, results[0], units, time_major));
  update(call, kState, results[1]);
  update(call, kCell, results[2]);
}

void sequence_rnn(OpCall& call) {
  const std::pair<int64_t, int64_t> sizes = matrix(call, 1);
  const int64_t units = sizes.first;
  const bool time_major = call.flag(option::kRnnTimeMajor);
  const auto results = call.builder.add_many(
      "RNN",
      {call.in(0), stacked(call, {{call.in(1), 1}}, units, sizes.second),
       stacked(call, {{call.in(2), 1}}, units, units),
       stacked(call, {{call.optional(3), 1}, {}}, units, 0), kNone,
       with_direction(call, 4, time_major)},
      2,
      {{"hidden_size", attr::integer(units)},
       {"layout", attr::integer(time_major ? 0 : 1)},
       {"activations", texts({activation_name(call.byte(option::kRnnActivation))})}});
  call.set(0, without_direction(call, results[0], units, time_major));
  update(call, 4, results[1]);
}

}  // namespace

Operators recurrent_operators() {
  return {
      {"UNIDIRECTIONAL_SEQUENCE_LSTM", sequence_lstm},
      {"UNIDIRECTIONAL_SEQUENCE_RNN", sequence_rnn},
  };
}

}  // namespace dala::model::tflite
