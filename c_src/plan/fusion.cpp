#include "plan/fusion.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "plan/fused_kernel.hpp"
#include "plan/groups.hpp"
#include "runtime/error.hpp"

namespace dala::plan {
namespace {

using Nodes = std::vector<Node>;

bool reads(const Node& node, const ValuePtr& value) {
  return std::find(node.inputs.begin(), node.inputs.end(), value) != node.inputs.end();
}

// The nodes that read or write each value, in order.
using Users = std::unordered_map<const Value*, std::vector<size_t>>;

Users users_in(const Nodes& nodes) {
  Users users;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].launch == nullptr) continue;
    for (const auto* values : {&nodes[i].inputs, &nodes[i].outputs}) {
      for (const ValuePtr& value : *values) {
        std::vector<size_t>& each = users[value.get()];
        if (each.empty() || each.back() != i) each.push_back(i);
      }
    }
  }
  return users;
}

// Whether the store of node `last`, the group's last write of the value, can be observed: by a
// later node of another group, or after the plan has run.
bool visible(const Nodes& nodes, const Users& users, const std::vector<size_t>& group,
             size_t last) {
  const ValuePtr& value = nodes[last].outputs.front();
  const std::vector<size_t>& all = users.at(value.get());
  for (auto next = std::upper_bound(all.begin(), all.end(), last); next != all.end(); ++next) {
    if (std::binary_search(group.begin(), group.end(), *next)) continue;
    return reads(nodes[*next], value) || !nodes[*next].overwrites();
  }
  return !value->temporary();
}

// A recipe with the values of its inputs and outputs.
struct Mixture {
  Recipe recipe;
  std::vector<ValuePtr> inputs;
  std::vector<ValuePtr> outputs;
};

// Removes dead steps, on which no output depends.
Mixture without_waste(const Mixture& full) {
  const Recipe& recipe = full.recipe;
  std::vector<bool> used(recipe.steps.size(), false);
  for (size_t output : recipe.outputs) used[output] = true;
  for (size_t k = recipe.steps.size(); k-- > 0;) {
    for (const Recipe::Source& source : recipe.steps[k].inputs) {
      if (used[k] && source.computed) used[source.index] = true;
    }
  }
  Mixture result;
  result.outputs = full.outputs;
  std::map<size_t, size_t> steps;
  std::map<size_t, size_t> inputs;
  for (size_t k = 0; k < recipe.steps.size(); ++k) {
    if (!used[k]) continue;
    Recipe::Step step = recipe.steps[k];
    for (Recipe::Source& source : step.inputs) {
      if (source.computed) {
        source.index = steps.at(source.index);
        continue;
      }
      const auto [place, is_new] = inputs.emplace(source.index, result.inputs.size());
      if (is_new) {
        result.recipe.inputs.push_back(recipe.inputs[source.index]);
        result.inputs.push_back(full.inputs[source.index]);
      }
      source.index = place->second;
    }
    steps[k] = result.recipe.steps.size();
    result.recipe.steps.push_back(std::move(step));
  }
  for (size_t output : recipe.outputs) result.recipe.outputs.push_back(steps.at(output));
  return result;
}

Mixture mix(const Nodes& nodes, const Users& users, const std::vector<size_t>& group) {
  Mixture mixture;
  Recipe& recipe = mixture.recipe;
  std::map<ValuePtr, size_t> computed;  // the step that computed a value's current content
  for (size_t index : group) {
    const Node& node = nodes[index];
    const Fusible& fusible = *node.fusible;
    Recipe::Step step{&fusible, {}};
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (const auto found = computed.find(node.inputs[i]); found != computed.end()) {
        step.inputs.push_back({true, found->second});
        continue;
      }
      const Port& port = fusible.body.inputs[i];
      size_t known = 0;
      while (known < mixture.inputs.size() &&
             (mixture.inputs[known] != node.inputs[i] || recipe.inputs[known].port != port)) {
        ++known;
      }
      if (known == mixture.inputs.size()) {
        recipe.inputs.push_back({port, fusible.inputs[i]});
        mixture.inputs.push_back(node.inputs[i]);
      }
      step.inputs.push_back({false, known});
    }
    computed[node.outputs.front()] = recipe.steps.size();
    recipe.steps.push_back(std::move(step));
  }
  for (size_t k = 0; k < group.size(); ++k) {
    const ValuePtr& value = nodes[group[k]].outputs.front();
    if (computed.at(value) != k || !visible(nodes, users, group, group[k])) continue;
    recipe.outputs.push_back(k);
    mixture.outputs.push_back(value);
  }
  return without_waste(mixture);
}

// "scalar_mul+relu", or "scalar_mul+relu+8 more"
std::string fused_name(const Nodes& nodes, const std::vector<size_t>& group) {
  constexpr size_t kMost = 4;
  const size_t shown = group.size() > kMost ? 2 : group.size();
  std::string name;
  for (size_t i = 0; i < shown; ++i) name += (i == 0 ? "" : "+") + nodes[group[i]].launch->name;
  if (shown < group.size()) name += text("+", group.size() - shown, " more");
  return name;
}

// The layers of the group, each once: "Exp (a) + Neg (b)"
std::string fused_label(const Nodes& nodes, const std::vector<size_t>& group) {
  std::vector<std::string> labels;
  for (size_t index : group) {
    const std::string& label = nodes[index].label;
    const bool known = std::find(labels.begin(), labels.end(), label) != labels.end();
    if (!label.empty() && !known) labels.push_back(label);
  }
  std::string result;
  for (const std::string& label : labels) result += (result.empty() ? "" : " + ") + label;
  return result;
}

Node merged(const Nodes& nodes, const Users& users, const std::vector<size_t>& group,
            const std::string& options, Planner& planner) {
  Mixture mixture = mix(nodes, users, group);
  Node node;
  node.label = fused_label(nodes, group);
  if (mixture.outputs.empty()) return node;  // only writes temporaries that are never read
  Launch launch = fused_launch(mixture.recipe, options, planner);
  launch.name = fused_name(nodes, group);
  node.launch = std::make_shared<const Launch>(std::move(launch));
  node.inputs = std::move(mixture.inputs);
  node.outputs = std::move(mixture.outputs);
  return node;
}

}  // namespace

std::vector<Fused> fused(const std::vector<Node>& nodes, Planner& planner, bool fuse) {
  std::vector<Group> groups;
  if (fuse) groups = group_nodes(nodes);
  for (size_t i = 0; !fuse && i < nodes.size(); ++i) groups.push_back({{i}, ""});
  const Users users = users_in(nodes);
  std::vector<Fused> result;
  result.reserve(groups.size());
  for (Group& group : groups) {
    Node node = group.nodes.size() > 1 ? merged(nodes, users, group.nodes, group.options, planner)
                                       : nodes[group.nodes.front()];
    result.push_back({std::move(node), std::move(group.nodes), std::move(group.options)});
  }
  return result;
}

Node fused_again(const std::vector<Node>& nodes, const std::vector<size_t>& members,
                 const std::string& options, Planner& planner) {
  if (members.size() == 1) return nodes[members.front()];
  return merged(nodes, users_in(nodes), members, options, planner);
}

}  // namespace dala::plan
