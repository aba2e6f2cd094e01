// A launch is a validated kernel call: the programs it needs, the steps to enqueue, the scratch to
// allocate. It names its memory by operand, not by address, so a pipeline can plan it once and
// replay it with whatever memory its buffers have then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "runtime/device/cl_api.hpp"

namespace dala {

class Program;

// The memory that a step uses: an input, output or scratch area by position.
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

// Copies bytes between an operand and host memory, which `owner` keeps alive until the copy is
// done.
struct HostCopyStep {
  enum class Direction { to_device, to_host } direction = Direction::to_device;
  Operand device;
  void* host = nullptr;
  size_t bytes = 0;
  std::shared_ptr<void> owner;
  size_t offset = 0;  // of the first byte copied, in the operand
};

// Work that a library (CLBlast) enqueues itself. Called on a worker thread, since such calls may
// compile for seconds. `queue` is in order: commands enqueued on it start once the memory arguments
// are ready.
struct CallStep {
  std::function<void(cl_command_queue queue, const std::function<cl_mem(Operand)>& memory)> call;
};

using Step = std::variant<KernelStep, CopyStep, FillStep, HostCopyStep, CallStep>;

struct Launch {
  std::string name;               // of the kernel, for users
  std::vector<Step> steps;        // in order; may be empty
  std::vector<size_t> scratch;    // bytes of each scratch area
  bool in_place = false;          // correct even if an output aliases an input
  bool overwrites_output = true;  // false: elements not written keep their old value
  bool fills = false;             // if it fails, the content of its output is undefined
  bool trusted = true;            // false: may write to its inputs
  double work = 0;                // estimate: bytes moved plus operations / 8
  double bytes = 0;               // of its operands

  double operations() const { return work > bytes ? 8 * (work - bytes) : 0; }
};

}  // namespace dala
