// What the runtime asks of the compiler process, as bytes for its standard input. Both processes
// compile this file.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/launch.hpp"

namespace dala {

// One of the forms in which a driver that compiles at launch, as PoCL does, keeps a kernel: by the
// size of its work-groups, and once more for wide grids.
struct Specialisation {
  std::string entry;  // the kernel; "" is the only one of its program
  std::array<size_t, 3> local{1, 1, 1};
  bool wide = false;

  auto operator<=>(const Specialisation&) const = default;
};

// The form that a launch over this range needs.
Specialisation specialisation_of(const std::string& entry, const Range& range);

struct CompileRequest {
  std::string platform;  // names of the platform and of the device
  std::string device;
  std::string source;
  std::string options;
  std::vector<Specialisation> specialisations;
};

std::string encode(const CompileRequest& request);
// None: these bytes are not a request.
std::optional<CompileRequest> decode_request(std::string_view bytes);

}  // namespace dala
