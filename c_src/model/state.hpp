// The state of a model between predictions: outputs of a prediction that are inputs
// of the next one, such as the variables of a TFLite file, the hidden state of a recurrent layer,
// or the keys and values of an attention layer.
//
// The values stay on the device. The next prediction reads the very buffers that the last one has
// written, so nothing is copied, and a value may have another shape after every prediction.
//
// Not thread-safe: uses of one state follow each other. The boundary queues them in a line of their
// own, PredictionQueue::push_in_order. A state keeps its model alive.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/model.hpp"

namespace dala::model {

class State {
 public:
  // The output, and the input that takes it in the next prediction, by name.
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  // Without pairs, the state has those that the file declares. `initial` are the first values of
  // inputs, by name; others start with zeros. Throws `invalid_param` for names that the model does
  // not have or that are given twice, and if there are no pairs at all, and `dtype_mismatch` or
  // `shape_mismatch` for values that do not fit.
  State(std::shared_ptr<Model> model, const Pairs& pairs, std::map<std::string, BufferPtr> initial);

  Model& model() { return *model_; }
  // Indices of the inputs that a prediction is given, and of the outputs that it returns: those
  // that are not part of the state.
  const std::vector<size_t>& given() const { return given_; }
  const std::vector<size_t>& returned() const { return returned_; }

  // All inputs of the next prediction, from those that are given. Throws `arity_mismatch`.
  std::vector<BufferPtr> inputs(const std::vector<BufferPtr>& given);

  // Takes the outputs of a prediction that has succeeded, and returns those that are not part of
  // the state.
  std::vector<BufferPtr> keep(const std::vector<BufferPtr>& outputs);

  // Back to the first values.
  void reset();

  // The present values by the name of their input; those that start with zeros are not there until
  // the first prediction.
  std::vector<std::pair<std::string, BufferPtr>> values() const;

 private:
  struct Slot {
    size_t output = 0;
    size_t input = 0;
    BufferPtr initial;  // null: zeros
    BufferPtr value;    // null: as `initial`
  };

  void add(const std::string& output, const std::string& input);
  Shape first_shape(const Slot& slot, const std::map<std::string, int64_t>& sizes) const;

  std::shared_ptr<Model> model_;
  std::vector<Slot> slots_;
  std::vector<size_t> given_;
  std::vector<size_t> returned_;
};

}  // namespace dala::model
