// A pipeline as Elixir holds it: its stages as they were given, and what they were decoded to.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "nif/resource/resources.hpp"
#include "plan/pipeline.hpp"

namespace dala::nif {

// A stage in an environment of its own, which holds its buffers. Never changes, so that any thread
// may look at it.
class StageTerm {
 public:
  explicit StageTerm(ERL_NIF_TERM stage) : env_(enif_alloc_env()), term_(copy(stage)) {}
  ~StageTerm() { enif_free_env(env_); }
  StageTerm(const StageTerm&) = delete;
  StageTerm& operator=(const StageTerm&) = delete;

  ERL_NIF_TERM term() const { return term_; }

 private:
  ERL_NIF_TERM copy(ERL_NIF_TERM stage) { return enif_make_copy(env_, stage); }

  ErlNifEnv* env_;
  ERL_NIF_TERM term_;
};

class PipelineResource {
 public:
  using Terms = std::vector<std::shared_ptr<const StageTerm>>;

  ~PipelineResource() { free(); }

  void add(ErlNifEnv* env, ERL_NIF_TERM stage);
  // Changes parameters of one stage by its index, or of all with a name. False: there is none.
  bool set(ErlNifEnv* env, const std::variant<uint64_t, std::string>& stage, ERL_NIF_TERM params);
  Terms terms();
  // Much of what it holds is left to another thread.
  void free();

  plan::Pipeline pipeline;

 private:
  std::mutex mutex_;
  Terms terms_;
  std::map<std::string, std::vector<size_t>> names_;  // of stages, by index
};

}  // namespace dala::nif
