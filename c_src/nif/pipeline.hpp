// A pipeline: stages as terms, kept as they were added, and bound to kernels and buffers at the
// first run. Adding a stage later unbinds it.
#pragma once

#include <mutex>
#include <optional>
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
  std::vector<Stage> bind(Engine& engine);
  void free();

 private:
  void require_alive() const;

  std::mutex mutex_;
  ErlNifEnv* env_;  // holds the terms, and by them the buffers; null once freed
  std::vector<ERL_NIF_TERM> terms_;
  std::optional<std::vector<Stage>> bound_;
  uint64_t bound_generation_ = 0;  // of the kernel registry
};

}  // namespace dala::nif
