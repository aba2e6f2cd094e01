#include "model/plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "runtime/device.hpp"

namespace dala::model {
namespace {

constexpr size_t kAlignment = 128;  // two lines of the cache
// Bytes that have to be saved by guests, since every run gives them their places anew.
constexpr size_t kWorthAVisit = 1 << 20;

BufferPtr as_bytes(const StoragePtr& storage) {
  return std::make_shared<Buffer>(TensorType{DType::u8, {static_cast<int64_t>(storage->bytes())}},
                                  storage);
}

}  // namespace

Plan::Plan(Runtime& runtime, std::vector<PlannedStage> stages, std::vector<Tensor> outputs)
    : stages_(std::move(stages)), outputs_(std::move(outputs)) {
  share_memory(runtime);
}

// A place lives from the stage that first writes it to the last that uses it. What a stage works
// out in place takes over the memory of an input that ends there.
Plan::Lodging Plan::lodging(uint64_t limit) const {
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

  Lodging result;
  std::map<const Place*, size_t> lodger_of;
  for (size_t i = 0; i < stages_.size(); ++i) {
    const PlannedStage& stage = stages_[i];
    const PlacePtr& output = stage.output;
    if (!ours(output) || lodger_of.count(output.get()) != 0) continue;
    if (output->bytes > limit) {
      throw Error(Reason::out_of_memory,
                  text("a tensor of ", output->bytes, " bytes, where there is memory of ", limit));
    }
    const auto ends = [&](const PlacePtr& place) {
      return lodger_of.count(place.get()) != 0 && last_use[place.get()] == i &&
             place->bytes == output->bytes;
    };
    const auto taken = stage.launch->in_place
                           ? std::find_if(stage.inputs.begin(), stage.inputs.end(), ends)
                           : stage.inputs.end();
    std::vector<Lodger>& lodgers = result.lodgers;
    const size_t own = taken != stage.inputs.end() ? lodger_of[taken->get()] : lodgers.size();
    if (own == lodgers.size()) lodgers.push_back({output->bytes, i, i});
    lodgers[own].last = last_use[output.get()];
    lodger_of[output.get()] = own;
    result.places.emplace_back(output, own);
  }
  return result;
}

// What ends before the largest output is written may lie in that output's memory.
void Plan::share_memory(Runtime& runtime) {
  const auto [lodgers, places] = lodging(runtime.memory().info().limit);
  const DeviceInfo& device = runtime.device().info();
  const auto laid_out = [&](const std::vector<Lodger>& each) {
    const size_t alignment = std::max<size_t>(device.alignment, kAlignment);
    return lay_out(each, alignment, device.max_allocation);
  };
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].bytes() > outputs_[host_].bytes()) host_ = i;
  }
  const size_t room = outputs_.empty() ? 0 : outputs_[host_].bytes();
  const auto writes = [&](const PlannedStage& stage) {
    return room > 0 && stage.output == outputs_[host_].place;
  };
  const auto written =
      static_cast<size_t>(std::find_if(stages_.begin(), stages_.end(), writes) - stages_.begin());
  const auto early = [&](const Lodger& each) { return each.last < written; };
  // The others take no room.
  const auto laid_out_if = [&, &lodgers = lodgers](bool wanted) {
    std::vector<Lodger> some = lodgers;
    for (Lodger& each : some) {
      if (early(each) != wanted) each.bytes = 0;
    }
    return laid_out(some);
  };
  Arena arena = laid_out(lodgers);
  const Arena late = laid_out_if(false);
  const Arena hosted = laid_out_if(true);
  const bool hosts = hosted.pieces.size() == 1 && hosted.bytes() <= room &&
                     late.bytes() + kWorthAVisit <= arena.bytes();
  if (hosts) arena = late;
  guest_bytes_ = hosts ? hosted.bytes() : 0;
  bytes_ = arena.bytes();

  std::vector<StoragePtr> pieces;
  for (size_t bytes : arena.pieces) pieces.push_back(runtime.memory().allocate(bytes));
  std::vector<StoragePtr> parts(lodgers.size());
  for (const auto& [place, lodger] : places) {
    if (hosts && early(lodgers[lodger])) {
      guests_.push_back({place, hosted.spots[lodger].offset});
      continue;
    }
    const Arena::Spot& spot = arena.spots[lodger];
    StoragePtr& part = parts[lodger];
    if (part == nullptr) {
      part = runtime.memory().part(pieces[spot.piece], spot.offset, lodgers[lodger].bytes);
    }
    place->storage = part;
    place->buffer = as_bytes(part);
  }
}

void Plan::give_back(Runtime& runtime) const {
  const auto free = [&](const PlacePtr& place) {
    if (place->buffer != nullptr) runtime.scheduler().free(*place->buffer);
  };
  for (const PlannedStage& stage : stages_) {
    for (const PlacePtr& place : stage.inputs) free(place);
    free(stage.output);
  }
}

Plan::Bound Plan::bind(Runtime& runtime, const std::vector<BufferPtr>& inputs) const {
  Bound bound;
  StoragePtr host;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    StoragePtr storage = runtime.memory().allocate(outputs_[i].bytes());
    if (i == host_) host = storage;
    bound.outputs.push_back(std::make_shared<Buffer>(outputs_[i].storage(), std::move(storage)));
  }
  bound.stages = bind(runtime, inputs, bound.outputs, host);
  return bound;
}

// Somebody may look at these outputs until they are written, so guests stay elsewhere.
std::vector<Stage> Plan::bind(Runtime& runtime, const std::vector<BufferPtr>& inputs,
                              const std::vector<BufferPtr>& outputs) const {
  StoragePtr host = guests_.empty() ? nullptr : runtime.memory().allocate(guest_bytes_);
  return bind(runtime, inputs, outputs, host);
}

std::vector<Stage> Plan::bind(Runtime& runtime, const std::vector<BufferPtr>& inputs,
                              const std::vector<BufferPtr>& outputs, const StoragePtr& host) const {
  std::map<const Place*, BufferPtr> theirs;
  for (size_t i = 0; i < outputs_.size(); ++i) theirs[outputs_[i].place.get()] = outputs[i];
  for (const Guest& guest : guests_) {
    theirs[guest.place.get()] =
        as_bytes(runtime.memory().part(host, guest.offset, guest.place->bytes));
  }
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
