#include "model/import/tfjs/file.hpp"

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <utility>

#include "model/graph/problem.hpp"

namespace dala::model::tfjs {
namespace {

constexpr size_t kMaxOutputs = 1024;
constexpr size_t kMaxRank = 32;

std::string decode_base64(const std::string& encoded, const std::string& what) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string decoded;
  uint32_t bits = 0;
  int count = 0;
  for (char each : encoded.substr(0, encoded.find('='))) {
    const size_t digit = kDigits.find(each);
    if (digit == std::string_view::npos) reject(text(what, " is not base64"));
    bits = (bits << 6) | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    decoded += static_cast<char>((bits >> count) & 0xff);
  }
  return decoded;
}

// Byte strings are base64, or a list of numbers.
std::string read_text(const Json& json, const std::string& what) {
  if (json.is_text()) return decode_base64(json.text(what), what);
  std::string result;
  for (const Json& each : json.list(what)) result += static_cast<char>(each.integer(what));
  return result;
}

using NodeNumbers = std::unordered_map<std::string, size_t>;

// The number of an output that a function refers to by name, as in "top:indices:0".
size_t output_number(const std::string& op, const std::string& name, size_t number) {
  static const std::map<std::string, std::vector<std::string>> outputs_of{
      {"Merge", {"output", "value_index"}},
      {"NonMaxSuppressionV4", {"selected_indices", "valid_outputs"}},
      {"NonMaxSuppressionV5", {"selected_indices", "selected_scores", "valid_outputs"}},
      {"Switch", {"output_false", "output_true"}},
      {"TensorArrayConcatV3", {"value", "lengths"}},
      {"TensorArrayV3", {"handle", "flow"}},
      {"TensorListConcatV2", {"tensor", "lengths"}},
      {"TensorListPopBack", {"output_handle", "tensor"}},
      {"TopKV2", {"values", "indices"}},
      {"Unique", {"y", "idx"}},
  };
  const auto found = outputs_of.find(op);
  if (found == outputs_of.end()) return number;
  const auto& names = found->second;
  const auto place = std::find(names.begin(), names.end(), name);
  return place == names.end() ? number : static_cast<size_t>(place - names.begin());
}

// The output that a reference means: "name", "name:1", or, inside of functions, "name:output:1".
// Nullopt if there is no such node.
std::optional<Source> resolve(const std::string& reference, const NodeNumbers& numbers,
                              const std::vector<NodeDef>& nodes) {
  const auto [name, output] = split_output(reference);
  const auto found = numbers.find(name);
  if (found != numbers.end()) return Source{found->second, output};
  const size_t colon = name.rfind(':');
  const auto outer = numbers.find(name.substr(0, colon));
  if (colon == std::string::npos || outer == numbers.end()) return std::nullopt;
  const std::string& op = nodes[outer->second].op;
  return Source{outer->second, output_number(op, name.substr(colon + 1), output)};
}

}  // namespace

ElementType element_type_of(const Json& type, const std::string& what) {
  struct Known {
    const char* name;
    int64_t number;
    ElementType type;
  };
  static constexpr Known kTypes[] = {
      {"DT_FLOAT", 1, ElementType::f32},   {"DT_DOUBLE", 2, ElementType::f32},
      {"DT_INT32", 3, ElementType::i32},   {"DT_UINT8", 4, ElementType::u8},
      {"DT_INT16", 5, ElementType::i32},   {"DT_INT8", 6, ElementType::i32},
      {"DT_INT64", 9, ElementType::i32},   {"DT_BOOL", 10, ElementType::boolean},
      {"DT_UINT16", 17, ElementType::i32}, {"DT_HALF", 19, ElementType::f32},
  };
  for (const Known& each : kTypes) {
    if (type.is_number() ? type.number(what) == static_cast<double>(each.number)
                         : type.text(what) == each.name) {
      return each.type;
    }
  }
  unsupported(text(what, " is ", type.is_text() ? type.text(what) : "of a type",
                   ", which is not supported"));
}

