#include "model/plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "model/build.hpp"

namespace dala::model {

Plan::Plan(Runtime& runtime, std::vector<PlannedStage> stages, std::vector<Tensor> outputs)
    : stages_(std::move(stages)), outputs_(std::move(outputs)) {
  share_memory(runtime);
}

// Goes through the stages in order with a list of memory that is free: a place takes the smallest
// piece that holds it, or else the largest, made larger; after its last use the piece is free.
void Plan::share_memory(Runtime& runtime) {
  std::set<const Place*> theirs;  // memory that every run brings along
  for (const Tensor& output : outputs_) theirs.insert(output.place.get());
  const auto ours = [&](const PlacePtr& place) {
    return place->buffer == nullptr && place->input < 0 && theirs.count(place.get()) == 0;
  };
  std::map<const Place*, size_t> last_use;
  for (size_t i = 0; i < stages_.size(); ++i) {
    for (const PlacePtr& place : stages_[i].inputs) last_use[place.get()] = i;
    last_use[stages_[i].output.get()] = i;
  }

  std::vector<size_t> sizes;
  std::vector<size_t> free_ones;
  std::map<const Place*, size_t> slots;
  std::vector<std::pair<PlacePtr, size_t>> assigned;
  for (size_t i = 0; i < stages_.size(); ++i) {
    const PlacePtr& output = stages_[i].output;
    if (ours(output) && slots.count(output.get()) == 0) {
      size_t chosen = sizes.size();
      auto best = free_ones.end();
      for (auto it = free_ones.begin(); it != free_ones.end(); ++it) {
        if (best == free_ones.end()) {
          best = it;
          continue;
        }
        const bool holds = sizes[*it] >= output->bytes;
        const bool best_holds = sizes[*best] >= output->bytes;
        const bool tighter = holds && (!best_holds || sizes[*it] < sizes[*best]);
        const bool larger = !holds && !best_holds && sizes[*it] > sizes[*best];
        if (tighter || larger) best = it;
      }
      if (best != free_ones.end()) {
        chosen = *best;
        free_ones.erase(best);
        sizes[chosen] = std::max(sizes[chosen], output->bytes);
      } else {
        sizes.push_back(output->bytes);
      }
      slots[output.get()] = chosen;
      assigned.emplace_back(output, chosen);
    }
    std::set<const Place*> ended;
    for (const PlacePtr& place : stages_[i].inputs) {
      if (last_use[place.get()] == i) ended.insert(place.get());
    }
    if (last_use[output.get()] == i) ended.insert(output.get());
    for (const Place* place : ended) {
      const auto slot = slots.find(place);
      if (slot != slots.end()) free_ones.push_back(slot->second);
    }
  }

  std::vector<Place> pieces(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    pieces[i].bytes = sizes[i];
    allocate(runtime, pieces[i]);
    bytes_ += sizes[i];
  }
  for (auto& [place, slot] : assigned) {
    place->buffer = pieces[slot].buffer;
    place->storage = pieces[slot].storage;
  }
}

Plan::Bound Plan::bind(Runtime& runtime, const std::vector<BufferPtr>& inputs) const {
  Bound bound;
  for (const Tensor& output : outputs_) {
    StoragePtr storage = runtime.memory().allocate(output.bytes());
    bound.outputs.push_back(std::make_shared<Buffer>(output.storage(), std::move(storage)));
  }
  bound.stages = bind(inputs, bound.outputs);
  return bound;
}

std::vector<Stage> Plan::bind(const std::vector<BufferPtr>& inputs,
                              const std::vector<BufferPtr>& outputs) const {
  std::map<const Place*, BufferPtr> theirs;
  for (size_t i = 0; i < outputs_.size(); ++i) theirs[outputs_[i].place.get()] = outputs[i];
  const auto memory = [&](const PlacePtr& place) {
    if (place->input >= 0) return inputs[static_cast<size_t>(place->input)];
    if (place->buffer != nullptr) return place->buffer;
    return theirs.at(place.get());
  };
  std::vector<Stage> stages;
  stages.reserve(stages_.size());
  for (const PlannedStage& planned : stages_) {
    Stage stage;
    stage.launch = planned.launch;
    for (const PlacePtr& place : planned.inputs) stage.inputs.push_back(memory(place));
    stage.output = memory(planned.output);
    stages.push_back(std::move(stage));
  }
  return stages;
}

}  // namespace dala::model
