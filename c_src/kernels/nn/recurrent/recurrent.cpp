#include "kernels/nn/recurrent/recurrent.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/nn/recurrent/recurrent_args.h"
#include "kernels/planner.hpp"

namespace dala {
namespace {

constexpr std::array<const char*, 4> kKinds{"rnn", "gru", "gru_linear", "lstm"};
constexpr std::array<const char*, 11> kCurves{
    "sigmoid",      "tanh", "relu",     "affine",   "leaky_relu", "thresholded_relu",
    "hard_sigmoid", "elu",  "softsign", "softplus", "scaled_tanh"};
constexpr size_t kCurvesPerDirection = 3;

enum Input : size_t { kProducts, kWeights, kFirstH, kFirstC, kExtra, kLengths };

int32_t kind_of(const Call& call) {
  const auto* const found = std::find(kKinds.begin(), kKinds.end(), call.choice("kind"));
  return static_cast<int32_t>(found - kKinds.begin());
}

std::vector<std::string> default_curves(int32_t kind) {
  if (kind == RECURRENT_RNN) return {"tanh"};
  if (kind == RECURRENT_LSTM) return {"sigmoid", "tanh", "tanh"};
  return {"sigmoid", "tanh"};
}

// Comma-separated names, as many per direction as a layer of that kind has.
std::vector<std::string> curve_names(const Call& call, int32_t kind, int64_t directions) {
  const std::vector<std::string> usual = default_curves(kind);
  std::vector<std::string> names;
  std::istringstream list(call.choice("activations"));
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  if (names.empty()) {
    for (int64_t d = 0; d < directions; ++d) names.insert(names.end(), usual.begin(), usual.end());
  }
  const size_t wanted = usual.size() * static_cast<size_t>(directions);
  if (names.size() != wanted) {
    throw Error(Reason::invalid_param,
                text("recurrent has ", names.size(), " activations, expected ", wanted, " for its ",
                     directions, directions == 1 ? " direction" : " directions"));
  }
  for (const std::string& name : names) {
    if (std::find(kCurves.begin(), kCurves.end(), name) != kCurves.end()) continue;
    throw Error(Reason::invalid_param, text("recurrent has no activation \"", name, "\""));
  }
  return names;
}

void need_shape(const Call& call, size_t index, const Shape& expected) {
  if (call.inputs[index].shape == expected) return;
  throw Error(Reason::shape_mismatch,
              text("input ", index, " of recurrent has shape ", to_string(call.inputs[index].shape),
                   ", expected ", to_string(expected)));
}

Recurrence layer_of(const Call& call) {
  const Shape& products = call.inputs[kProducts].shape;
  const Shape& weights = call.inputs[kWeights].shape;
  if (products.size() != 3 || weights.size() != 4 || weights[0] < 1 || weights[0] > 2 ||
      products[0] < 1 || weights[2] < 1) {
    throw Error(
        Reason::shape_mismatch,
        text("recurrent has products of shape ", to_string(products), " and weights of shape ",
             to_string(weights),
             ", expected {steps, batch, columns} and {directions, tiles, hidden, columns}"));
  }
  Recurrence layer;
  layer.kind = kind_of(call);
  layer.steps = products[0];
  layer.batch = products[1];
  layer.directions = weights[0];
  layer.tiles = weights[1];
  layer.hidden = weights[2];
  layer.backwards = call.flag("backwards") ? 1 : 0;
  layer.has_lengths = call.inputs.size() > kLengths ? 1 : 0;
  layer.has_peepholes = call.flag("peepholes") ? 1 : 0;
  layer.input_forget = call.flag("input_forget") ? 1 : 0;
  layer.states = call.flag("states") ? 1 : 0;
  layer.clip = static_cast<float>(call.number("clip"));
  layer.cell_clip = static_cast<float>(call.number("cell_clip"));
  const std::vector<std::string> names = curve_names(call, layer.kind, layer.directions);
  const std::vector<double> alphas = call.numbers("alphas");
  const std::vector<double> betas = call.numbers("betas");
  const size_t each = names.size() / static_cast<size_t>(layer.directions);
  for (size_t i = 0; i < names.size(); ++i) {
    const size_t at = i / each * kCurvesPerDirection + i % each;
    const auto* const found = std::find(kCurves.begin(), kCurves.end(), names[i]);
    layer.curves[at] = static_cast<int32_t>(found - kCurves.begin());
    layer.alphas[at] = i < alphas.size() ? static_cast<float>(alphas[i]) : 1.0F;
    layer.betas[at] = i < betas.size() ? static_cast<float>(betas[i]) : 0.0F;
  }
  return layer;
}

void check_recurrent(const Call& call) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const DType expected = i == kLengths ? DType::s32 : DType::f32;
    if (call.inputs[i].dtype == expected) continue;
    throw Error(Reason::dtype_mismatch,
                text("input ", i, " of recurrent is ", to_string(call.inputs[i].dtype),
                     ", expected ", to_string(expected)));
  }
  const Recurrence layer = layer_of(call);
  const int64_t tiles = recurrent_tiles(layer.hidden);
  const int64_t columns = recurrent_gates(call.choice("kind")) * RECURRENT_TILE;
  need_shape(call, kWeights, {layer.directions, tiles, layer.hidden, columns});
  need_shape(call, kProducts, {layer.steps, layer.batch, layer.directions * tiles * columns});
  need_shape(call, kFirstH, {layer.directions, layer.batch, layer.hidden});
  need_shape(call, kFirstC, {layer.directions, layer.batch, layer.hidden});
  need_shape(call, kExtra, {layer.directions, tiles, 3, RECURRENT_TILE});
  if (layer.has_lengths != 0) need_shape(call, kLengths, {layer.batch});
  const int64_t states = layer.states == 0 ? 0 : layer.kind == RECURRENT_LSTM ? 2 : 1;
  need_output_dtype("recurrent", call, {DType::f32});
  need_output_shape("recurrent", call,
                    {{layer.steps + states, layer.directions, layer.batch, layer.hidden}});
}

