// A request to the compiler process, serialised for its standard input. Both processes compile this
// file.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/schedule/launch.hpp"

namespace dala {

// One of the specialisations that a driver which compiles at launch (PoCL) keeps of a kernel: one
// per work-group size, and another for wide grids.
struct Specialisation {
  std::string entry;  // the kernel's name; "" is the program's only kernel
  std::array<size_t, 3> local{1, 1, 1};
  bool wide = false;

  auto operator<=>(const Specialisation&) const = default;
};

// The specialisation that a launch over this range needs.
Specialisation specialisation_of(const std::string& entry, const Range& range);

struct CompileRequest {
  std::string platform;  // names of the platform and of the device
  std::string device;
  std::string source;
  std::string options;
  std::vector<Specialisation> specialisations;
};

std::string encode(const CompileRequest& request);
// Nothing if the bytes are not a valid request.
std::optional<CompileRequest> decode_request(std::string_view bytes);

}  // namespace dala
