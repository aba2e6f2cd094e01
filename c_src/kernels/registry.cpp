#include "kernels/registry.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/count/count.hpp"
#include "kernels/draw/draw.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/factor/factor.hpp"
#include "kernels/fft/fft.hpp"
#include "kernels/image/kernels.hpp"
#include "kernels/index/index.hpp"
#include "kernels/linalg/matmul.hpp"
#include "kernels/nn/nn.hpp"
#include "kernels/random/random.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/scan/scan.hpp"
#include "kernels/shape/shape.hpp"
#include "kernels/sort/sort.hpp"
#include "kernels/window/window.hpp"
#include "runtime/error.hpp"

namespace dala {
namespace {

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substitute = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substitute, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// The edit distance, but at most 1 for a name without its prefix ("add").
size_t strangeness(const std::string& given, const std::string& name) {
  const size_t distance = edit_distance(given, name);
  if (given.size() >= 3 && name.ends_with("_" + given)) return std::min<size_t>(distance, 1);
  return distance;
}

std::string suggestion(const std::string& given, const std::vector<std::string>& names) {
  constexpr size_t kMost = 3;
  constexpr size_t kMostWork = 200'000;  // compared characters: well below a millisecond
  // Names that differ in more than a third of their characters are unrelated.
  const size_t limit = std::clamp<size_t>(given.size() / 3, 1, 3);
  std::vector<std::pair<size_t, std::string>> near;
  size_t work = 0;
  for (const std::string& name : names) {
    work += given.size() * name.size();
    if (work > kMostWork) break;
    const size_t distance = strangeness(given, name);
    if (distance <= limit) near.emplace_back(distance, name);
  }
  if (near.empty()) return "kernels/0 lists those there are";
  std::sort(near.begin(), near.end());
  std::vector<std::string> nearest;
  for (const auto& [distance, name] : near) {
    if (distance == near[0].first && nearest.size() < kMost) nearest.push_back(name);
  }
  return text("did you mean ", join(nearest, " or "), "?");
}

}  // namespace

Registry::Registry() {
  for (auto family :
       {elementwise_kernels, shape_kernels, reduce_kernels, window_kernels, scan_kernels,
        sort_kernels, count_kernels, index_kernels, random_kernels, fft_kernels, linalg_kernels,
        factor_kernels, nn_kernels, image_kernels, draw_kernels}) {
    for (Descriptor& descriptor : family()) {
      std::string name = descriptor.name;
      kernels_.emplace(std::move(name), std::make_shared<Descriptor>(std::move(descriptor)));
    }
  }
}

std::shared_ptr<const Descriptor> Registry::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(name);
  if (found != kernels_.end() && !is_gone(*found->second)) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, descriptor] : kernels_) names.push_back(known);
  throw Error(Reason::unknown_kernel,
              text("no kernel is named ", name, "; ", suggestion(name, names)), {{"kernel", name}});
}

bool Registry::has(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(name);
  return found != kernels_.end() && !is_gone(*found->second);
}

std::vector<std::shared_ptr<const Descriptor>> Registry::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const Descriptor>> result;
  for (const auto& [name, descriptor] : kernels_) {
    if (!is_gone(*descriptor)) result.push_back(descriptor);
  }
  return result;
}

void Registry::need_free_name(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(name);
  if (found == kernels_.end() || found->second->custom) return;
  throw Error(Reason::invalid_param, text(name, " is a built-in kernel and cannot be replaced"));
}

void Registry::add(Descriptor descriptor) {
  need_free_name(descriptor.name);
  const std::lock_guard lock(mutex_);
  descriptor.custom = true;
  auto added = std::make_shared<Descriptor>(std::move(descriptor));
  kernels_[added->name] = added;
  ++generation_;
}

bool Registry::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(name);
  if (found == kernels_.end() || !found->second->custom) return false;
  kernels_.erase(found);
  ++generation_;
  return true;
}

void Registry::remove_gone() {
  const std::lock_guard lock(mutex_);
  const auto gone = [this](const auto& entry) { return is_gone(*entry.second); };
  if (std::erase_if(kernels_, gone) > 0) ++generation_;
}

}  // namespace dala