bool cooperates(const Planner& planner) {
  return planner.cpu_class() && planner.device().sees_host_addresses();
}

Launch plan_recurrent(const Call& call, Planner& planner) {
  Launch launch;
  if (call.output.count() == 0) return launch;
  Recurrence layer = layer_of(call);
  const bool shared = cooperates(planner);
  const auto program = planner.program("recurrent", [&] {
    return ProgramSource{{{"COOPERATE", shared ? "1" : "0"}},
                         {{planner.cpu_class() ? "nn/recurrent/recurrent_cpu.cl"
                                               : "nn/recurrent/recurrent_gpu.cl"}}};
  });
  const int64_t tasks = layer.directions * layer.tiles;
  if (shared) {
    layer.groups = static_cast<int32_t>(
        std::min(tasks, static_cast<int64_t>(planner.device().info().compute_units)));
  }
  const auto slab =
      static_cast<size_t>(layer.directions * layer.batch * layer.hidden) * sizeof(float);
  const size_t slabs = layer.kind == RECURRENT_GRU ? 3 : 1;
  const size_t phases = layer.kind == RECURRENT_GRU ? 2 : 1;
  const size_t counters =
      shared ? static_cast<size_t>(layer.steps) * phases * (static_cast<size_t>(layer.groups) + 1)
             : 1;
  launch.scratch = {slabs * slab, counters * sizeof(uint32_t)};
  if (shared) {
    launch.steps.push_back(FillStep{scratch(1), value(uint32_t{0}), launch.scratch[1]});
  }

  KernelStep step{program, "recurrent", {}, {}};
  for (size_t i = 0; i <= kLengths; ++i) {
    // Absent lengths are not read, so any input can stand in.
    const size_t given = i < call.inputs.size() ? i : kExtra;
    step.arguments.push_back(input(static_cast<int>(given)));
  }
  step.arguments.insert(step.arguments.end(), {output(), scratch(0), scratch(1), value(layer)});
  if (planner.cpu_class()) {
    step.range.global[0] = static_cast<size_t>(layer.groups);
  } else {
    const size_t items = planner.group_items(256);
    step.range.local[0] = items;
    step.range.global[0] = items * static_cast<size_t>(layer.directions * layer.batch);
  }
  launch.steps.push_back(std::move(step));
  const double operations = 2.0 * static_cast<double>(layer.steps * layer.batch) *
                            static_cast<double>(call.inputs[kWeights].count());
  launch.work =
      static_cast<double>(call.inputs[kProducts].bytes() + call.output.bytes()) + operations / 8;
  return launch;
}

