// A pipeline: stages that are kept as they were added, and planned, with fusion, at the first run.
// Adding a stage later discards the plan; changing a stage's parameters only replaces its launch.
// Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "plan/pipeline_plan.hpp"

namespace dala::plan {

class Pipeline {
 public:
  struct Kernel {
    std::string name;
    std::vector<BufferPtr> inputs;
    BufferPtr output;
    Params params;
    std::vector<BufferPtr> more_outputs = {};
  };
  struct Copy {
    BufferPtr from;
    BufferPtr to;
  };
  struct Barrier {};
  // An invalid stage is kept as its error, which planning reports.
  using Added = std::variant<Barrier, Kernel, Copy, Error>;
  using PlanPtr = std::shared_ptr<const PipelinePlan>;

  // With more stages than this, planning and destruction are left to another thread.
  static constexpr size_t kManyStages = 16;

  // All of these throw `freed` after `free`.
  void add(Added stage);
  // Replaces a stage by one that differs only in its parameters.
  void change(size_t index, Added stage);
  // Makes these buffers ports. Throws for a buffer that is not temporary, or is named twice.
  void set_ports(Ports ports);
  size_t count();
  // The plan. Throws the first error, with `stage` in its details. With Expansion::at_once, the
  // result is null if planning would be slow, because of many stages or a model without a plan.
  PlanPtr plan(Engine& engine, Expansion expansion);

  // Gives up the stages and the plan. The caller destroys the result, on another thread if it is
  // large.
  struct Rest {
    std::vector<std::shared_ptr<const Added>> stages;
    std::shared_ptr<const void> planned;
  };
  Rest free();

  // The caller's error for a failed submission: a buffer may have been freed since planning.
  static Error submission_error(const Error& problem);

 private:
  using Stages = std::vector<std::shared_ptr<const Added>>;
  // The result of planning, valid until the stages or the kernels change.
  struct Planned {
    uint64_t version = 0;
    uint64_t generation = 0;  // of the kernel registry
    PlanPtr plan;
    std::optional<Error> problem;
  };

  void require_alive() const;
  void discard_plan();
  PlanPtr known_plan(Engine& engine) const;

  std::mutex mutex_;
  bool freed_ = false;
  Stages stages_;
  Ports ports_;
  uint64_t version_ = 0;  // counts the changes of `stages_` and `ports_`
  std::shared_ptr<const Planned> planned_;
  std::set<size_t> changed_;  // stages whose parameters differ from `planned_`
};

}  // namespace dala::plan
