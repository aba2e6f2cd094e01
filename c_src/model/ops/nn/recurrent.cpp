// Recurrent layers. With constant weights, which the optimizer packs, a layer is one launch of the
// kernel `recurrent`; RNN, GRU and LSTM with computed weights are unrolled over the sequence.
// Inputs are {steps, batch, features}; with layout 1 the batch comes first.
#include <algorithm>
#include <cmath>

#include "model/ops/families.hpp"
#include "model/passes/pack_recurrent.hpp"

namespace dala::model {
namespace {

using Activation = RecurrentActivation;

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
    unsupported(dala::text("activation ", how.name, " is not supported"));
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
  const auto all = recurrent_activations(call.node, defaults, direction + 1);
  return {all.end() - static_cast<long>(defaults.size()), all.end()};
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
  // Not an attribute of ONNX: the importer of TFLite adds it.
  if (const double clip = layer.call.real("cell_clip", 0); clip > 0) {
    c = pointwise(layer.build(), OP_CLIP,
                  {c, scalar(layer.build(), c.type, -clip), scalar(layer.build(), c.type, clip)});
  }
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

void rnn(OpCall& call) { recurrent_layer(call, 1, default_activations(1)); }
void gru(OpCall& call) { recurrent_layer(call, 3, default_activations(3)); }
void lstm(OpCall& call) { recurrent_layer(call, 4, default_activations(4)); }

// The layer with packed weights; pack_recurrent defines its inputs and attributes.
struct Packed {
  int64_t steps = 0;
  int64_t batch = 0;
  int64_t directions = 1;
  int64_t hidden = 0;
  bool batch_first = false;
};

Tensor initial_state(OpCall& call, const Packed& sizes, size_t index) {
  const Shape shape{sizes.directions, sizes.batch, sizes.hidden};
  if (!call.has(index)) return filled(call.build, call.in(0).type, shape, 0);
  Tensor given = call.in(index);
  if (sizes.batch_first && given.rank() == 3) given = transpose(call.build, given, {1, 0, 2});
  if (given.shape != shape) {
    throw Error(Reason::shape_mismatch,
                dala::text("initial state has shape ", to_string(given.shape), ", expected ",
                           to_string(shape)));
  }
  return given;
}

// The states after the last step. Without lengths of sequences they are part of the outputs.
Tensor last_states(OpCall& call, const Packed& sizes, const Tensor& sequence, bool backwards) {
  std::vector<Tensor> each;
  for (int64_t d = 0; d < sizes.directions; ++d) {
    const int64_t step = d == 1 || backwards ? 0 : sizes.steps - 1;
    const Tensor last = part(call.build, part(call.build, sequence, 0, step, 1), 1, d, 1);
    each.push_back(Build::reshaped(last, {1, sizes.batch, sizes.hidden}));
  }
  return concat(call.build, each, 0);
}

void packed_layer(OpCall& call) {
  Build& build = call.build;
  Tensor x = call.in(0);
  const Tensor& weights = call.in(1);
  const Tensor& of_state = call.in(3);
  Packed sizes;
  sizes.batch_first = call.integer("layout", 0) != 0;
  if (x.rank() == 3 && sizes.batch_first) x = transpose(build, x, {1, 0, 2});
  if (x.rank() != 3 || x.dim(2) != weights.dim(0)) {
    throw Error(Reason::shape_mismatch,
                dala::text("input 0 has shape ", to_string(call.in(0).shape),
                           ", expected 3 dimensions, the last of ", weights.dim(0)));
  }
  sizes.steps = x.dim(0);
  sizes.batch = x.dim(1);
  sizes.directions = of_state.dim(0);
  sizes.hidden = of_state.dim(2);
  if (sizes.steps < 1) {
    throw Error(Reason::shape_mismatch, "the sequence has no steps, expected at least 1");
  }
  const std::string kind = call.text("kind", "");
  const bool lstm = kind == "lstm";
  const bool backwards = call.integer("backwards", 0) != 0;
  const bool states = call.wants(2) || (call.wants(1) && call.has(5));

  const Tensor rows = Build::reshaped(x, {sizes.steps * sizes.batch, x.dim(2)});
  const Tensor products = matmul(build, rows, weights, call.in(2));
  const Tensor h = initial_state(call, sizes, 6);
  std::vector<Tensor> inputs{Build::reshaped(products, {sizes.steps, sizes.batch, weights.dim(1)}),
                             of_state, h, lstm ? initial_state(call, sizes, 7) : h, call.in(4)};
  if (call.has(5)) {
    if (call.in(5).shape != Shape{sizes.batch}) {
      throw Error(Reason::shape_mismatch,
                  dala::text("sequence lengths have shape ", to_string(call.in(5).shape),
                             ", expected ", to_string(Shape{sizes.batch})));
    }
    inputs.push_back(convert(build, call.in(5), ElementType::i32));
  }
  const int64_t more = !states ? 0 : lstm ? 2 : 1;
  const Tensor all = build.kernel("recurrent", inputs, x.type,
                                  {sizes.steps + more, sizes.directions, sizes.batch, sizes.hidden},
                                  {{"kind", kind},
                                   {"backwards", backwards},
                                   {"states", states},
                                   {"peepholes", call.integer("peepholes", 0) != 0},
                                   {"input_forget", call.integer("input_forget", 0) != 0},
                                   {"clip", call.real("clip", 0)},
                                   {"cell_clip", call.real("cell_clip", 0)},
                                   {"activations", call.text("activations", "")},
                                   {"alphas", call.reals("alphas")},
                                   {"betas", call.reals("betas")}});
  const auto set_state = [&](size_t index, const Tensor& state) {
    call.set(index, sizes.batch_first ? transpose(build, state, {1, 0, 2}) : state);
  };
  const Shape state_shape{sizes.directions, sizes.batch, sizes.hidden};
  if (call.wants(0)) {
    const Tensor sequence = states ? part(build, all, 0, 0, sizes.steps) : all;
    call.set(0, sizes.batch_first ? transpose(build, sequence, {2, 0, 1, 3}) : sequence);
  }
  if (call.wants(1)) {
    set_state(1, states ? Build::reshaped(part(build, all, 0, sizes.steps, 1), state_shape)
                        : last_states(call, sizes, all, backwards));
  }
  if (call.wants(2)) {
    set_state(2, Build::reshaped(part(build, all, 0, sizes.steps + 1, 1), state_shape));
  }
}

}  // namespace

Operators recurrent_operators() {
  return {
      {"GRU", gru},
      {"LSTM", lstm},
      {"RNN", rnn},
      {"RecurrentLayer", packed_layer},
  };
}

}  // namespace dala::model
