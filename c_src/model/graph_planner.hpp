// Turns the graph of a model into plans, or runs it node by node where values determine shapes.
//
// It owns the graph, and the constants that all plans share on the device. It is not thread-safe:
// its owner, PlanCache, holds a lock around every call. Only the ports and the counts are the same
// from construction to destruction, so they are read without it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/engine.hpp"
#include "model/build/build.hpp"
#include "model/graph/graph.hpp"
#include "plan/plan.hpp"

namespace dala::model {

using PlanPtr = std::shared_ptr<plan::Plan>;
// Values of inputs, by index, that a plan is made for in addition to the shapes.
using InputValues = std::map<size_t, HostTensorPtr>;

class GraphPlanner {
 public:
  // Completes the dimensions of outputs that the file leaves open, where they follow from those of
  // the inputs.
  GraphPlanner(Engine& engine, Graph graph);

  const std::vector<Port>& inputs() const { return graph_.inputs; }
  const std::vector<Port>& outputs() const { return graph_.outputs; }

  struct Counts {
    int64_t opset = 0;
    std::string producer;
    size_t nodes = 0;
    int64_t parameters = 0;
    size_t weight_bytes = 0;
  };
  const Counts& counts() const { return counts_; }

  // Throws NeedsValues if a shape or a branch depends on values other than these.
  PlanPtr plan(const std::vector<Shape>& shapes, const InputValues& values);

  // Runs the graph to its end. Values that determine shapes are read back on the way.
  std::vector<BufferPtr> run(const std::vector<BufferPtr>& inputs);

  // Drops the host copies of weights that only convolutions use: these are on the device, in the
  // order in which the kernel reads them.
  void forget_packed_weights();

  // Frees the constants. Nothing can be planned or run any more.
  void free();

 private:
  void complete_outputs();
  std::vector<Tensor> port_tensors(const std::vector<Shape>& shapes,
                                   const InputValues& values) const;
  std::vector<Tensor> output_tensors(Build& build, const std::vector<Tensor>& inputs) const;
  bool is_packed(const Node& convolution, const HostTensorPtr& weights) const;
  std::map<HostTensorPtr, bool> needed_on_host() const;
  void replace_by_shape(const HostTensorPtr& tensor);

  Engine& engine_;
  Graph graph_;
  Counts counts_;
  SharedConstants constants_;
};

}  // namespace dala::model
