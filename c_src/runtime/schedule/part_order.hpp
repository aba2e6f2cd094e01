// The order of parts within a command: a part follows the latest parts with which it has a hazard,
// by byte range. A barrier follows everything, and everything after it follows the barrier.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/schedule/command.hpp"

namespace dala {

class PartOrder {
 public:
  // Sets the earlier parts that this one follows. To be called for every part of a command, in
  // order.
  void place(BoundStage& part, size_t index);

 private:
  // A byte range of a storage that parts have used.
  struct Area {
    size_t from = 0;
    size_t end = 0;
    std::optional<size_t> writer;      // the latest
    std::vector<size_t> readers = {};  // since then
  };
  // The areas of one allocation. Usually there is one, which covers it all.
  using Areas = std::vector<Area>;

  void read(const Storage& storage, size_t index, std::vector<size_t>& after);
  void write(const Storage& storage, size_t index, std::vector<size_t>& after);

  std::unordered_map<const Storage*, Areas> areas_;
  std::optional<size_t> barrier_;
};

}  // namespace dala