std::optional<std::vector<Dimension>> read_shape(const Json& shape, const std::string& what) {
  const Json* any_rank = shape.find("unknownRank");
  if (any_rank != nullptr && any_rank->boolean(what)) return std::nullopt;
  std::vector<Dimension> dimensions;
  const Json* list = shape.find("dim");
  if (list == nullptr) return dimensions;
  for (const Json& each : list->list(what)) {
    Dimension dimension;
    const Json* size = each.find("size");
    const int64_t number = size == nullptr ? 0 : size->integer(what);
    if (number >= 0) dimension.size = number;
    dimensions.push_back(std::move(dimension));
  }
  if (dimensions.size() > kMaxRank) {
    reject(text(what, " has ", dimensions.size(), " dimensions, at most ", kMaxRank,
                " are supported"));
  }
  return dimensions;
}

std::pair<std::string, size_t> split_output(const std::string& reference) {
  const size_t colon = reference.rfind(':');
  if (colon == std::string::npos) return {reference, 0};
  size_t output = 0;
  const char* const end = reference.data() + reference.size();
  const auto [stop, problem] = std::from_chars(reference.data() + colon + 1, end, output);
  if (stop != end || problem != std::errc()) return {reference, 0};
  if (output >= kMaxOutputs) {
    reject(text("output number of \"", reference, "\" is not below ", kMaxOutputs));
  }
  return {reference.substr(0, colon), output};
}

const Json* NodeDef::value(const std::string& attribute, const char* kind) const {
  const Json* found = attributes_ == nullptr ? nullptr : attributes_->find(attribute);
  return found == nullptr ? nullptr : found->find(kind);
}

int64_t NodeDef::integer(const std::string& attribute, int64_t fallback) const {
  const Json* found = value(attribute, "i");
  return found == nullptr ? fallback : found->integer(attribute);
}

double NodeDef::real(const std::string& attribute, double fallback) const {
  const Json* found = value(attribute, "f");
  return found == nullptr ? fallback : found->number(attribute);
}

bool NodeDef::boolean(const std::string& attribute, bool fallback) const {
  const Json* found = value(attribute, "b");
  return found == nullptr ? fallback : found->boolean(attribute);
}

std::string NodeDef::text(const std::string& attribute, const std::string& fallback) const {
  const Json* found = value(attribute, "s");
  return found == nullptr ? fallback : read_text(*found, attribute);
}

std::vector<int64_t> NodeDef::integers(const std::string& attribute) const {
  std::vector<int64_t> values;
  const Json* list = value(attribute, "list");
  const Json* items = list == nullptr ? nullptr : list->find("i");
  if (items == nullptr) return values;
  for (const Json& each : items->list(attribute)) values.push_back(each.integer(attribute));
  return values;
}

std::vector<std::string> NodeDef::texts(const std::string& attribute) const {
  std::vector<std::string> values;
  const Json* list = value(attribute, "list");
  const Json* items = list == nullptr ? nullptr : list->find("s");
  if (items == nullptr) return values;
  for (const Json& each : items->list(attribute)) values.push_back(read_text(each, attribute));
  return values;
}

std::optional<ElementType> NodeDef::type(const std::string& attribute) const {
  const Json* found = value(attribute, "type");
  if (found == nullptr) return std::nullopt;
  return element_type_of(*found, attribute);
}

std::optional<std::vector<Dimension>> NodeDef::shape(const std::string& attribute) const {
  const Json* found = value(attribute, "shape");
  if (found == nullptr) return std::nullopt;
  return read_shape(*found, attribute);
}

std::string NodeDef::function(const std::string& attribute) const {
  const Json* found = value(attribute, "func");
  const Json* name = found == nullptr ? nullptr : found->find("name");
  if (name == nullptr) reject(dala::text("attribute ", attribute, " is not a function"));
  return name->text(attribute);
}

