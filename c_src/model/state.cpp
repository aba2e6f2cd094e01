#include "model/state.hpp"

#include <algorithm>

#include "kernels/descriptor.hpp"
#include "model/signature.hpp"
#include "runtime/error.hpp"

namespace dala::model {
namespace {

size_t index_of(const std::vector<Port>& ports, const std::string& name, const char* kind) {
  std::vector<std::string> names;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].name == name) return i;
    names.push_back(text("\"", ports[i].name, "\""));
  }
  throw Error(Reason::invalid_param, text("the model has no ", kind, " \"", name, "\"; its ", kind,
                                          "s are ", join(names, ", ")));
}

// Whether a value of the output can be one of the input, as far as the file tells.
void check_pair(const Port& output, const Port& input) {
  const DType gives = storage_of(output.type);
  const DType takes = storage_of(input.type);
  if (gives != takes) {
    throw Error(Reason::dtype_mismatch,
                text("output \"", output.name, "\" is ", to_string(gives), ", input \"", input.name,
                     "\" takes ", to_string(takes)));
  }
  if (!output.shape || !input.shape || output.shape->size() == input.shape->size()) return;
  throw Error(Reason::shape_mismatch,
              text("output \"", output.name, "\" has ", output.shape->size(),
                   " dimensions, input \"", input.name, "\" takes ", input.shape->size()));
}

// The sizes of named dimensions, as far as the inputs that are there tell them.
std::map<std::string, int64_t> named_sizes(const std::vector<Port>& ports,
                                           const std::vector<BufferPtr>& buffers) {
  std::map<std::string, int64_t> sizes;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (buffers[i] == nullptr || !ports[i].shape) continue;
    const Shape& shape = buffers[i]->type().shape;
    for (size_t d = 0; d < std::min(shape.size(), ports[i].shape->size()); ++d) {
      const Dimension& dimension = (*ports[i].shape)[d];
      if (!dimension.name.empty()) sizes.emplace(dimension.name, shape[d]);
    }
  }
  return sizes;
}

// Whether the model returns a free dimension with another size, as attention does with the length
// of its cache. Caches have names for their lengths, whereas a batch is often without one.
bool grows(const Dimension& input, const Port& output, size_t index) {
  if (input.name.empty()) return false;
  if (!output.shape) return index > 0;
  const Dimension& returned = (*output.shape)[index];
  if (returned.size) return false;
  return returned.name.empty() ? index > 0 : returned.name != input.name;
}

}  // namespace

State::State(std::shared_ptr<Model> model, const Pairs& pairs,
             std::map<std::string, BufferPtr> initial)
    : model_(std::move(model)) {
  for (const auto& [output, input] : pairs) add(output, input);
  for (const Port& port : model_->outputs()) {
    if (pairs.empty() && !port.feeds.empty()) add(port.name, port.feeds);
  }
  if (slots_.empty()) {
    throw Error(Reason::invalid_param,
                "the model has no variables; name the outputs that are kept, and the inputs that "
                "take them: state: %{\"output\" => \"input\"}");
  }
  for (Slot& slot : slots_) {
    const auto found = initial.find(model_->inputs()[slot.input].name);
    if (found == initial.end()) continue;
    check_port(model_->inputs()[slot.input], found->second->type());
    slot.initial = std::move(found->second);
    initial.erase(found);
  }
  if (!initial.empty()) {
    throw Error(Reason::invalid_param,
                text("the state has no input \"", initial.begin()->first, "\""));
  }
  const auto kept = [this](size_t Slot::*place, size_t index) {
    return std::any_of(slots_.begin(), slots_.end(),
                       [&](const Slot& slot) { return slot.*place == index; });
  };
  for (size_t i = 0; i < model_->inputs().size(); ++i) {
    if (!kept(&Slot::input, i)) given_.push_back(i);
  }
  for (size_t i = 0; i < model_->outputs().size(); ++i) {
    if (!kept(&Slot::output, i)) returned_.push_back(i);
  }
}

void State::add(const std::string& output, const std::string& input) {
  Slot slot;
  slot.output = index_of(model_->outputs(), output, "output");
  slot.input = index_of(model_->inputs(), input, "input");
  check_pair(model_->outputs()[slot.output], model_->inputs()[slot.input]);
  for (const Slot& other : slots_) {
    if (other.input != slot.input) continue;
    throw Error(Reason::invalid_param,
                text("input \"", input, "\" takes output \"", model_->outputs()[other.output].name,
                     "\" and \"", output, "\", expected one output for each input"));
  }
  slots_.push_back(std::move(slot));
}

// A free dimension has the size that other inputs give it, and otherwise starts with 0 or 1.
Shape State::first_shape(const Slot& slot, const std::map<std::string, int64_t>& sizes) const {
  const Port& input = model_->inputs()[slot.input];
  const Port& output = model_->outputs()[slot.output];
  if (!input.shape) {
    throw Error(Reason::invalid_param, text("the model does not tell the shape of input \"",
                                            input.name, "\"; pass its first value"));
  }
  Shape shape;
  for (size_t d = 0; d < input.shape->size(); ++d) {
    const Dimension& dimension = (*input.shape)[d];
    const auto known = sizes.find(dimension.name);
    if (dimension.size) {
      shape.push_back(*dimension.size);
    } else if (!dimension.name.empty() && known != sizes.end()) {
      shape.push_back(known->second);
    } else {
      shape.push_back(grows(dimension, output, d) ? 0 : 1);
    }
  }
  return shape;
}

std::vector<BufferPtr> State::inputs(const std::vector<BufferPtr>& given) {
  if (given.size() != given_.size()) {
    throw Error(Reason::arity_mismatch,
                text("the model takes ", given_.size(), given_.size() == 1 ? " input" : " inputs",
                     " beside its state, got ", given.size()));
  }
  std::vector<BufferPtr> all(model_->inputs().size());
  for (size_t i = 0; i < given.size(); ++i) all[given_[i]] = given[i];
  for (const Slot& slot : slots_) {
    all[slot.input] = slot.value == nullptr ? slot.initial : slot.value;
  }
  const auto sizes = named_sizes(model_->inputs(), all);
  for (const Slot& slot : slots_) {
    if (all[slot.input] != nullptr) continue;
    const DType dtype = storage_of(model_->inputs()[slot.input].type);
    all[slot.input] = model_->zeros(checked_type(dtype, first_shape(slot, sizes)));
  }
  return all;
}

std::vector<BufferPtr> State::keep(const std::vector<BufferPtr>& outputs) {
  for (Slot& slot : slots_) slot.value = outputs[slot.output];
  std::vector<BufferPtr> rest;
  for (size_t index : returned_) rest.push_back(outputs[index]);
  return rest;
}

void State::reset() {
  for (Slot& slot : slots_) slot.value = nullptr;
}

std::vector<std::pair<std::string, BufferPtr>> State::values() const {
  std::vector<std::pair<std::string, BufferPtr>> values;
  for (const Slot& slot : slots_) {
    const BufferPtr& value = slot.value == nullptr ? slot.initial : slot.value;
    if (value != nullptr) values.emplace_back(model_->inputs()[slot.input].name, value);
  }
  return values;
}

}  // namespace dala::model
