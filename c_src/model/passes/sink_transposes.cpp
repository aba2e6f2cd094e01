#include "model/passes/sink_transposes.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "model/graph/graph_uses.hpp"

namespace dala::model {
namespace {

using Axes = std::vector<int64_t>;

constexpr int64_t kMaxElements = 1 << 20;  // of a constant that is transposed

const std::set<std::string>& elementwise() {
  static const std::set<std::string> names{
      "Abs",        "Add",  "Clip", "Div",     "Elu",      "Exp",  "HardSigmoid", "HardSwish",
      "LeakyRelu",  "Max",  "Min",  "Mish",    "Mul",      "Neg",  "PRelu",       "Pow",
      "Reciprocal", "Relu", "Silu", "Sigmoid", "Softplus", "Sqrt", "Sub",         "Tanh"};
  return names;
}

// The source and permutation of a transposed tensor.
struct Transposed {
  TensorId source = kNone;
  Axes perm;
};

bool is_permutation_of(const Axes& perm, int64_t rank) {
  Axes sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  Axes wanted(static_cast<size_t>(rank));
  std::iota(wanted.begin(), wanted.end(), int64_t{0});
  return sorted == wanted;
}

// The constant whose transpose by `perm` broadcasts like `values`.
HostTensorPtr transposed_back(const HostTensor& values, const Axes& perm) {
  const size_t rank = perm.size();
  Shape shape = values.shape;
  shape.insert(shape.begin(), rank - shape.size(), 1);
  Shape back(rank);
  Shape strides(rank, 0);  // of `values`, by dimension of the result
  int64_t stride = 1;
  for (size_t d = rank; d-- > 0;) {
    back[static_cast<size_t>(perm[d])] = shape[d];
    strides[static_cast<size_t>(perm[d])] = stride;
    stride *= shape[d];
  }
  auto result = std::make_shared<HostTensor>(values.type, back);
  const size_t bytes = size_of(storage_of(values.type));
  Shape at(rank, 0);
  for (int64_t i = 0; i < result->count(); ++i) {
    int64_t from = 0;
    for (size_t d = 0; d < rank; ++d) from += at[d] * strides[d];
    std::copy_n(values.bytes.begin() + from * static_cast<int64_t>(bytes), bytes,
                result->bytes.begin() + i * static_cast<int64_t>(bytes));
    for (size_t d = rank; d-- > 0 && ++at[d] == back[d];) at[d] = 0;
  }
  return result;
}

class Sinking {
 public:
  explicit Sinking(Graph& graph) : graph_(graph) {}

  void run() {
    for (Node& node : std::exchange(graph_.nodes, {})) {
      for (TensorId& id : node.inputs) id = resolved(id);
      if (is(&node, "Transpose")) {
        transpose(std::move(node));
      } else if (node.domain.empty() && elementwise().count(node.op) != 0) {
        sink_elementwise(std::move(node));
      } else if (is(&node, "Pad")) {
        sink_padding(std::move(node));
      } else {
        graph_.nodes.push_back(std::move(node));
      }
    }
    for (Port& port : graph_.outputs) port.tensor = resolved(port.tensor);
  }

 private:
  TensorId resolved(TensorId id) const {
    const auto found = same_.find(id);
    return found == same_.end() ? id : found->second;
  }

  const Transposed* transposed(TensorId id) const {
    const auto found = transposed_.find(id);
    return found == transposed_.end() ? nullptr : &found->second;
  }

  void transpose(Node node) {
    Axes perm = integers_of(node, "perm");
    const bool sound = node.inputs.size() == 1 && node.outputs.size() == 1 && !perm.empty() &&
                       is_permutation_of(perm, static_cast<int64_t>(perm.size()));
    if (!sound) {
      graph_.nodes.push_back(std::move(node));
      return;
    }
    const Transposed* inner = transposed(node.inputs[0]);
    if (inner != nullptr && inner->perm.size() == perm.size()) {
      for (int64_t& axis : perm) axis = inner->perm[static_cast<size_t>(axis)];
      node.inputs[0] = inner->source;
      node.attributes["perm"].integers = perm;
      if (std::is_sorted(perm.begin(), perm.end())) {
        same_[node.outputs[0]] = node.inputs[0];
        return;
      }
    }
    transposed_[node.outputs[0]] = {node.inputs[0], std::move(perm)};
    graph_.nodes.push_back(std::move(node));
  }

