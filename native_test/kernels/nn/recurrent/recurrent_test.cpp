// A reference implementation of the kernel recurrent, unit by unit, and its errors.
#include <doctest/doctest.h>

#include <cmath>

#include "support/subject.hpp"

namespace dala::test {
namespace {

constexpr int64_t kTile = 16;

int64_t gates_of(const std::string& kind) { return kind == "rnn" ? 1 : kind == "lstm" ? 4 : 3; }

struct Sizes {
  int64_t steps = 1, batch = 1, directions = 1, hidden = 1;
  int64_t tiles() const { return (hidden + kTile - 1) / kTile; }
};

Case layer(const std::string& kind, const Sizes& s, Params params = {}, bool lengths = false) {
  const int64_t columns = gates_of(kind) * kTile;
  const TensorType state{DType::f32, {s.directions, s.batch, s.hidden}};
  const bool states = params.count("states") != 0;
  params["kind"] = kind;
  Case example{{{DType::f32, {s.steps, s.batch, s.directions * s.tiles() * columns}},
                {DType::f32, {s.directions, s.tiles(), s.hidden, columns}},
                state,
                state,
                {DType::f32, {s.directions, s.tiles(), 3, kTile}}},
               {DType::f32,
                {s.steps + (!states          ? 0
                            : kind == "lstm" ? 2
                                             : 1),
                 s.directions, s.batch, s.hidden}},
               params};
  if (lengths) example.inputs.push_back({DType::s32, {s.batch}});
  return example;
}

std::vector<Case> cases(DType) {
  std::vector<Case> all;
  for (const char* kind : {"rnn", "gru", "gru_linear", "lstm"}) {
    all.push_back(layer(kind, {1, 1, 1, 1}));
    all.push_back(layer(kind, {1, 0, 1, 3}));
    all.push_back(layer(kind, {3, 2, 1, 5}, {{"states", true}}));
    all.push_back(layer(kind, {4, 1, 2, 17}, {{"states", true}}));
    all.push_back(layer(kind, {3, 5, 1, 16}, {{"backwards", true}}));
    all.push_back(layer(kind, {4, 4, 2, 33}, {{"states", true}}, true));
    all.push_back(layer(kind, {5, 3, 1, 20}, {{"states", true}, {"backwards", true}}, true));
    all.push_back(layer(kind, {2, 9, 1, 7}, {{"clip", 0.2}}, true));
    if (quick()) continue;
    all.push_back(layer(kind, {40, 1, 1, 70}, {{"states", true}}));
    all.push_back(layer(kind, {6, 1, 2, 256}));
  }
  all.push_back(layer("lstm", {4, 2, 2, 18}, {{"peepholes", true}, {"states", true}}));
  all.push_back(layer("lstm", {3, 2, 1, 6}, {{"input_forget", true}}));
  all.push_back(layer("lstm", {5, 2, 1, 6}, {{"cell_clip", 0.25}, {"states", true}}));
  const auto curves = [&](const std::string& names, std::vector<double> alphas,
                          std::vector<double> betas) {
    all.push_back(layer("rnn", {3, 2, 1, 18},
                        {{"activations", names}, {"alphas", alphas}, {"betas", betas}}));
  };
  curves("relu", {}, {});
  curves("affine", {0.5}, {0.25});
  curves("leaky_relu", {0.1}, {});
  curves("thresholded_relu", {0.3}, {});
  curves("hard_sigmoid", {0.2}, {0.5});
  curves("elu", {0.7}, {});
  curves("softsign", {}, {});
  curves("softplus", {}, {});
  curves("scaled_tanh", {1.5}, {0.5});
  all.push_back(layer("gru", {3, 2, 2, 5},
                      {{"activations", std::string("hard_sigmoid,softsign,sigmoid,relu")},
                       {"alphas", std::vector<double>{0.3, 0, 0, 0}},
                       {"betas", std::vector<double>{0.4, 0, 0, 0}}}));
  return all;
}

// Values for which the layer is not chaotic, and lengths from 0 on.
void prepare(const Case& example, std::vector<Tensor>& inputs) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> range(-1, 1);
  const auto hidden = static_cast<float>(example.inputs[2].shape[2]);
  for (size_t i = 0; i < 5; ++i) {
    const float scale = i == 1 ? 1.0F / std::sqrt(hidden) : 1.0F;
    for (long double& value : inputs[i].reals) value = range(random) * scale;
  }
  if (inputs.size() < 6) return;
  const int64_t steps = example.inputs[0].shape[0];
  for (size_t b = 0; b < inputs[5].integers.size(); ++b) {
    inputs[5].integers[b] = static_cast<int64_t>(b) % (steps + 1);
  }
}

double curve(const std::string& name, double x, double alpha, double beta) {
  if (name == "sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "tanh") return std::tanh(x);
  if (name == "relu") return std::max(x, 0.0);
  if (name == "affine") return alpha * x + beta;
  if (name == "leaky_relu") return x < 0 ? alpha * x : x;
  if (name == "thresholded_relu") return x > alpha ? x : 0;
  if (name == "hard_sigmoid") return std::clamp(alpha * x + beta, 0.0, 1.0);
  if (name == "elu") return x < 0 ? alpha * std::expm1(x) : x;
  if (name == "softsign") return x / (1 + std::fabs(x));
  if (name == "softplus") return std::log1p(std::exp(x));
  return alpha * std::tanh(beta * x);
}

struct Reference {
  const Case& example;
  const std::vector<Tensor>& in;
  std::string kind = std::get<std::string>(example.params.at("kind"));
  int64_t gates = gates_of(kind);
  Sizes s{example.inputs[0].shape[0], example.inputs[0].shape[1], example.inputs[1].shape[0],
          example.inputs[1].shape[2]};
  std::vector<std::string> names = {};

  bool flag(const char* name) const { return example.params.count(name) != 0; }
  double number(const char* list, size_t index, double fallback) const {
    const auto found = example.params.find(list);
    if (found == example.params.end()) return fallback;
    const auto& numbers = std::get<std::vector<double>>(found->second);
    return index < numbers.size() ? numbers[index] : fallback;
  }
  double act(int64_t direction, size_t index, double x, bool clips = true) const {
    const auto clip = example.params.find("clip");
    if (clips && clip != example.params.end()) {
      const double bound = std::get<double>(clip->second);
      x = std::clamp(x, -bound, bound);
    }
    const size_t each = names.size() / static_cast<size_t>(s.directions);
    const size_t at = static_cast<size_t>(direction) * each + index;
    return curve(names[at], x, number("alphas", at, 1), number("betas", at, 0));
  }
  double product(int64_t t, int64_t b, int64_t d, int64_t g, int64_t u) const {
    const int64_t tile = u / kTile;
    const int64_t at =
        ((((t * s.batch + b) * s.directions + d) * s.tiles() + tile) * gates + g) * kTile +
        u % kTile;
    return static_cast<double>(in[0].reals[static_cast<size_t>(at)]);
  }
  double state_product(const std::vector<double>& h, int64_t d, int64_t g, int64_t u) const {
    double sum = 0;
    for (int64_t k = 0; k < s.hidden; ++k) {
      const int64_t at =
          (((d * s.tiles() + u / kTile) * s.hidden + k) * gates + g) * kTile + u % kTile;
      sum += static_cast<double>(in[1].reals[static_cast<size_t>(at)]) * h[static_cast<size_t>(k)];
    }
    return sum;
  }
  double extra(int64_t d, int64_t p, int64_t u) const {
    const int64_t at = ((d * s.tiles() + u / kTile) * 3 + p) * kTile + u % kTile;
    return static_cast<double>(in[4].reals[static_cast<size_t>(at)]);
  }

  void step(int64_t t, int64_t b, int64_t d, std::vector<double>& h, std::vector<double>& c) const {
    const std::vector<double> before = h;
    std::vector<double> scaled = before;
    if (kind == "gru") {
      for (int64_t u = 0; u < s.hidden; ++u) {
        const double reset = act(d, 0, product(t, b, d, 1, u) + state_product(before, d, 1, u));
        scaled[static_cast<size_t>(u)] *= reset;
      }
    }
    for (int64_t u = 0; u < s.hidden; ++u) {
      const auto at = static_cast<size_t>(u);
      const auto sum = [&](int64_t g) {
        return product(t, b, d, g, u) + state_product(before, d, g, u);
      };
      if (kind == "rnn") {
        h[at] = act(d, 0, sum(0));
      } else if (kind == "lstm") {
        const auto peep = [&](int64_t p) { return flag("peepholes") ? extra(d, p, u) : 0; };
        const double input = act(d, 0, sum(0) + peep(0) * c[at]);
        const double forget =
            flag("input_forget") ? 1 - input : act(d, 0, sum(2) + peep(2) * c[at]);
        c[at] = forget * c[at] + input * act(d, 1, sum(3));
        const auto clip = example.params.find("cell_clip");
        if (clip != example.params.end()) {
          const double bound = std::get<double>(clip->second);
          c[at] = std::clamp(c[at], -bound, bound);
        }
        h[at] = act(d, 0, sum(1) + peep(1) * c[at]) * act(d, 2, c[at], false);
      } else {
        const double update = act(d, 0, sum(0));
        const double own = product(t, b, d, 2, u);
        const double memory =
            kind == "gru" ? state_product(scaled, d, 2, u)
                          : act(d, 0, sum(1)) * (state_product(before, d, 2, u) + extra(d, 0, u));
        h[at] = (1 - update) * act(d, 1, own + memory) + update * before[at];
      }
    }
  }
};

Tensor expected(const Case& example, const std::vector<Tensor>& inputs) {
  Reference of{example, inputs};
  const auto given = example.params.find("activations");
  if (given != example.params.end()) {
    std::string list = std::get<std::string>(given->second) + ",";
    for (size_t end; (end = list.find(',')) != std::string::npos; list.erase(0, end + 1)) {
      of.names.push_back(list.substr(0, end));
    }
  } else {
    for (int64_t d = 0; d < of.s.directions; ++d) {
      if (of.kind != "rnn") of.names.emplace_back("sigmoid");
      of.names.emplace_back("tanh");
      if (of.kind == "lstm") of.names.emplace_back("tanh");
    }
  }
  Tensor out(example.output);
  out.scales.assign(out.reals.size(), 1);
  const Sizes& s = of.s;
  const auto hidden = static_cast<size_t>(s.hidden);
  for (int64_t d = 0; d < s.directions; ++d) {
    for (int64_t b = 0; b < s.batch; ++b) {
      const auto row = static_cast<size_t>(d * s.batch + b) * hidden;
      std::vector<double> h(hidden);
      std::vector<double> c(hidden);
      for (size_t u = 0; u < hidden; ++u) {
        h[u] = static_cast<double>(inputs[2].reals[row + u]);
        c[u] = static_cast<double>(inputs[3].reals[row + u]);
      }
      const int64_t length =
          inputs.size() > 5 ? inputs[5].integers[static_cast<size_t>(b)] : s.steps;
      const bool backwards = d == 1 || of.flag("backwards");
      const auto slab = static_cast<size_t>(s.directions * s.batch) * hidden;
      for (int64_t i = 0; i < length; ++i) {
        const int64_t t = backwards ? length - 1 - i : i;
        of.step(t, b, d, h, c);
        for (size_t u = 0; u < hidden; ++u) {
          out.reals[static_cast<size_t>(t) * slab + row + u] = h[u];
        }
      }
      if (!of.flag("states")) continue;
      for (size_t u = 0; u < hidden; ++u) {
        out.reals[static_cast<size_t>(s.steps) * slab + row + u] = h[u];
        if (of.kind == "lstm") out.reals[static_cast<size_t>(s.steps + 1) * slab + row + u] = c[u];
      }
    }
  }
  return out;
}

const SubjectOf recurrent_subject("recurrent", {.cases = cases,
                                                .expected = expected,
                                                .f32_tolerance = 2e-5L,
                                                .prepare = prepare});

std::string problem_of(Case example) {
  return failure([&] {
    std::vector<BufferPtr> inputs;
    for (const TensorType& type : example.inputs) inputs.push_back(zeros(type.dtype, type.shape));
    run("recurrent", inputs, zeros(example.output.dtype, example.output.shape), example.params);
  });
}

}  // namespace

TEST_CASE("errors of the kernel recurrent") {
  Case wrong = layer("lstm", {2, 1, 1, 5});
  wrong.inputs[2].shape = {1, 2, 5};
  CHECK(problem_of(wrong) ==
        "shape_mismatch: input 2 of recurrent has shape {1, 2, 5}, expected {1, 1, 5}");
  CHECK(problem_of(layer("gru", {2, 1, 1, 5}, {{"activations", std::string("tanh")}})) ==
        "invalid_param: recurrent has 1 activations, expected 2 for its 1 direction");
  CHECK(problem_of(layer("rnn", {2, 1, 1, 5}, {{"activations", std::string("sine")}})) ==
        "invalid_param: recurrent has no activation \"sine\"");
}

}  // namespace dala::test
