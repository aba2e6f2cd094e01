// Kernels written by users in OpenCL C: compiled, checked against the argument information of the
// compiler, then callable by name like built-in ones.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/custom/source_check.hpp"
#include "kernels/descriptor.hpp"
#include "kernels/planner.hpp"

namespace dala {

struct CustomSource {
  std::string name;
  std::string source;
  int inputs = 1;
  // The names of the arguments that are outputs, in the order in which callers give them.
  std::vector<std::string> outputs = {"output"};
  std::vector<std::string> params;  // names of the scalar arguments that callers set
  std::string range = "auto";       // "elements", "pixels", or "auto"
  // Work-items in one to three dimensions, in place of `range`, and of a work-group; empty if not
  // given.
  std::vector<int64_t> items;
  std::vector<int64_t> local;
  // The number of elements of each `__local` pointer, by the name of its argument.
  std::map<std::string, int64_t> local_memory;
  std::string entry;  // the kernel's name in the source; "" if there is only one
  std::string summary;
  Headers headers;  // that the source may include
  // The minimum number of elements of a buffer, by the name of its argument, if it is independent
  // of the output's size. The name "" stands for all buffers.
  std::map<std::string, int64_t> sizes;
  // The kernel is known not to write to its inputs, so it gets their memory itself and not a copy,
  // even if an Erlang binary shows it.
  bool trusted = false;
};

// Compiles the source: for worker threads only. Throws `build_failed` with the log, or
// `invalid_param` when the source contains anything that is not allowed (see source_check.hpp), or
// an argument is none of: an input, one of `outputs`, one of `params`, or a name that is filled in
// (see lengths.hpp).
Descriptor make_custom_kernel(const CustomSource& custom, Planner& planner);

}  // namespace dala
