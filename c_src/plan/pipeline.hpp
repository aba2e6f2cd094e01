// A pipeline: stages that are kept as they were added, and planned at the first run, fused where
// they can be. Adding a stage later discards the plan. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
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
  };
  struct Copy {
    BufferPtr from;
    BufferPtr to;
  };
  struct Barrier {};
  // A stage that is invalid in itself is kept as its error, which planning reports.
  using Added = std::variant<Barrier, Kernel, Copy, Error>;
  using PlanPtr = std::shared_ptr<const PipelinePlan>;

  // Above this, planning and destroying take long enough to be left to another thread.
  static constexpr size_t kManyStages = 16;

  // All of these throw `freed` after `free`.
  void add(Added stage);
  size_t count();
  // The plan. Throws the first problem, with `stage` in its details. Expansion::at_once gives null
  // where planning takes long: because of many stages, or of a model that is not planned.
  PlanPtr plan(Engine& engine, Expansion expansion);

  // Gives up the stages and the plan. The caller destroys what is returned, on another thread where
  // it is much.
  struct Rest {
    std::vector<std::shared_ptr<const Added>> stages;
    std::shared_ptr<const void> planned;
  };
  Rest free();

  // What a failed submission of the plan's stages is to the caller: a buffer that was there when
  // the stages were planned may be gone.
  static Error submission_error(const Error& problem);

 private:
  using Stages = std::vector<std::shared_ptr<const Added>>;
  // What planning came to, for as long as the stages and the kernels stay the same.
  struct Planned {
    uint64_t version = 0;
    uint64_t generation = 0;  // of the kernel registry
    PlanPtr plan;
    std::optional<Error> problem;
  };

  void require_alive() const;
  PlanPtr known_plan(Engine& engine) const;

  std::mutex mutex_;
  bool freed_ = false;
  Stages stages_;
  uint64_t version_ = 0;  // counts the changes of `stages_`
  std::shared_ptr<const Planned> planned_;
};

}  // namespace dala::plan
