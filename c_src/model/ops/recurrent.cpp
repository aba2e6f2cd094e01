// Recurrent layers: RNN, GRU and LSTM, unrolled over the sequence. Inputs are {steps, batch,
// features}; with layout 1 the batch comes first.
#include <algorithm>
#include <cmath>

#include "model/ops/families.hpp"

namespace dala::model {
namespace {

struct Activation {
  std::string name;
  double alpha = 0;
  double beta = 0;
};

Tensor activated(OpCall& call, const Activation& how, const Tensor& x) {
  static const std::map<std::string, Arithmetic> known{{"Relu", OP_RELU},
                                                       {"Tanh", OP_TANH},
                                                       {"Sigmoid", OP_SIGMOID},
                                                       {"Affine", OP_AFFINE},
                                                       {"LeakyRelu", OP_LEAKY_RELU},
                                                       {"ThresholdedRelu", OP_THRESHOLDED_RELU},
                                                       {"HardSigmoid", OP_HARD_SIGMOID},
                                                       {"Elu", OP_ELU},
                                                       {"Softsign", OP_SOFTSIGN},
                                                       {"Softplus", OP_SOFTPLUS}};
  const auto found = known.find(how.name);
  if (found == known.end()) {
    call.unsupported(dala::text("activation ", how.name, " is not supported"));
  }
  return pointwise(call.build, found->second, {x}, how.alpha, how.beta);
}

// The state that all three layers share, for one direction.
struct Layer {
  OpCall& call;
  int64_t gates = 1;
  int64_t hidden = 0;
  int64_t batch = 0;
  Tensor weights;    // {features, gates * hidden}
  Tensor recurrent;  // {hidden, gates * hidden}
  Tensor bias;       // {gates * hidden}, of the input product
  Tensor back_bias;  // the same, of the recurrent product
  std::vector<Activation> activations;
  double clip = 0;

