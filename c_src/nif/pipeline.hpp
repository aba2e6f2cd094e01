// A pipeline: stages as terms, kept as they were added, and bound to kernels and buffers at the
// first run, fused where they can be. Adding a stage later unbinds it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "nif/resources.hpp"

namespace dala::nif {

class PipelineResource {
 public:
  PipelineResource();
  ~PipelineResource();

  void add(ERL_NIF_TERM stage);
  std::vector<Term> stages(ErlNifEnv* env);
  // The stages, validated and planned. Throws the first problem, with `stage` in its details.
  std::shared_ptr<const PipelinePlan> bind(Engine& engine);
  void free();

 private:
  void require_alive() const;

  std::mutex mutex_;
  ErlNifEnv* env_;  // holds the terms, and by them the buffers; null once freed
  std::vector<ERL_NIF_TERM> terms_;
  std::shared_ptr<const PipelinePlan> bound_;
  uint64_t bound_generation_ = 0;  // of the kernel registry
};

}  // namespace dala::nif
