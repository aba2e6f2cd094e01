// Makes a graph node by node, for formats whose operators are not those of ONNX: each of theirs
// becomes one or more nodes with ONNX's meaning. A tensor can only be used after it was made, so
// that the order of nodes is right by construction. What is known is computed here: casts and
// transposes of constants leave no nodes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/graph.hpp"

namespace dala::model {

using Attributes = std::map<std::string, Attribute>;

namespace attr {
Attribute integer(int64_t value);
Attribute real(double value);
Attribute text(std::string value);
Attribute integers(std::vector<int64_t> values);
}  // namespace attr

class GraphBuilder {
 public:
  static constexpr int64_t kOpset = 19;  // whose meaning the nodes have

  // `format` is what operators without counterpart are called after, as "tflite" in "tflite.LSTM".
  GraphBuilder(std::string format, std::string producer);

  // Names the nodes that are made from now on: the file's own name for what they stand for.
  void set_layer(std::string name) { layer_ = std::move(name); }
  const std::string& layer() const { return layer_; }

  TensorId input(Port port);  // its `tensor` is set here
  void output(Port port);     // its `tensor` is one that was made
  TensorId constant(HostTensorPtr values, const std::string& name = "");
  TensorId integers(const std::vector<int64_t>& values);  // i64, one axis
  TensorId scalar(double value, ElementType type = ElementType::f32);

  // A node with one result, or with several.
  TensorId add(const std::string& op, std::vector<TensorId> inputs, Attributes attributes = {});
  std::vector<TensorId> add_many(const std::string& op, std::vector<TensorId> inputs,
                                 size_t results, Attributes attributes = {});
  // An operator of the format that has no counterpart, or is used in a way that has none. Loading
  // refuses it, together with all others.
  std::vector<TensorId> unsupported(const std::string& op, std::vector<TensorId> inputs,
                                    size_t results, const std::string& why = "");

  TensorId cast(TensorId x, ElementType type);  // nothing to do where a constant has that type
  TensorId transpose(TensorId x, const std::vector<int64_t>& perm);
  TensorId reshape(TensorId x, const std::vector<int64_t>& shape);  // 0 keeps, -1 is what is left

  // The values of a constant; null: not known before the model runs.
  HostTensorPtr known(TensorId id) const;
  // The same as integers. Throws `unsupported_op`, saying what they are, where they are not known.
  std::vector<int64_t> known_integers(TensorId id, const std::string& what) const;

  // Names of the format for tensors. `named` throws `invalid_model` when nothing has that name.
  void bind(const std::string& name, TensorId id);
  bool has(const std::string& name) const { return bound_.count(name) != 0; }
  TensorId named(const std::string& name) const;

  // Checks the whole and gives it away. Throws `invalid_model`.
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
