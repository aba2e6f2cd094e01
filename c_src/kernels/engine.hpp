// The runtime together with its kernels: turns a named call into the stages that the scheduler
// runs.
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

  // Jobs on the runtime's threads refer to the registry and the planner, which are destroyed first.
  ~Engine() { runtime_.stop(); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Runtime& runtime() { return runtime_; }
  Registry& registry() { return registry_; }
  Planner& planner() { return planner_; }

  // Adds a custom kernel. Removing it also removes its compiled programs, in memory and on disk.
  void add_custom(Descriptor descriptor);
  bool remove_custom(const std::string& name);

  // A validated call, with default parameters filled in.
  struct Checked {
    std::shared_ptr<const Descriptor> descriptor;
    Call call;
  };
  Checked check(const std::string& kernel, const std::vector<BufferPtr>& inputs,
                const BufferPtr& output, const Params& params,
                const std::vector<BufferPtr>& more_outputs = {}) const;
  // The launch of a single-launch kernel.
  std::shared_ptr<const Launch> launch(const Checked& checked);

  // Validates and plans a call of a single-launch kernel. Nothing runs and no buffer changes.
  Stage stage(const std::string& kernel, const std::vector<BufferPtr>& inputs,
              const BufferPtr& output, const Params& params);
  // Also for kernels of several launches; none if the expansion does not allow enough.
  std::optional<std::vector<Stage>> stages(const std::string& kernel,
                                           const std::vector<BufferPtr>& inputs,
                                           const BufferPtr& output, const Params& params,
                                           Expansion expansion = Expansion::at_once,
                                           const std::vector<BufferPtr>& more_outputs = {});
  // A copy from one buffer to another of the same type.
  Stage copy_stage(const BufferPtr& from, const BufferPtr& to);

  // Plans the stages of a reserved command, however long that takes, and resolves the reservation
  // with them or with the error. For worker threads.
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
