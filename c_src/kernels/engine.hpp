// The runtime together with its kernels: turns a named call into a stage that the scheduler runs.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernels/planner.hpp"
#include "kernels/registry.hpp"
#include "runtime/runtime.hpp"

namespace dala {

class Engine {
 public:
  explicit Engine(const Config& config, std::function<void(const Error&)> on_lost = nullptr);

  // Jobs of the runtime's threads refer to the registry and the planner, which go before it.
  ~Engine() { runtime_.stop(); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Runtime& runtime() { return runtime_; }
  Registry& registry() { return registry_; }
  Planner& planner() { return planner_; }

  // Adds a kernel of a user's own. With it goes what was compiled for it, in memory and on disk.
  void add_custom(Descriptor descriptor);
  bool remove_custom(const std::string& name);

  // A call that its descriptor accepts, with its parameters completed.
  struct Checked {
    std::shared_ptr<const Descriptor> descriptor;
    Call call;
  };
  Checked check(const std::string& kernel, const std::vector<BufferPtr>& inputs,
                const BufferPtr& output, const Params& params) const;
  // The launch of a call of a kernel that is one launch.
  std::shared_ptr<const Launch> launch(const Checked& checked);

  // Validates a call of a kernel that is one launch, and plans it. Nothing runs and no buffer
  // changes.
  Stage stage(const std::string& kernel, const std::vector<BufferPtr>& inputs,
              const BufferPtr& output, const Params& params);
  // The same of what may be more than one launch; none where the expansion allows too little.
  std::optional<std::vector<Stage>> stages(const std::string& kernel,
                                           const std::vector<BufferPtr>& inputs,
                                           const BufferPtr& output, const Params& params,
                                           Expansion expansion = Expansion::at_once);
  // A copy from one buffer to another of the same type.
  Stage copy_stage(const BufferPtr& from, const BufferPtr& to);

  // Gives a command that was accepted before its stages were known its stages, whatever time that
  // takes, or its error. For worker threads.
  void complete(Reservation& reservation, const std::string& kernel, const Params& params);

 private:
  using Programs = std::set<std::shared_ptr<Program>>;

  std::mutex custom_mutex_;
  std::map<std::string, std::shared_ptr<Programs>> custom_programs_;  // by the kernel's name
  Runtime runtime_;
  Registry registry_;
  Planner planner_;
};

// The bytes of all operands of a call.
double bytes_of(const Call& call);

}  // namespace dala
