// A graph planned for inputs of certain shapes: stages that run as one command, and the memory of
// what lies between them, shared by tensors that are not needed at the same time.
#pragma once

#include <utility>
#include <vector>

#include "kernels/engine.hpp"
#include "model/arena.hpp"
#include "model/tensor.hpp"

namespace dala::model {

class Plan {
 public:
  // Every output lies in a place of its own that some stage writes (or that is empty).
  Plan(Runtime& runtime, std::vector<PlannedStage> stages, std::vector<Tensor> outputs);

  struct Bound {
    std::vector<Stage> stages;
    std::vector<BufferPtr> outputs;
  };
  // The stages with these inputs, and with new buffers for the outputs.
  Bound bind(Runtime& runtime, const std::vector<BufferPtr>& inputs) const;
  // The same with these buffers for the outputs, which have their types and are none of the inputs.
  std::vector<Stage> bind(Runtime& runtime, const std::vector<BufferPtr>& inputs,
                          const std::vector<BufferPtr>& outputs) const;

  // Frees its memory, and that of the constants it reads; it cannot be run again.
  void give_back(Runtime& runtime) const;

  const std::vector<PlannedStage>& stages() const { return stages_; }
  const std::vector<Tensor>& outputs() const { return outputs_; }
  size_t bytes() const { return bytes_; }  // of what lies between, beside guests

 private:
  // What nobody needs any more when an output is written lies where that will be, if it is large.
  struct Guest {
    PlacePtr place;
    size_t offset = 0;
  };

  // What has to lie somewhere, and which places are where each lies.
  struct Lodging {
    std::vector<Lodger> lodgers;
    std::vector<std::pair<PlacePtr, size_t>> places;
  };
  Lodging lodging(uint64_t limit) const;
  void share_memory(Runtime& runtime);
  std::vector<Stage> bind(Runtime& runtime, const std::vector<BufferPtr>& inputs,
                          const std::vector<BufferPtr>& outputs, const StoragePtr& host) const;

  std::vector<PlannedStage> stages_;
  std::vector<Tensor> outputs_;
  size_t bytes_ = 0;
  std::vector<Guest> guests_;
  size_t host_ = 0;         // their output
  size_t guest_bytes_ = 0;  // of all of them together
};

}  // namespace dala::model
