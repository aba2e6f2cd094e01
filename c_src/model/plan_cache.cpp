#include "model/plan_cache.hpp"

#include <algorithm>
#include <utility>

namespace dala::model {
namespace {

constexpr size_t kMaxPlans = 8;
constexpr size_t kMaxNewValues = 16;  // of small inputs in a row, before planning is given up
constexpr int64_t kSmallInput = 16;   // elements of an input whose values a plan may be made for

}  // namespace

Error model_freed() { return Error(Reason::freed, "the model has been freed"); }

Error needs_plan(const std::string& use) {
  return Error(Reason::unsupported,
               "a model whose shapes depend on values runs step by step and " + use);
}

PlanPtr PlanCache::look_up(const Key& key) {
  if (freed_) throw model_freed();
  const auto found = unplannable_ ? plans_.end() : plans_.find(key);
  if (found == plans_.end()) return nullptr;
  found->second.used = ++uses_;
  return found->second.plan;
}

void PlanCache::insert(const Key& key, PlanPtr plan) {
  if (plans_.size() >= kMaxPlans) {
    plans_.erase(std::min_element(plans_.begin(), plans_.end(), [](const auto& a, const auto& b) {
      return a.second.used < b.second.used;
    }));
  }
  plans_[key] = {std::move(plan), ++uses_};
}

// Throws NeedsValues.
PlanPtr PlanCache::find_or_make(const std::vector<Shape>& shapes, const InputValues& values) {
  Key key = shapes;
  for (const auto& [index, tensor] : values) key.push_back(tensor->integers());
  const std::lock_guard lock(mutex_);
  if (PlanPtr plan = look_up(key)) {
    new_values_ = 0;
    return plan;
  }
  if (unplannable_) return nullptr;
  // An input that differs every time, such as a position, would make every plan a new one.
  if (!values.empty() && ++new_values_ > kMaxNewValues) throw NeedsValues{};
  PlanPtr plan = planner_.plan(shapes, values);
  insert(key, plan);
  return plan;
}

PlanPtr PlanCache::find_or_make(const std::vector<Shape>& shapes,
                                const std::vector<BufferPtr>* inputs) {
  try {
    if (!by_value_) return find_or_make(shapes, InputValues{});
  } catch (const NeedsValues&) {
    by_value_ = true;
  }
  if (inputs == nullptr) return nullptr;
  try {
    const InputValues values = small_values(*inputs);
    if (!values.empty()) return find_or_make(shapes, values);
  } catch (const NeedsValues&) {
    // The values of other inputs, or of intermediate results, determine shapes.
  }
  const std::lock_guard lock(mutex_);
  if (freed_) throw model_freed();
  unplannable_ = true;
  return nullptr;
}

PlanPtr PlanCache::find(const std::vector<Shape>& shapes) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return nullptr;
  PlanPtr plan = look_up(shapes);
  if (unplannable_ || by_value_) throw needs_plan("is no kernel");
  return plan;
}

InputValues PlanCache::small_values(const std::vector<BufferPtr>& inputs) const {
  InputValues values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ElementType type = planner_.inputs()[i].type;
    const TensorType& given = inputs[i]->type();
    if (is_float(type) || given.count() > kSmallInput || given.count() == 0) continue;
    auto tensor = std::make_shared<HostTensor>(type, given.shape);
    tensor->bytes = engine_.runtime().read_now(inputs[i]);
    values[i] = std::move(tensor);
  }
  return values;
}

std::vector<BufferPtr> PlanCache::run(const std::vector<BufferPtr>& inputs) {
  const std::lock_guard lock(mutex_);
  if (freed_) throw model_freed();
  return planner_.run(inputs);
}

size_t PlanCache::working_bytes() {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const auto& [key, entry] : plans_) bytes += entry.plan->bytes();
  return bytes;
}

void PlanCache::forget_packed_weights() {
  const std::lock_guard lock(mutex_);
  planner_.forget_packed_weights();
}

void PlanCache::free() {
  const std::lock_guard lock(mutex_);
  freed_ = true;
  // Pipelines hold buffers of plans until they run again, so the memory is taken from these.
  for (const auto& [key, entry] : plans_) entry.plan->give_back(engine_.runtime());
  plans_.clear();
  planner_.free();
}

}  // namespace dala::model
