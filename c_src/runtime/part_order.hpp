// The order of parts within a command: a part follows the latest ones that it shares bytes with,
// where one of the two writes; everything follows a barrier, and a barrier everything.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/command.hpp"

namespace dala {

class PartOrder {
 public:
  // Sets which earlier parts this one follows. To be called for every part of a command, in order.
  void place(BoundStage& part, size_t index);

 private:
  // Bytes of a storage that parts have used.
  struct Area {
    size_t from = 0;
    size_t end = 0;
    std::optional<size_t> writer;      // the latest
    std::vector<size_t> readers = {};  // since then
  };
  // The areas of everything that lies in the same memory. Most often there is one, all of it.
  using Areas = std::vector<Area>;

  void read(const Storage& storage, size_t index, std::vector<size_t>& after);
  void write(const Storage& storage, size_t index, std::vector<size_t>& after);

  std::unordered_map<const Storage*, Areas> areas_;
  std::optional<size_t> barrier_;
};

}  // namespace dala