ParamSpec flag(const std::string& name, const std::string& summary) {
  ParamSpec param;
  param.name = name;
  param.kind = ParamSpec::Kind::flag;
  param.fallback = false;
  param.summary = summary;
  return param;
}

ParamSpec numbers(const std::string& name, const std::string& summary) {
  ParamSpec param;
  param.name = name;
  param.kind = ParamSpec::Kind::numbers;
  param.fallback = std::vector<double>{};
  param.summary = summary;
  return param;
}

}  // namespace

int64_t recurrent_gates(const std::string& kind) {
  return kind == "rnn" ? 1 : kind == "lstm" ? 4 : 3;
}

int64_t recurrent_tiles(int64_t hidden) { return ceil_div(hidden, int64_t{RECURRENT_TILE}); }

Descriptor recurrent_kernel() {
  ParamSpec kind;
  kind.name = "kind";
  kind.kind = ParamSpec::Kind::choice;
  kind.choices = {kKinds.begin(), kKinds.end()};
  kind.required = true;
  kind.summary = "the layer; gru_linear applies the reset gate after the product with the state";
  ParamSpec activations;
  activations.name = "activations";
  activations.kind = ParamSpec::Kind::name;
  activations.fallback = std::string();
  activations.summary =
      "names separated by commas, for each direction one (rnn), two (gru) or three (lstm); sigmoid "
      "for gates and tanh for the rest when absent";
  ParamSpec clip;
  clip.name = "clip";
  clip.fallback = 0.0;
  clip.min = 0;
  clip.summary = "bound of what goes into an activation; 0 is none";
  ParamSpec cell_clip = clip;
  cell_clip.name = "cell_clip";
  cell_clip.summary = "bound of the cells of an lstm; 0 is none";

  Descriptor recurrent;
  recurrent.name = "recurrent";
  recurrent.summary =
      "All steps of a recurrent layer from the products of its inputs with their weights, the "
      "weights of the state, both in tiles of 16 units, the initial state and cell, peepholes or "
      "the candidate's bias, and the lengths of the sequences (s32).";
  recurrent.inputs = 5;
  recurrent.optional_inputs = 1;
  recurrent.dtypes = {DType::f32, DType::s32};
  recurrent.output_rule =
      "f32 {steps, directions, batch, hidden}; with states, a further step for the last states and "
      "one for the last cells of an lstm";
  recurrent.params = {kind,
                      flag("backwards", "whether the first direction runs from the last step"),
                      flag("states", "whether the last states follow in the output"),
                      flag("peepholes", "whether input 4 holds peepholes of an lstm"),
                      flag("input_forget", "whether the forget gate is 1 - the input gate"),
                      clip,
                      cell_clip,
                      activations,
                      numbers("alphas", "a number for each activation, where it takes one"),
                      numbers("betas", "another number for each activation")};
  recurrent.check = check_recurrent;
  recurrent.plan = plan_recurrent;
  recurrent.sample = [](DType) {
    const TensorType state{DType::f32, {1, 1, 1}};
    return Call{{{DType::f32, {1, 1, 16}},
                 {DType::f32, {1, 1, 1, 16}},
                 state,
                 state,
                 {DType::f32, {1, 1, 3, 16}}},
                {DType::f32, {1, 1, 1, 1}},
                {{"kind", std::string("rnn")}}};
  };
  return recurrent;
}

}  // namespace dala
