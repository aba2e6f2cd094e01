// A pipeline: stages as terms, kept as they were added, and bound to kernels and buffers at the
// first run, fused where they can be. Adding a stage later unbinds it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "nif/resources.hpp"

namespace dala::nif {

// A stage in an environment of its own, which holds its buffers. Never changes, so that any thread
// may look at it.
class StageTerm {
 public:
  explicit StageTerm(ERL_NIF_TERM stage) : env_(enif_alloc_env()), term_(copy(stage)) {}
  ~StageTerm() { enif_free_env(env_); }
  StageTerm(const StageTerm&) = delete;
  StageTerm& operator=(const StageTerm&) = delete;

  ErlNifEnv* env() const { return env_; }
  ERL_NIF_TERM term() const { return term_; }

 private:
  ERL_NIF_TERM copy(ERL_NIF_TERM stage) { return enif_make_copy(env_, stage); }

  ErlNifEnv* env_;
  ERL_NIF_TERM term_;
};

class PipelineResource {
 public:
  using Stages = std::vector<std::shared_ptr<const StageTerm>>;
  using Plan = std::shared_ptr<const PipelinePlan>;

  ~PipelineResource() { free(); }

  void add(ERL_NIF_TERM stage);
  size_t count();
  Stages stages();
  // The stages, validated and planned. Throws the first problem, with `stage` in its details, and
  // NotReady.
  Plan bind(Engine& engine);
  // The plan when the stages are bound already, or their problem, or null: then `bind` is to be
  // called, which takes a while where there are many.
  Plan bound(Engine& engine);
  void free();

 private:
  // What binding has come to, for as long as the stages and the kernels stay the same.
  struct Binding {
    uint64_t version = 0;
    uint64_t generation = 0;  // of the kernel registry
    Plan plan;
    std::optional<Error> problem;
  };

  void require_alive() const;
  Plan outcome(Engine& engine) const;

  std::mutex mutex_;
  bool freed_ = false;
  Stages stages_;
  uint64_t version_ = 0;  // counts the changes of `stages_`
  std::shared_ptr<const Binding> binding_;
};

}  // namespace dala::nif
