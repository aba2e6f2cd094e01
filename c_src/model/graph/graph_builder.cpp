#include "model/graph/graph_builder.hpp"

#include <cstring>
#include <utility>

#include "model/graph/problem.hpp"

namespace dala::model {
namespace {

HostTensorPtr converted(const HostTensor& from, ElementType type) {
  auto to = std::make_shared<HostTensor>(type, from.shape);
  const bool whole = type == ElementType::i64 && !is_float(from.type);
  for (int64_t i = 0; i < from.count(); ++i) {
    if (whole) {
      to->data<int64_t>()[i] = from.integer(i);
    } else {
      to->set(i, from.number(i));
    }
  }
  return to;
}

// Whether a conversion is exact, or only drops the fraction.
bool converts_plainly(ElementType from, ElementType to) {
  const auto plain = [](ElementType type) {
    return type == ElementType::f32 || type == ElementType::i32 || type == ElementType::i64 ||
           type == ElementType::u8 || type == ElementType::i8 || type == ElementType::boolean ||
           type == ElementType::f16;
  };
  return plain(from) && (to == ElementType::f32 || to == ElementType::i64);
}

// Throws `invalid_model` unless `perm` is a permutation of the axes of the tensor.
void check_permutation(const HostTensor& tensor, const std::vector<int64_t>& perm) {
  std::vector<bool> seen(tensor.shape.size(), false);
  for (int64_t axis : perm) {
    const auto at = static_cast<size_t>(axis);
    if (axis < 0 || at >= seen.size() || seen[at]) break;
    seen[at] = true;
  }
  bool all = perm.size() == seen.size();
  for (bool each : seen) all = all && each;
  if (all) return;
  reject(text("a tensor of shape ", to_string(tensor.shape), " cannot be transposed by ",
              to_string(perm)));
}

HostTensorPtr transposed(const HostTensor& from, const std::vector<int64_t>& perm) {
  check_permutation(from, perm);
  const size_t rank = perm.size();
  Shape strides(rank, 1);
  for (size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * from.shape[d];
  Shape shape;
  Shape steps;
  for (int64_t axis : perm) {
    shape.push_back(from.shape[static_cast<size_t>(axis)]);
    steps.push_back(strides[static_cast<size_t>(axis)]);
  }
  auto to = std::make_shared<HostTensor>(from.type, shape);
  const int64_t count = from.count();
  if (count == 0) return to;
  const size_t size = from.bytes.size() / static_cast<size_t>(count);
  Shape at(rank, 0);
  int64_t source = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to->bytes.data() + static_cast<size_t>(i) * size,
                from.bytes.data() + static_cast<size_t>(source) * size, size);
    for (size_t d = rank; d-- > 0;) {
      source += steps[d];
      if (++at[d] < shape[d]) break;
      source -= steps[d] * shape[d];
      at[d] = 0;
    }
  }
  return to;
}

}  // namespace

namespace attr {

Attribute integer(int64_t value) {
  Attribute attribute;
  attribute.integer = value;
  return attribute;
}

Attribute real(double value) {
  Attribute attribute;
  attribute.real = value;
  return attribute;
}

Attribute text(std::string value) {
  Attribute attribute;
  attribute.text = std::move(value);
  return attribute;
}

Attribute integers(std::vector<int64_t> values) {
  Attribute attribute;
  attribute.integers = std::move(values);
  return attribute;
}

Attribute graph(Graph nested) {
  Attribute attribute;
  attribute.graph = std::make_shared<const Subgraph>(Subgraph{std::move(nested), {}});
  return attribute;
}

}  // namespace attr

GraphBuilder::GraphBuilder(std::string format, std::string producer) : format_(std::move(format)) {
  graph_.opset = kOpset;
  graph_.producer = std::move(producer);
}

TensorId GraphBuilder::fresh(const std::string& name) {
  graph_.names.push_back(name);
  return static_cast<TensorId>(graph_.names.size() - 1);
}

void GraphBuilder::check_made(TensorId id) const {
  if (id == kNone || (id >= 0 && static_cast<size_t>(id) < graph_.names.size())) return;
  reject(text(layer_, " needs a tensor that does not exist"));
}

TensorId GraphBuilder::input(Port port) {
  port.tensor = fresh(port.name);
  graph_.inputs.push_back(std::move(port));
  return graph_.inputs.back().tensor;
}

void GraphBuilder::output(Port port) {
  if (port.tensor == kNone) {
    reject(text("no node computes the output \"", port.name, "\""));
  }
  check_made(port.tensor);
  graph_.outputs.push_back(std::move(port));
}

TensorId GraphBuilder::constant(HostTensorPtr values, const std::string& name) {
  const TensorId id = fresh(name.empty() ? layer_ : name);
  graph_.constants[id] = std::move(values);
  return id;
}

TensorId GraphBuilder::integers(const std::vector<int64_t>& values) {
  return constant(vector_of(values));
}

TensorId GraphBuilder::scalar(double value, ElementType type) {
  return constant(scalar_of(type, value));
}

TensorId GraphBuilder::add(const std::string& op, std::vector<TensorId> inputs,
                           Attributes attributes) {
  return add_many(op, std::move(inputs), 1, std::move(attributes)).front();
}

std::vector<TensorId> GraphBuilder::add_many(const std::string& op, std::vector<TensorId> inputs,
                                             size_t results, Attributes attributes) {
  for (TensorId id : inputs) check_made(id);
  Node node;
  node.op = op;
  node.name = layer_;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  for (size_t i = 0; i < results; ++i) node.outputs.push_back(fresh(layer_));
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().outputs;
}

std::vector<TensorId> GraphBuilder::add_unsupported(const std::string& op,
                                                    std::vector<TensorId> inputs, size_t results,
                                                    const std::string& why) {
  std::vector<TensorId> outputs = add_many(op, std::move(inputs), results);
  graph_.nodes.back().domain = format_;
  graph_.nodes.back().unreadable = why;
  return outputs;
}

TensorId GraphBuilder::cast(TensorId x, ElementType type) {
  if (const HostTensorPtr values = known(x)) {
    if (values->type == type) return x;
    if (converts_plainly(values->type, type)) return constant(converted(*values, type));
  }
  return add("Cast", {x}, {{"to", attr::integer(static_cast<int64_t>(type))}});
}

TensorId GraphBuilder::transpose(TensorId x, const std::vector<int64_t>& perm) {
  if (const HostTensorPtr values = known(x)) return constant(transposed(*values, perm));
  return add("Transpose", {x}, {{"perm", attr::integers(perm)}});
}

TensorId GraphBuilder::reshape(TensorId x, const std::vector<int64_t>& shape) {
  return add("Reshape", {x, integers(shape)});
}

HostTensorPtr GraphBuilder::known(TensorId id) const {
  const auto found = graph_.constants.find(id);
  return found == graph_.constants.end() ? nullptr : found->second;
}

std::vector<int64_t> GraphBuilder::known_integers(TensorId id, const std::string& what) const {
  if (const HostTensorPtr values = known(id)) return values->integers();
  unsupported(text(what, " that is not a constant"));
}

void GraphBuilder::bind(const std::string& name, TensorId id) {
  check_made(id);
  bound_[name] = id;
}

TensorId GraphBuilder::named(const std::string& name) const {
  const auto found = bound_.find(name);
  if (found != bound_.end()) return found->second;
  reject(text(layer_, " needs \"", name, "\", which no earlier node computes"));
}

Graph GraphBuilder::finish() {
  if (graph_.outputs.empty()) reject("the graph has no outputs");
  check_order(graph_);
  return std::move(graph_);
}

}  // namespace dala::model
