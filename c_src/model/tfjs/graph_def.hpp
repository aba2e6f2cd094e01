// The graph of a TF.js model as model.json has it: TensorFlow's nodes and their attributes, in
// protobuf's way to write JSON. The nodes refer to the JSON they come from, which has to stay.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/graph.hpp"
#include "model/json.hpp"

namespace dala::model::tfjs {

// Where an input comes from: a node, by number, and which of its outputs.
struct Source {
  size_t node = 0;
  size_t output = 0;
};

class NodeDef {
 public:
  std::string name;
  std::string op;
  std::vector<Source> inputs;  // without those that only say what runs first

  // Attributes, or the fallback where they are absent. Throws `invalid_model` for other kinds.
  int64_t integer(const std::string& attribute, int64_t fallback) const;
  double real(const std::string& attribute, double fallback) const;
  bool boolean(const std::string& attribute, bool fallback) const;
  std::string text(const std::string& attribute, const std::string& fallback) const;
  std::vector<int64_t> integers(const std::string& attribute) const;  // empty when absent
  std::vector<std::string> texts(const std::string& attribute) const;
  // The type that an attribute names, as models are computed here: integers of any width are i32,
  // floats of any are f32, like in TF.js. None when absent; throws `unsupported_op` for strings,
  // complex numbers and resources.
  std::optional<ElementType> type(const std::string& attribute) const;
  // None: absent, or of any rank.
  std::optional<std::vector<Dimension>> shape(const std::string& attribute) const;

 private:
  friend std::vector<NodeDef> read_nodes(const Json& nodes);
  const Json* value(const std::string& attribute, const char* kind) const;

  const Json* attributes_ = nullptr;
};

// Throws `invalid_model`, among others for inputs that no node is there for.
std::vector<NodeDef> read_nodes(const Json& nodes);

// "DT_FLOAT", or its number. As in NodeDef::type.
ElementType element_type_of(const Json& type, const std::string& what);
std::optional<std::vector<Dimension>> read_shape(const Json& shape, const std::string& what);

// Splits "name:1"; without a number it is 0.
std::pair<std::string, size_t> split_output(const std::string& reference);

}  // namespace dala::model::tfjs
