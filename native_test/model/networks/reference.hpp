// Executes networks with plain loops in double precision, operator by operator as the ONNX
// specification defines them. It is the reference for the library, so it shares no code with it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/networks/net.hpp"

namespace dala::test {

struct Array {
  Ints shape;
  std::vector<double> data;  // integers, too

  Array() = default;
  explicit Array(Ints dims);
  int64_t dim(size_t axis) const { return shape[axis]; }
};

// The outputs for that input, in the order of the network.
std::vector<Array> run_reference(const Net& net, const Array& x);

// One operator; omitted inputs are null.
using ReferenceInputs = std::vector<const Array*>;
using ReferenceOp = std::vector<Array> (*)(const NetNode& node, const ReferenceInputs& inputs);
using ReferenceOps = std::map<std::string, ReferenceOp>;
ReferenceOps reference_windows();   // convolution, pooling, interpolation
ReferenceOps reference_moves();     // shapes, slices, joins
ReferenceOps reference_formulas();  // values

// An attribute of a node, or its default.
template <typename T>
T attribute_or(const NetNode& node, const std::string& name, T otherwise) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? otherwise : std::get<T>(found->second);
}

Ints integers(const Array& array);
// The products of the dimensions in [from, to).
int64_t extent(const Ints& shape, size_t from, size_t to);

}  // namespace dala::test
