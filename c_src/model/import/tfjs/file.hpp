// The graph of a TF.js model as in model.json: TensorFlow's GraphDef in protobuf's JSON mapping.
// The nodes refer to the parsed JSON, which must outlive them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/graph/graph.hpp"
#include "model/import/common/json.hpp"

namespace dala::model::tfjs {

// The source of an input: a node, by number, and one of its outputs.
struct Source {
  size_t node = 0;
  size_t output = 0;
};

class NodeDef {
 public:
  std::string name;
  std::string op;
  std::vector<Source> inputs;  // without control inputs

  // Attributes, or the fallback if absent. Throw `invalid_model` for a value of another type.
  int64_t integer(const std::string& attribute, int64_t fallback) const;
  double real(const std::string& attribute, double fallback) const;
  bool boolean(const std::string& attribute, bool fallback) const;
  std::string text(const std::string& attribute, const std::string& fallback) const;
  std::vector<int64_t> integers(const std::string& attribute) const;  // empty when absent
  std::vector<std::string> texts(const std::string& attribute) const;
  // The element type that an attribute names, as it is computed: all integers are i32 and all
  // floats f32, as in TF.js. Nullopt if absent; throws `unsupported_op` for strings, complex
  // numbers and resources.
  std::optional<ElementType> type(const std::string& attribute) const;
  // Nullopt if absent or of unknown rank.
  std::optional<std::vector<Dimension>> shape(const std::string& attribute) const;
  // The name of the function that an attribute refers to. Throws `invalid_model` if absent.
  std::string function(const std::string& attribute) const;

 private:
  friend std::vector<NodeDef> read_nodes(const Json& nodes,
                                         const std::vector<std::string>& arguments);
  const Json* value(const std::string& attribute, const char* kind) const;

  const Json* attributes_ = nullptr;
};

// The operator of the nodes that stand for the arguments of a function.
inline constexpr const char* kArgument = "_Arg";

// The nodes of a graph or of a function; its arguments come first. Throws `invalid_model`, for
// example for an input whose node does not exist.
std::vector<NodeDef> read_nodes(const Json& nodes, const std::vector<std::string>& arguments = {});

// A function of the file's library.
struct Function {
  std::string name;
  std::vector<NodeDef> nodes;
  size_t arguments = 0;  // the first nodes
  std::vector<Source> results;
};
std::map<std::string, Function> read_functions(const Json& topology);

// Reads "DT_FLOAT" or its number, as in NodeDef::type.
ElementType element_type_of(const Json& type, const std::string& what);
std::optional<std::vector<Dimension>> read_shape(const Json& shape, const std::string& what);

// Splits "name:1" into name and output number; without a number it is 0.
std::pair<std::string, size_t> split_output(const std::string& reference);

}  // namespace dala::model::tfjs