std::vector<NodeDef> read_nodes(const Json& nodes, const std::vector<std::string>& arguments) {
  std::vector<NodeDef> result;
  NodeNumbers numbers;
  for (const std::string& argument : arguments) {
    NodeDef node;
    node.name = argument;
    node.op = kArgument;
    if (!numbers.emplace(node.name, result.size()).second) {
      reject(dala::text("two arguments have the name \"", node.name, "\""));
    }
    result.push_back(std::move(node));
  }
  for (const Json& json : nodes.list("the list of nodes")) {
    NodeDef node;
    const Json* name = json.find("name");
    const Json* op = json.find("op");
    if (name == nullptr || op == nullptr) reject("a node has no name or no operator");
    node.name = name->text("the name of a node");
    node.op = op->text("the operator of a node");
    node.attributes_ = json.find("attr");
    if (!numbers.emplace(node.name, result.size()).second) {
      reject(dala::text("two nodes have the name \"", node.name, "\""));
    }
    result.push_back(std::move(node));
  }
  size_t at = arguments.size();
  for (const Json& json : nodes.list("the list of nodes")) {
    NodeDef& node = result[at++];
    const Json* inputs = json.find("input");
    if (inputs == nullptr) continue;
    for (const Json& each : inputs->list("the inputs of a node")) {
      const std::string& reference = each.text("an input of a node");
      if (!reference.empty() && reference[0] == '^') continue;
      const std::optional<Source> source = resolve(reference, numbers, result);
      if (!source) {
        reject(dala::text(node.op, " (", node.name, ") needs \"", split_output(reference).first,
                          "\", which does not exist"));
      }
      node.inputs.push_back(*source);
    }
  }
  return result;
}

namespace {

std::vector<std::string> argument_names(const Json& signature, const char* which) {
  std::vector<std::string> names;
  const Json* list = signature.find(which);
  if (list == nullptr) return names;
  for (const Json& each : list->list(which)) {
    const Json* name = each.find("name");
    if (name == nullptr) reject("an argument of a function has no name");
    names.push_back(name->text(which));
  }
  return names;
}

Function read_function(const Json& json) {
  const Json* signature = json.find("signature");
  const Json* nodes = json.find("nodeDef");
  const Json* results = json.find("ret");
  const Json* name = signature == nullptr ? nullptr : signature->find("name");
  if (name == nullptr || nodes == nullptr || results == nullptr) {
    reject("a function has no name, no nodes or no results");
  }
  Function function;
  function.name = name->text("the name of a function");
  const std::vector<std::string> arguments = argument_names(*signature, "inputArg");
  function.nodes = read_nodes(*nodes, arguments);
  function.arguments = arguments.size();
  NodeNumbers numbers;
  for (size_t i = 0; i < function.nodes.size(); ++i) numbers[function.nodes[i].name] = i;
  for (const std::string& result : argument_names(*signature, "outputArg")) {
    const Json* reference = results->find(result);
    if (reference == nullptr) {
      reject(dala::text("function ", function.name, " does not compute \"", result, "\""));
    }
    const std::string& target = reference->text(result);
    const std::optional<Source> source = resolve(target, numbers, function.nodes);
    if (!source)
      reject(dala::text("\"", target, "\", a result of ", function.name, ", does not exist"));
    function.results.push_back(*source);
  }
  return function;
}

}  // namespace

std::map<std::string, Function> read_functions(const Json& topology) {
  std::map<std::string, Function> functions;
  const Json* library = topology.find("library");
  const Json* list = library == nullptr ? nullptr : library->find("function");
  if (list == nullptr) return functions;
  for (const Json& each : list->list("the functions")) {
    Function function = read_function(each);
    const std::string name = function.name;
    if (!functions.emplace(name, std::move(function)).second) {
      reject(dala::text("two functions have the name \"", name, "\""));
    }
  }
  return functions;
}

}  // namespace dala::model::tfjs
