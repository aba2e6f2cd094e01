// A launch is what a kernel call turns into once it is validated: programs to have, steps to
// enqueue, scratch to provide. It names its memory by operand, not by address, so a pipeline can
// plan once and replay with whatever memory its buffers have by then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "runtime/cl_api.hpp"

namespace dala {

class Program;

// Which memory a step works on: an input or output by position, or a scratch area.
struct Operand {
  enum class Kind { input, output, scratch } kind = Kind::output;
  int index = 0;
};
inline Operand input(int index) { return {Operand::Kind::input, index}; }
inline Operand output(int index = 0) { return {Operand::Kind::output, index}; }
inline Operand scratch(int index) { return {Operand::Kind::scratch, index}; }

// A kernel argument passed by value; the host type must have the layout of the OpenCL one.
struct Value {
  std::vector<std::byte> bytes;
};
template <typename T>
Value value(const T& object) {
  static_assert(std::is_trivially_copyable_v<T>);
  Value result{std::vector<std::byte>(sizeof(T))};
  std::memcpy(result.bytes.data(), &object, sizeof(T));
  return result;
}

// A `__local` pointer argument of that many bytes.
struct LocalMemory {
  size_t bytes = 0;
};

using Argument = std::variant<Operand, Value, LocalMemory>;

struct Range {
  std::array<size_t, 3> global{1, 1, 1};
  std::array<size_t, 3> local{1, 1, 1};  // must divide global
  int dimensions = 1;
};

struct KernelStep {
  std::shared_ptr<Program> program;
  std::string entry;
  std::vector<Argument> arguments;
  Range range;
  // Which of the kernels it is that its program can run in a sequence, see runtime/sequence.hpp.
  std::optional<uint32_t> member = {};
};

struct CopyStep {
  Operand from;
  Operand to;
  size_t bytes = 0;
};

struct FillStep {
  Operand to;
  Value pattern;  // 1, 2, 4, 8 or 16 bytes
  size_t bytes = 0;
};

// Moves bytes between an operand and host memory, which `owner` keeps alive until it is done.
struct HostCopyStep {
  enum class Direction { to_device, to_host } direction = Direction::to_device;
  Operand device;
  void* host = nullptr;
  size_t bytes = 0;
  std::shared_ptr<void> owner;
  size_t offset = 0;  // of the operand's first byte that is moved
};

// Work a library enqueues itself (CLBlast). Called on a worker thread, since such calls may
// compile for seconds; `queue` is in order, its memory arguments are ready when the call's
// commands run.
struct CallStep {
  std::function<void(cl_command_queue queue, const std::function<cl_mem(Operand)>& memory)> call;
};

using Step = std::variant<KernelStep, CopyStep, FillStep, HostCopyStep, CallStep>;

struct Launch {
  std::string name;               // of the kernel, for people
  std::vector<Step> steps;        // run one after the other; none: nothing to do
  std::vector<size_t> scratch;    // bytes of each scratch area
  bool in_place = false;          // right even when an output is also an input
  bool overwrites_output = true;  // false: elements not written keep their old value
  bool fills = false;             // gives its output the content that the caller relies on
  bool trusted = true;            // false: may write to what it is only given to read
  double work = 0;                // rough size of the work: bytes moved plus operations / 8
  double bytes = 0;               // of its operands

  double operations() const { return work > bytes ? 8 * (work - bytes) : 0; }
};

}  // namespace dala
