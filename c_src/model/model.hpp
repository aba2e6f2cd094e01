// A loaded model: its graph, its weights on the device, and the plans made so far, one for each
// set of input shapes. Safe from many threads; predictions of one model share the memory between
// their layers, so the scheduler runs them one after the other.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/engine.hpp"
#include "model/build.hpp"
#include "model/graph.hpp"
#include "model/onnx/wire.hpp"
#include "plan/plan.hpp"

namespace dala::model {

class Model {
 public:
  // Reads, checks and optimizes; plans at once when the input shapes are fixed. Takes a while: for
  // worker threads only. Throws `invalid_model`, or `unsupported_op` naming everything that is
  // not supported. `folder` is where external data may lie.
  static std::shared_ptr<Model> load(Engine& engine, onnx::Bytes file, const std::string& folder);
  static std::shared_ptr<Model> load_file(Engine& engine, const std::string& path);
  static std::shared_ptr<Model> from_graph(Engine& engine, Graph graph);

  const std::vector<Port>& inputs() const { return graph_.inputs; }
  // Dimensions that follow from those of the inputs are formulas of these, such as "height/8".
  const std::vector<Port>& outputs() const { return graph_.outputs; }

  struct Info {
    int64_t opset = 0;
    std::string producer;
    size_t nodes = 0;
    int64_t parameters = 0;
    size_t weight_bytes = 0;
    size_t working_bytes = 0;  // of all plans made so far
  };
  Info info();

  // Submits a prediction, with inputs in the order of `inputs()`. Throws before anything runs when
  // they do not fit. `done` is told once, from any thread, with outputs in the order of
  // `outputs()`; `error` is null on success. Gives the command; none for models whose shapes depend
  // on values, which run step by step and are done when this returns. For worker threads.
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
  // only a part; the other outputs go to memory that nobody sees. Throws when these do not fit.
  // Expansion::at_once gives none, and never waits, while there is no plan.
  std::optional<std::vector<Stage>> stages(const std::vector<BufferPtr>& inputs, size_t index,
                                           const BufferPtr& output, Expansion expansion);

  // Works out what a prediction with inputs of these shapes needs. Throws when they do not fit. For
  // worker threads.
  void get_ready(const std::vector<Shape>& shapes);

  // Gives the memory back, also that which pipelines have planned with; later predictions throw
  // `freed`. Those that run keep theirs until they are done.
  void free();
  bool freed() const { return freed_; }

 private:
  Model(Engine& engine, Graph graph);

  using PlanPtr = std::shared_ptr<plan::Plan>;

  std::vector<Shape> shapes_of(const std::vector<BufferPtr>& inputs) const;
  void check_shapes(const std::vector<Shape>& shapes) const;
  std::vector<Tensor> walk(Build& build, const std::vector<Tensor>& inputs) const;
  // Small integer inputs by number, where a plan is made for their values.
  using Values = std::map<size_t, HostTensorPtr>;
  std::vector<Tensor> planned_inputs(const std::vector<Shape>& shapes,
                                     const Values& values = {}) const;
  void complete_outputs();
  // Null: values decide about shapes or branches, and there is no plan. Those of small integer
  // inputs may do, if the inputs are given.
  PlanPtr plan_for(const std::vector<Shape>& shapes,
                   const std::vector<BufferPtr>* inputs = nullptr);
  PlanPtr found_or_made(const std::vector<Shape>& shapes, const Values& values);
  Values small_values(const std::vector<BufferPtr>& inputs) const;
  PlanPtr make_plan(const std::vector<Shape>& shapes, const Values& values);
  std::vector<BufferPtr> run_eagerly(const std::vector<BufferPtr>& inputs);
  void prepare();
  void forget_packed_weights();
  PlanPtr plan_at_once(const std::vector<Shape>& shapes);
  CommandId submit(const plan::Plan::Bound& bound, std::shared_ptr<Client> client,
                   const Listener& listener, std::shared_ptr<Profile> watcher = nullptr);

  Engine& engine_;
  Graph graph_;  // its constants go when the model is freed
  size_t weight_bytes_ = 0;
  int64_t parameters_ = 0;

  std::mutex mutex_;
  std::atomic<bool> freed_{false};
  bool eager_ = false;                 // shapes depend on values
  std::atomic<bool> by_value_{false};  // plans are made for the values of small inputs, too
  size_t new_values_ = 0;              // in a row
  SharedConstants constants_;
  struct Cached {
    PlanPtr plan;
    uint64_t used = 0;
  };
  std::map<std::vector<Shape>, Cached> plans_;
  uint64_t uses_ = 0;
};

}  // namespace dala::model
