#include "model/tfjs/graph_def.hpp"

#include <charconv>
#include <unordered_map>
#include <utility>

#include "runtime/error.hpp"

namespace dala::model::tfjs {
namespace {

constexpr size_t kMaxOutputs = 1024;
constexpr size_t kMaxRank = 32;

[[noreturn]] void reject(const std::string& problem) {
  throw Error(Reason::invalid_model, problem);
}

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
  throw Error(Reason::unsupported_op,
              text(what, " is ", type.is_text() ? type.text(what) : "of a type",
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

std::vector<NodeDef> read_nodes(const Json& nodes) {
  std::vector<NodeDef> result;
  std::unordered_map<std::string, size_t> numbers;
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
  size_t at = 0;
  for (const Json& json : nodes.list("the list of nodes")) {
    NodeDef& node = result[at++];
    const Json* inputs = json.find("input");
    if (inputs == nullptr) continue;
    for (const Json& each : inputs->list("the inputs of a node")) {
      const std::string& reference = each.text("an input of a node");
      if (!reference.empty() && reference[0] == '^') continue;
      const auto [name, output] = split_output(reference);
      const auto found = numbers.find(name);
      if (found == numbers.end()) {
        reject(
            dala::text(node.op, " (", node.name, ") needs \"", name, "\", which does not exist"));
      }
      node.inputs.push_back({found->second, output});
    }
  }
  return result;
}

}  // namespace dala::model::tfjs
