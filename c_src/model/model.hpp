// A loaded model, and its predictions. GraphPlanner plans them, PlanCache keeps the plans.
//
// Thread-safe. A model is owned by whoever holds it: references from Elixir, jobs that predict, and
// kernels that were registered to keep it. Predictions of one plan share its arena, so the
// scheduler runs them one after the other. Commands in flight own their buffers and not the model.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/engine.hpp"
#include "model/plan_cache.hpp"

namespace dala::model {

class Model {
 public:
  // Reads, checks and optimizes the file, and plans at once if the input shapes are fixed. This
  // takes long, so it is for worker threads only. Throws `invalid_model`, or `unsupported_op`
  // naming everything that is not supported. `folder` is the folder of external data.
  static std::shared_ptr<Model> load(Engine& engine, std::span<const std::byte> file,
                                     const std::string& folder);
  static std::shared_ptr<Model> load_file(Engine& engine, const std::string& path);
  static std::shared_ptr<Model> from_graph(Engine& engine, Graph graph);

  const std::vector<Port>& inputs() const { return plans_.inputs(); }
  // Dimensions that follow from those of the inputs are formulas of these, such as "height/8".
  const std::vector<Port>& outputs() const { return plans_.outputs(); }

  struct Info : GraphPlanner::Counts {
    size_t working_bytes = 0;  // of all plans made so far
  };
  Info info();

  // Submits a prediction, with inputs in the order of `inputs()`. Throws before anything runs when
  // they do not match. `done` is called once, from any thread, with outputs in the order of
  // `outputs()`; `error` is null on success. Returns the command; nullopt for models whose shapes
  // depend on values, which run step by step and are done when this returns. For worker threads.
  using Done = std::function<void(const std::vector<BufferPtr>& outputs, const Error* error)>;
  std::optional<CommandId> predict(const std::vector<BufferPtr>& inputs,
                                   std::shared_ptr<Client> client, const Done& done);
  // The same to its end; throws its error.
  std::vector<BufferPtr> predict_now(const std::vector<BufferPtr>& inputs);

  // The same, with the time on the device of every layer, in order. Throws `unsupported` for models
  // that run step by step.
  struct LayerTime {
    std::string layer;
    double nanoseconds = 0;
  };
  struct Profiled {
    std::vector<BufferPtr> outputs;
    std::vector<LayerTime> layers;
  };
  Profiled profile(const std::vector<BufferPtr>& inputs);

  // The stages of a prediction that writes output `index` to `output`, for commands of which it is
  // only a part; the other outputs go to temporary memory. Throws when the buffers do not match.
  // Expansion::at_once returns nullopt, and never waits, while there is no plan.
  std::optional<std::vector<Stage>> stages(const std::vector<BufferPtr>& inputs, size_t index,
                                           const BufferPtr& output, Expansion expansion);

  // Plans for inputs of these shapes, and builds the programs, so that a first prediction need not.
  // Throws when the shapes do not match. For worker threads.
  void get_ready(const std::vector<Shape>& shapes);

  // A buffer of zeros on the model's device.
  BufferPtr zeros(const TensorType& type) { return engine_.runtime().zeros(type); }

  // Frees the memory, also that which pipelines have planned with; later predictions throw
  // `freed`. Predictions in flight keep theirs until they are done.
  void free() { plans_.free(); }
  bool freed() const { return plans_.freed(); }

 private:
  Model(Engine& engine, Graph graph);

  uint64_t memory_limit() const;
  std::vector<Shape> shapes_of(const std::vector<BufferPtr>& inputs) const;
  void prepare();
  CommandId submit(const plan::Plan::Bound& bound, std::shared_ptr<Client> client,
                   const Listener& listener, std::shared_ptr<Profile> watcher = nullptr);

  Engine& engine_;
  PlanCache plans_;
};

}  // namespace dala::model
