// A custom kernel after compilation: the meaning of its arguments, and how a call becomes a launch.
// For the files of custom kernels only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/custom/kernel_arguments.hpp"
#include "kernels/custom/lengths.hpp"
#include "kernels/descriptor.hpp"
#include "runtime/device/device.hpp"

namespace dala {

// A compiled kernel and the meaning of each of its arguments.
struct CompiledKernel {
  std::shared_ptr<Program> program;
  std::string name;   // as registered
  std::string entry;  // in the source
  std::vector<KernelArgument> arguments;
  std::vector<std::string> outputs;  // names of arguments
  std::optional<Lengths> lengths;
  bool pixels = false;  // one work-item per pixel instead of per element
  bool trusted = false;
  std::vector<int64_t> items;  // work-items of any call; empty if calls determine them
  std::map<std::string, int64_t> local_memory;
  std::array<size_t, 3> required_local{};  // zeros if neither source nor caller fixes the size

  // The index of the output that the argument is; negative if it is none.
  int output_of(const KernelArgument& argument) const {
    const auto found = std::find(outputs.begin(), outputs.end(), argument.name);
    return found == outputs.end() ? -1 : static_cast<int>(found - outputs.begin());
  }
};

// The work-group sizes to choose from, largest first. Drivers that compile at launch compile each
// size separately, so the list is short for them.
std::vector<size_t> group_sizes(const Device& device);

// Element types and lengths of all buffers; throws Error.
void check_call(const CompiledKernel& kernel, const Call& call);
// The launch of a call that has been checked.
Launch plan_call(const CompiledKernel& kernel, const Call& call, const Device& device);

}  // namespace dala
