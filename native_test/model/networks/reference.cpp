#include "model/networks/reference.hpp"

#include <stdexcept>
#include <utility>

namespace dala::test {

Array::Array(Ints dims)
    : shape(std::move(dims)), data(static_cast<size_t>(extent(shape, 0, shape.size()))) {}

Ints integers(const Array& array) {
  Ints result;
  // INT64_MAX, which means "to the end", was rounded to a power of two.
  for (double value : array.data) {
    result.push_back(value >= 0x1p63 ? INT64_MAX : static_cast<int64_t>(value));
  }
  return result;
}

int64_t extent(const Ints& shape, size_t from, size_t to) {
  int64_t product = 1;
  for (size_t axis = from; axis < to; ++axis) product *= shape[axis];
  return product;
}

std::vector<Array> run_reference(const Net& net, const Array& x) {
  static const ReferenceOps operators = [] {
    ReferenceOps all = reference_windows();
    all.merge(reference_moves());
    all.merge(reference_formulas());
    return all;
  }();
  std::map<std::string, Array> tensors{{"x", x}};
  for (const auto& [name, constant] : net.constants) {
    Array array(constant.dims);
    if (constant.integers.empty()) {
      array.data.assign(constant.reals.begin(), constant.reals.end());
    } else {
      array.data.assign(constant.integers.begin(), constant.integers.end());
    }
    tensors[name] = std::move(array);
  }
  for (const NetNode& node : net.nodes) {
    ReferenceInputs inputs;
    for (const std::string& name : node.inputs) {
      inputs.push_back(name.empty() ? nullptr : &tensors.at(name));
    }
    const auto found = operators.find(node.op);
    if (found == operators.end()) throw std::logic_error("the reference has no " + node.op);
    std::vector<Array> results = found->second(node, inputs);
    for (size_t i = 0; i < results.size(); ++i) tensors[node.outputs[i]] = std::move(results[i]);
  }
  std::vector<Array> outputs;
  for (const NetOutput& output : net.outputs) outputs.push_back(tensors.at(output.name));
  return outputs;
}

}  // namespace dala::test
