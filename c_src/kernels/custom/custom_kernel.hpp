// Kernels that users write: OpenCL C, compiled and checked against the compiler's own argument
// information, then callable by name like any other.
#pragma once

#include <string>
#include <vector>

#include "kernels/descriptor.hpp"
#include "kernels/planner.hpp"

namespace dala {

struct CustomSource {
  std::string name;
  std::string source;
  int inputs = 1;
  std::vector<std::string> params;  // names of the scalar arguments that callers set
  std::string range = "auto";       // "elements", "pixels", or "auto"
  std::string entry;                // the kernel's name in the source; "" when there is only one
  std::string summary;
};

// Compiles the source: for worker threads only. Throws `build_failed` with the log, or
// `invalid_param` when an argument is none of: an input, `output`, one of `params`, or a name
// that is filled in (`n`, `width`, `height`, `channels`).
Descriptor make_custom_kernel(const CustomSource& custom, Planner& planner);

}  // namespace dala