  Build& build() const { return call.build; }
  Tensor add(const Tensor& a, const Tensor& b) const { return pointwise(build(), OP_ADD, {a, b}); }
  Tensor mul(const Tensor& a, const Tensor& b) const { return pointwise(build(), OP_MUL, {a, b}); }
  // 1 - x
  Tensor rest(const Tensor& x) const { return pointwise(build(), OP_AFFINE, {x}, -1, 1); }
  Tensor gate(const Tensor& x, int64_t index) const {
    return part(build(), x, x.rank() - 1, index * hidden, hidden);
  }
  Tensor act(size_t index, Tensor x) const {
    if (clip > 0) {
      x = pointwise(build(), OP_CLIP,
                    {x, scalar(build(), x.type, -clip), scalar(build(), x.type, clip)});
    }
    return activated(call, activations[index], x);
  }
};

// The slice of an input for one direction, optionally transposed to be the right operand of a
// product.
Tensor direction_of(OpCall& call, size_t input, int64_t direction, bool transposed) {
  const Tensor& all = call.in(input);
  Tensor one = part(call.build, all, 0, direction, 1);
  one = Build::reshaped(one, Shape(all.shape.begin() + 1, all.shape.end()));
  return transposed ? transpose(call.build, one, {1, 0}) : one;
}

std::vector<Activation> activations_of(OpCall& call, const std::vector<std::string>& defaults,
                                       int64_t direction) {
  const std::vector<std::string> names = call.texts("activations");
  const std::vector<double> alphas = call.reals("activation_alpha");
  const std::vector<double> betas = call.reals("activation_beta");
  std::vector<Activation> result;
  for (size_t i = 0; i < defaults.size(); ++i) {
    const size_t at = static_cast<size_t>(direction) * defaults.size() + i;
    Activation activation{at < names.size() ? names[at] : defaults[i], 0, 0};
    const std::string& name = activation.name;
    const double alpha = name == "LeakyRelu" ? 0.01 : name == "HardSigmoid" ? 0.2 : 1;
    activation.alpha = at < alphas.size() ? alphas[at] : alpha;
    activation.beta = at < betas.size() ? betas[at] : name == "HardSigmoid" ? 0.5 : 0;
    result.push_back(activation);
  }
  return result;
}

Tensor rnn_step(const Layer& layer, const Tensor& x, const Tensor& h) {
  const Tensor back = layer.add(matmul(layer.build(), h, layer.recurrent), layer.back_bias);
  return layer.act(0, layer.add(x, back));
}

Tensor gru_step(const Layer& layer, const Tensor& x, const Tensor& h) {
  Build& build = layer.build();
  const int64_t size = layer.hidden;
  const bool reset_last = layer.call.integer("linear_before_reset", 0) != 0;
  const auto back = [&](const Tensor& state, int64_t gate) {
    const Tensor weights = part(build, layer.recurrent, 1, gate * size, size);
    return layer.add(matmul(build, state, weights),
                     part(build, layer.back_bias, 0, gate * size, size));
  };
  const Tensor update = layer.act(0, layer.add(layer.gate(x, 0), back(h, 0)));
  const Tensor reset = layer.act(0, layer.add(layer.gate(x, 1), back(h, 1)));
  const Tensor memory = reset_last ? layer.mul(reset, back(h, 2)) : back(layer.mul(reset, h), 2);
  const Tensor candidate = layer.act(1, layer.add(layer.gate(x, 2), memory));
  return layer.add(layer.mul(layer.rest(update), candidate), layer.mul(update, h));
}

// Gates in the order input, output, forget, cell.
void lstm_step(const Layer& layer, const Tensor& x, const std::optional<Tensor>& peepholes,
               Tensor& h, Tensor& c) {
  const Tensor sum =
      layer.add(x, layer.add(matmul(layer.build(), h, layer.recurrent), layer.back_bias));
  const auto peep = [&](const Tensor& gate, int64_t index, const Tensor& cell) {
    if (!peepholes) return gate;
    const Tensor weights = part(layer.build(), *peepholes, 0, index * layer.hidden, layer.hidden);
    return layer.add(gate, layer.mul(weights, cell));
  };
  const Tensor input = layer.act(0, peep(layer.gate(sum, 0), 0, c));
  const Tensor forget = layer.call.integer("input_forget", 0) != 0
                            ? layer.rest(input)
                            : layer.act(0, peep(layer.gate(sum, 2), 2, c));
  const Tensor cell = layer.act(1, layer.gate(sum, 3));
  c = layer.add(layer.mul(forget, c), layer.mul(input, cell));
  const Tensor output = layer.act(0, peep(layer.gate(sum, 1), 1, c));
  h = layer.mul(output, activated(layer.call, layer.activations[2], c));
}

Layer layer_of(OpCall& call, int64_t gates, int64_t direction, int64_t batch,
               const std::vector<std::string>& defaults) {
  Layer layer{call, gates, 0, batch, {}, {}, {}, {}, {}, call.real("clip", 0)};
  const Tensor& recurrent = call.in(2);
  if (recurrent.rank() != 3 || call.in(1).rank() != 3 ||
      recurrent.dim(1) != gates * recurrent.dim(2) || call.in(1).dim(1) != recurrent.dim(1)) {
    throw Error(Reason::shape_mismatch,
                dala::text("recurrent weights of shape ", to_string(recurrent.shape),
                           " do not fit weights of shape ", to_string(call.in(1).shape), " and ",
                           gates, " gates"));
  }
  layer.hidden = recurrent.dim(2);
  layer.weights = direction_of(call, 1, direction, true);
  layer.recurrent = direction_of(call, 2, direction, true);
  const int64_t width = gates * layer.hidden;
  if (call.has(3)) {
    const Tensor both = direction_of(call, 3, direction, false);
    if (both.shape != Shape{2 * width}) {
      throw Error(Reason::shape_mismatch, dala::text("bias has shape ", to_string(both.shape),
                                                     ", expected ", to_string(Shape{2 * width})));
    }
    layer.bias = part(call.build, both, 0, 0, width);
    layer.back_bias = part(call.build, both, 0, width, width);
  } else {
    layer.bias = layer.back_bias = filled(call.build, call.in(0).type, {width}, 0);
  }
  layer.activations = activations_of(call, defaults, direction);
  return layer;
}

// A mask {batch, 1} of the sequences that have not ended at that step.
Tensor alive_at(OpCall& call, const std::vector<int64_t>& lengths, int64_t step) {
  auto mask = std::make_shared<HostTensor>(ElementType::boolean,
                                           Shape{static_cast<int64_t>(lengths.size()), 1});
  for (size_t b = 0; b < lengths.size(); ++b) {
    mask->data<uint8_t>()[b] = step < lengths[b] ? 1 : 0;
  }
  return call.build.constant(mask);
}

void recurrent_layer(OpCall& call, int64_t gates, const std::vector<std::string>& defaults) {
  Build& build = call.build;
  const bool batch_first = call.integer("layout", 0) != 0;
  Tensor x = call.in(0);
  if (x.rank() != 3) {
    throw Error(Reason::shape_mismatch,
                dala::text("input 0 has shape ", to_string(x.shape), ", expected 3 dimensions"));
  }
  if (batch_first) x = transpose(build, x, {1, 0, 2});
  const int64_t steps = x.dim(0);
  const int64_t batch = x.dim(1);
  const std::string way = call.text("direction", "forward");
  const int64_t directions = way == "bidirectional" ? 2 : 1;
  const bool is_lstm = gates == 4;
  std::vector<int64_t> lengths;
  if (call.has(4)) lengths = build.integers(call.in(4));
  if (call.in(1).rank() != 3 || call.in(1).dim(0) != directions || x.dim(2) != call.in(1).dim(2) ||
      call.in(2).rank() != 3 || call.in(2).dim(0) != directions ||
      (!lengths.empty() && static_cast<int64_t>(lengths.size()) != batch)) {
    throw Error(Reason::shape_mismatch,
                dala::text("weights of shape ", to_string(call.in(1).shape), " and ",
                           to_string(call.in(2).shape), ", with ", lengths.size(),
                           " sequence lengths, do not fit an input of shape ", to_string(x.shape)));
  }

  std::vector<Tensor> sequences;  // of each direction, {steps, 1, batch, hidden}
  std::vector<Tensor> last_states;
  std::vector<Tensor> last_cells;
  for (int64_t direction = 0; direction < directions; ++direction) {
    const Layer layer = layer_of(call, gates, direction, batch, defaults);
    const Shape state{batch, layer.hidden};
    const auto initial = [&](size_t index) {
      if (!call.has(index)) return filled(build, x.type, state, 0);
      Tensor given = call.in(index);
      if (batch_first) given = transpose(build, given, {1, 0, 2});
      if (given.shape != Shape{directions, batch, layer.hidden}) {
        throw Error(Reason::shape_mismatch,
                    dala::text("initial state has shape ", to_string(given.shape), ", expected ",
                               to_string(Shape{directions, batch, layer.hidden})));
      }
      return Build::reshaped(part(build, given, 0, direction, 1), state);
    };
    Tensor h = initial(5);
    Tensor c = is_lstm ? initial(6) : h;
    std::optional<Tensor> peepholes;
    if (is_lstm && call.has(7)) peepholes = direction_of(call, 7, direction, false);
    // The products with the inputs do not depend on the state, so one product covers all steps.
    const Tensor rows = Build::reshaped(x, {steps * batch, x.dim(2)});
    const Tensor products =
        Build::reshaped(layer.add(matmul(build, rows, layer.weights), layer.bias),
                        {steps, batch, gates * layer.hidden});
    const bool backwards = way == "reverse" || direction == 1;
    std::vector<Tensor> outputs(static_cast<size_t>(steps));
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t step = backwards ? steps - 1 - i : i;
      const Tensor input =
          Build::reshaped(part(build, products, 0, step, 1), {batch, gates * layer.hidden});
      Tensor next = h;
      Tensor next_cell = c;
      if (is_lstm) {
        lstm_step(layer, input, peepholes, next, next_cell);
      } else {
        next = gates == 1 ? rnn_step(layer, input, h) : gru_step(layer, input, h);
      }
      Tensor shown = next;
      if (!lengths.empty()) {
        const Tensor alive = alive_at(call, lengths, step);
        shown = choose(build, alive, next, scalar(build, x.type, 0));
        next = choose(build, alive, next, h);
        if (is_lstm) next_cell = choose(build, alive, next_cell, c);
      }
      h = next;
      c = next_cell;
      outputs[static_cast<size_t>(step)] = Build::reshaped(shown, {1, 1, batch, layer.hidden});
    }
    if (steps > 0) sequences.push_back(concat(build, outputs, 0));
    last_states.push_back(Build::reshaped(h, {1, batch, layer.hidden}));
    last_cells.push_back(Build::reshaped(c, {1, batch, layer.hidden}));
  }
  if (sequences.empty()) {
    throw Error(Reason::shape_mismatch, "the sequence has no steps, expected at least 1");
  }
  const auto set_state = [&](size_t index, const std::vector<Tensor>& states) {
    const Tensor all = concat(build, states, 0);
    call.set(index, batch_first ? transpose(build, all, {1, 0, 2}) : all);
  };
  const Tensor sequence = concat(build, sequences, 1);
  call.set(0, batch_first ? transpose(build, sequence, {2, 0, 1, 3}) : sequence);
  set_state(1, last_states);
  if (is_lstm) set_state(2, last_cells);
}

void rnn(OpCall& call) { recurrent_layer(call, 1, {"Tanh"}); }
void gru(OpCall& call) { recurrent_layer(call, 3, {"Sigmoid", "Tanh"}); }
void lstm(OpCall& call) { recurrent_layer(call, 4, {"Sigmoid", "Tanh", "Tanh"}); }

}  // namespace

Operators recurrent_operators() {
  return {
      {"GRU", gru},
      {"LSTM", lstm},
      {"RNN", rnn},
  };
}

}  // namespace dala::model
