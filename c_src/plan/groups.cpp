#include "plan/groups.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "kernels/elementwise/broadcast.hpp"

namespace dala::plan {
namespace {

// Limits of one kernel: compilers slow down on long kernels, and some devices allow only 1024 bytes
// of arguments, of which 32 pointers, 128 bytes of parameters and 8 strides take 1000.
constexpr size_t kMostNodes = 32;
constexpr size_t kMostBuffers = 32;
constexpr size_t kMostParamBytes = 128;
constexpr size_t kMostShapes = 8;

// Consecutive nodes that could all be one kernel.
class Run {
 public:
  // Adds the node if it fits into this kernel.
  bool take(const Node& node, size_t index) {
    if (!node.fusible) return false;
    Run longer = *this;
    if (!longer.add(node, index)) return false;
    *this = std::move(longer);
    return true;
  }

  // Divides the nodes into groups that share no value, so that the groups can run in any order.
  std::vector<Group> groups(const std::vector<Node>& nodes) const {
    std::vector<size_t> leader(members_.size());
    std::iota(leader.begin(), leader.end(), size_t{0});
    std::map<const Value*, size_t> first_user;
    for (size_t i = 0; i < members_.size(); ++i) {
      for (const Value* value : values_of(nodes[members_[i]])) {
        const auto [found, is_new] = first_user.emplace(value, i);
        if (is_new) continue;
        const size_t joined = leader[found->second];
        const size_t own = leader[i];
        std::replace(leader.begin(), leader.end(), own, joined);
      }
    }
    std::map<size_t, size_t> places;
    std::vector<Group> result;
    for (size_t i = 0; i < members_.size(); ++i) {
      const auto [place, is_new] = places.emplace(leader[i], result.size());
      if (is_new) result.push_back({{}, options_.value_or("")});
      result[place->second].nodes.push_back(members_[i]);
    }
    return result;
  }

  static std::vector<const Value*> values_of(const Node& node) {
    std::vector<const Value*> values{node.outputs.front().get()};
    for (const ValuePtr& input : node.inputs) values.push_back(input.get());
    return values;
  }

 private:
  bool add(const Node& node, size_t index) {
    const Body& body = node.fusible->body;
    if (members_.empty()) {
      loop_ = body.loop;
      places_ = body.output.shape;
    }
    if (loop_ != body.loop || places_ != body.output.shape) return false;
    if (body.options && options_ && *body.options != *options_) return false;
    if (body.options) options_ = body.options;
    for (size_t i = 0; i < body.inputs.size(); ++i) {
      if (!read(node.inputs[i].get(), body.inputs[i])) return false;
    }
    if (!write(node.outputs.front().get(), body.output)) return false;
    for (const BodyParam& param : body.params) param_bytes_ += param.value.bytes.size();
    members_.push_back(index);
    return members_.size() <= kMostNodes && ports_.size() <= kMostBuffers &&
           param_bytes_ <= kMostParamBytes && shapes_.size() <= kMostShapes &&
           broadcast_walk({shapes_.begin(), shapes_.end()}, places_).dims.size() <= kMaxRank;
  }

  // All accesses to a value that this kernel writes must be position by position.
  bool read(const Value* value, const Port& port) {
    if (port.shape != places_) shapes_.insert(port.shape);
    std::vector<Port>& ports = ports_[value];
    if (std::find(ports.begin(), ports.end(), port) == ports.end()) ports.push_back(port);
    return ports.size() == 1 || written_.count(value) == 0;
  }

  bool write(const Value* value, const Port& port) {
    written_.insert(value);
    std::vector<Port>& ports = ports_[value];
    if (ports.empty()) ports.push_back(port);
    return ports.size() == 1 && ports.front() == port;
  }

  std::vector<size_t> members_;
  const Loop* loop_ = nullptr;
  Shape places_;
  std::optional<std::string> options_;
  std::map<const Value*, std::vector<Port>> ports_;  // how each value is accessed
  std::set<const Value*> written_;
  std::set<Shape> shapes_;  // of inputs that broadcast
  size_t param_bytes_ = 0;
};

}  // namespace

std::vector<Group> group_nodes(const std::vector<Node>& nodes) {
  std::vector<Group> groups;
  Run run;
  const auto close = [&] {
    for (Group& group : run.groups(nodes)) groups.push_back(std::move(group));
    run = Run();
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (run.take(nodes[i], i)) continue;
    close();
    if (!run.take(nodes[i], i)) groups.push_back({{i}, ""});
  }
  close();
  return groups;
}

}  // namespace dala::plan
