#include "model/import/tfjs/control_flow.hpp"

#include <deque>
#include <map>
#include <utility>

#include "model/graph/problem.hpp"

namespace dala::model::tfjs {
namespace {

Source input_of(const Nodes& nodes, size_t node, size_t index, const char* op) {
  if (index >= nodes[node].inputs.size()) {
    reject(text(nodes[node].op, " (", nodes[node].name, ") has no input ", index));
  }
  const Source source = nodes[node].inputs[index];
  if (op != nullptr && nodes[source.node].op != op) {
    reject(text("input ", index, " of ", nodes[node].op, " (", nodes[node].name, ") is ",
                nodes[source.node].op, ", expected ", op));
  }
  return source;
}

using Condition = std::pair<size_t, size_t>;  // node and output

// Which outputs of the nodes Switch a value depends on, by condition, nearest first.
struct Dependence {
  std::vector<Condition> nearest;
  std::map<Condition, std::set<size_t>> sides;

  // The side of a condition if the value depends on one of them alone.
  std::optional<size_t> side(const Condition& condition) const {
    const auto found = sides.find(condition);
    if (found == sides.end() || found->second.size() != 1) return std::nullopt;
    return *found->second.begin();
  }
};

// Beyond a Switch, others of the same condition say nothing: what they open ends before it.
struct Visit {
  Source source;
  std::set<Condition> passed;
};

Dependence dependence_of(const Nodes& nodes, Source from) {
  constexpr size_t kMostVisits = 1 << 18;
  Dependence result;
  std::set<std::pair<Condition, std::set<Condition>>> seen;
  std::deque<Visit> left{{from, {}}};
  while (!left.empty()) {
    Visit visit = std::move(left.front());
    left.pop_front();
    const NodeDef& node = nodes[visit.source.node];
    const bool forks = node.op == "Switch" && node.inputs.size() == 2 &&
                       nodes[node.inputs[1].node].op != "LoopCond";
    // The outputs of other nodes have the same inputs.
    const Condition place{visit.source.node, forks ? visit.source.output : 0};
    if (!seen.insert({place, visit.passed}).second) continue;
    if (seen.size() > kMostVisits) unsupported("conditions that are nested too deep");
    if (forks) {
      const Condition condition{node.inputs[1].node, node.inputs[1].output};
      if (visit.passed.insert(condition).second) {
        std::set<size_t>& sides = result.sides[condition];
        if (sides.empty()) result.nearest.push_back(condition);
        sides.insert(visit.source.output);
      }
    }
    for (const Source& each : node.inputs) left.push_back({each, visit.passed});
  }
  return result;
}

}  // namespace

Loop find_loop(const Nodes& nodes, size_t exit) {
  const size_t own_switch = input_of(nodes, exit, 0, "Switch").node;
  const size_t own_merge = input_of(nodes, own_switch, 0, "Merge").node;
  const size_t condition = input_of(nodes, own_switch, 1, "LoopCond").node;
  const size_t enter = input_of(nodes, own_merge, 0, "Enter").node;
  const std::string frame = nodes[enter].text("frame_name", "");

  Loop loop;
  loop.condition = input_of(nodes, condition, 0, nullptr);
  std::map<size_t, size_t> variables;  // by node Merge
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].op != "Merge" || nodes[i].inputs.empty()) continue;
    const size_t before = nodes[i].inputs[0].node;
    if (nodes[before].op != "Enter" || nodes[before].text("frame_name", "") != frame) continue;
    const size_t next = input_of(nodes, i, 1, "NextIteration").node;
    variables[i] = loop.variables.size();
    loop.variables.push_back(
        {i, input_of(nodes, before, 0, nullptr), input_of(nodes, next, 0, nullptr)});
  }
  loop.switches.assign(loop.variables.size(), nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].op != "Switch" || nodes[i].inputs.size() != 2) continue;
    const auto found = variables.find(nodes[i].inputs[0].node);
    if (found == variables.end() || nodes[i].inputs[1].node != condition) continue;
    loop.switches[found->second] = i;
  }
  return loop;
}

Branches find_branches(const Nodes& nodes, size_t merge) {
  const Source a = input_of(nodes, merge, 0, nullptr);
  const Source b = input_of(nodes, merge, 1, nullptr);
  const Dependence of_a = dependence_of(nodes, a);
  const Dependence of_b = dependence_of(nodes, b);
  const auto joined = [&](const Condition& condition, bool a_is_yes) {
    const Source source{condition.first, condition.second};
    return a_is_yes ? Branches{source, a, b} : Branches{source, b, a};
  };
  for (const Condition& each : of_a.nearest) {
    const auto left = of_a.side(each);
    const auto right = of_b.side(each);
    if (left && right && *left != *right) return joined(each, *left == 1);
  }
  // A constant in a branch depends on no Switch.
  for (const Condition& each : of_a.nearest) {
    if (of_a.side(each) && of_b.sides.count(each) == 0) return joined(each, of_a.side(each) == 1);
  }
  for (const Condition& each : of_b.nearest) {
    if (of_b.side(each) && of_a.sides.count(each) == 0) return joined(each, of_b.side(each) == 0);
  }
  unsupported("inputs that no condition tells apart");
}

std::set<size_t> dependents(const Nodes& nodes, const std::vector<size_t>& roots) {
  std::vector<std::vector<size_t>> users(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const Source& source : nodes[i].inputs) users[source.node].push_back(i);
  }
  std::set<size_t> found(roots.begin(), roots.end());
  std::vector<size_t> left(roots.begin(), roots.end());
  while (!left.empty()) {
    const size_t node = left.back();
    left.pop_back();
    for (size_t user : users[node]) {
      if (found.insert(user).second) left.push_back(user);
    }
  }
  return found;
}

std::vector<size_t> switches_of(const Nodes& nodes, const Source& condition) {
  std::vector<size_t> found;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].op != "Switch" || nodes[i].inputs.size() != 2) continue;
    const Source& own = nodes[i].inputs[1];
    if (own.node == condition.node && own.output == condition.output) found.push_back(i);
  }
  return found;
}

}  // namespace dala::model::tfjs