  void sink_elementwise(Node node) {
    const auto common = common_perm(node);
    if (!common || node.outputs.size() != 1) {
      graph_.nodes.push_back(std::move(node));
      return;
    }
    for (TensorId& id : node.inputs) {
      if (const Transposed* each = transposed(id)) {
        id = each->source;
      } else if (const HostTensor* values = constant(graph_, id); values && values->count() > 1) {
        id = add_constant(graph_, graph_.name_of(id), transposed_back(*values, *common));
      }
    }
    push_before_transpose(std::move(node), *common);
  }

  // The permutation that all non-constant inputs share; nullopt if they differ or are not
  // transposed.
  std::optional<Axes> common_perm(const Node& node) const {
    // Broadcasting by attributes, as before operator set 7.
    if (node.attributes.count("axis") + node.attributes.count("broadcast") > 0) return std::nullopt;
    std::optional<Axes> common;
    for (TensorId id : node.inputs) {
      const Transposed* each = transposed(id);
      if (each == nullptr) continue;
      if (common && *common != each->perm) return std::nullopt;
      common = each->perm;
    }
    if (!common) return std::nullopt;
    for (TensorId id : node.inputs) {
      if (id == kNone || transposed(id) != nullptr) continue;
      const HostTensor* values = constant(graph_, id);
      if (values == nullptr || values->shape.size() > common->size() ||
          values->count() > kMaxElements || values->count() == 0) {
        return std::nullopt;
      }
    }
    return common;
  }

  void sink_padding(Node node) {
    const Transposed* inner = node.inputs.empty() ? nullptr : transposed(node.inputs[0]);
    const bool by_axes = node.inputs.size() > 3 && node.inputs[3] != kNone;
    const HostTensor* given = node.inputs.size() > 1 ? constant(graph_, node.inputs[1]) : nullptr;
    const bool listed = node.attributes.count("pads") != 0;
    Axes pads = listed ? integers_of(node, "pads") : given ? given->integers() : Axes();
    if (inner == nullptr || by_axes || pads.size() != 2 * inner->perm.size()) {
      graph_.nodes.push_back(std::move(node));
      return;
    }
    const Axes perm = inner->perm;
    Axes back(pads.size());
    for (size_t d = 0; d < perm.size(); ++d) {
      const auto to = static_cast<size_t>(perm[d]);
      back[to] = pads[d];
      back[to + perm.size()] = pads[d + perm.size()];
    }
    if (listed) {
      node.attributes["pads"].integers = back;
    } else {
      node.inputs[1] = add_constant(graph_, graph_.name_of(node.inputs[1]), vector_of(back));
    }
    node.inputs[0] = inner->source;
    push_before_transpose(std::move(node), perm);
  }

  void push_before_transpose(Node node, const Axes& perm) {
    const TensorId result = node.outputs[0];
    const TensorId before = add_tensor(graph_, graph_.name_of(result));
    node.outputs[0] = before;
    Node turn;
    turn.op = "Transpose";
    turn.name = node.name;
    turn.inputs = {before};
    turn.outputs = {result};
    turn.attributes["perm"].integers = perm;
    graph_.nodes.push_back(std::move(node));
    graph_.nodes.push_back(std::move(turn));
    transposed_[result] = {before, perm};
  }

  Graph& graph_;
  std::map<TensorId, TensorId> same_;  // results of transposes that cancelled out, and their source
  std::map<TensorId, Transposed> transposed_;
};

}  // namespace

void sink_transposes(Graph& graph) { Sinking(graph).run(); }

}  // namespace dala::model
