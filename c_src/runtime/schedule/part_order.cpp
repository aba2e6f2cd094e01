#include "runtime/schedule/part_order.hpp"

#include <algorithm>

namespace dala {

void PartOrder::place(BoundStage& part, size_t index) {
  std::vector<size_t>& after = part.after;
  if (barrier_) after.push_back(*barrier_);
  if (part.launch == nullptr) {
    for (size_t i = barrier_ ? *barrier_ + 1 : 0; i < index; ++i) after.push_back(i);
    barrier_ = index;
    areas_.clear();
    return;
  }
  for (const StoragePtr& input : part.inputs) read(*input, index, after);
  for (const BoundOutput& output : part.outputs) {
    if (output.previous != nullptr) read(*output.previous, index, after);
  }
  for (const BoundOutput& output : part.outputs) write(*output.storage, index, after);
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
  std::erase(after, index);
}

void PartOrder::read(const Storage& storage, size_t index, std::vector<size_t>& after) {
  const size_t from = storage.offset();
  const size_t end = from + storage.bytes();
  Areas& areas = areas_[&storage.whole()];
  Area* own = nullptr;
  for (Area& area : areas) {
    const bool same = area.from == from && area.end == end;
    if (!same && (area.end <= from || end <= area.from)) continue;
    if (area.writer) after.push_back(*area.writer);
    if (same) own = &area;
  }
  if (own == nullptr) own = &areas.emplace_back(Area{from, end, std::nullopt});
  own->readers.push_back(index);
}

// Later users of these bytes follow this part, and with it everything that it follows.
void PartOrder::write(const Storage& storage, size_t index, std::vector<size_t>& after) {
  const size_t from = storage.offset();
  const size_t end = from + storage.bytes();
  Areas& areas = areas_[&storage.whole()];
  std::erase_if(areas, [&](const Area& area) {
    const bool inside = from <= area.from && area.end <= end;
    if (!inside && (area.end <= from || end <= area.from)) return false;
    if (area.writer) after.push_back(*area.writer);
    after.insert(after.end(), area.readers.begin(), area.readers.end());
    return inside;
  });
  areas.push_back(Area{from, end, index});
}

}  // namespace dala
