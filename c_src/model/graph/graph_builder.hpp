// Builds a graph node by node, for formats whose operators are not those of ONNX: each operator
// becomes one or more nodes with ONNX semantics. A tensor can only be used after it was created, so
// the nodes are in topological order by construction. Casts and transposes of constants are folded
// here and add no nodes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/graph/graph.hpp"

namespace dala::model {

using Attributes = std::map<std::string, Attribute>;

namespace attr {
Attribute integer(int64_t value);
Attribute real(double value);
Attribute text(std::string value);
Attribute integers(std::vector<int64_t> values);
Attribute graph(Graph nested);  // which captures nothing
}  // namespace attr

class GraphBuilder {
 public:
  static constexpr int64_t kOpset = 19;  // the operator set whose semantics the nodes have

  // `format` is the domain of operators without an ONNX counterpart: "tflite" in "tflite.LSTM".
  GraphBuilder(std::string format, std::string producer);

  // The name of the nodes that are added next: that of the operator in the file.
  void set_layer(std::string name) { layer_ = std::move(name); }
  const std::string& layer() const { return layer_; }

  TensorId input(Port port);  // sets its `tensor`
  void output(Port port);     // its `tensor` must exist
  TensorId constant(HostTensorPtr values, const std::string& name = "");
  TensorId integers(const std::vector<int64_t>& values);  // i64, one axis
  TensorId scalar(double value, ElementType type = ElementType::f32);

  // Adds a node with one result, or with several.
  TensorId add(const std::string& op, std::vector<TensorId> inputs, Attributes attributes = {});
  std::vector<TensorId> add_many(const std::string& op, std::vector<TensorId> inputs,
                                 size_t results, Attributes attributes = {});
  // Adds an operator of the format that has no ONNX counterpart, or none for the way it is used.
  // Loading the model fails with a list of all such operators.
  std::vector<TensorId> add_unsupported(const std::string& op, std::vector<TensorId> inputs,
                                        size_t results, const std::string& why = "");

  TensorId cast(TensorId x, ElementType type);  // no-op for a constant of that type
  TensorId transpose(TensorId x, const std::vector<int64_t>& perm);
  TensorId reshape(TensorId x, const std::vector<int64_t>& shape);  // 0 copies, -1 is inferred

  // The values of a constant, or null if the tensor is not a constant.
  HostTensorPtr known(TensorId id) const;
  // The same as integers. Throws `unsupported_op`, naming `what`, if the tensor is not a constant.
  std::vector<int64_t> known_integers(TensorId id, const std::string& what) const;

  // Maps the format's tensor names to tensors. `named` throws `invalid_model` for an unknown name.
  void bind(const std::string& name, TensorId id);
  bool has(const std::string& name) const { return bound_.count(name) != 0; }
  TensorId named(const std::string& name) const;

  // Checks the graph and moves it out. Throws `invalid_model`.
  Graph finish();

 private:
  TensorId fresh(const std::string& name);
  void check_made(TensorId id) const;

  std::string format_;
  std::string layer_;
  Graph graph_;
  std::map<std::string, TensorId> bound_;
};

}  // namespace dala::model
