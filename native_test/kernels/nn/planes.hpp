// Windows over planes as the tests see them: parameters read once more, and output extents counted
// by walking instead of by formula.
#pragma once

#include <array>
#include <string>

#include "support/subject.hpp"

namespace dala::test {

// A parameter that is an integer or a list of them, widened to {y, x} or {top, left, bottom,
// right}.
inline std::vector<int64_t> widened(const Params& params, const std::string& name, size_t count,
                                    int64_t fallback) {
  const auto found = params.find(name);
  std::vector<int64_t> given{fallback};
  if (found != params.end()) {
    if (const auto* integer = std::get_if<int64_t>(&found->second)) {
      given = {*integer};
    } else {
      given.clear();
      for (double number : std::get<std::vector<double>>(found->second)) {
        given.push_back(static_cast<int64_t>(number));
      }
    }
  }
  std::vector<int64_t> result;
  for (size_t i = 0; i < count; ++i) result.push_back(given[i % given.size()]);
  return result;
}

// How many windows that span that much fit, starting at 0 and moving on by `stride`.
inline int64_t places(int64_t padded, int64_t span, int64_t stride) {
  int64_t count = 0;
  for (int64_t start = 0; start + span <= padded; start += stride) ++count;
  return count;
}

}  // namespace dala::test
