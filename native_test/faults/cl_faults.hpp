// Intercepts the OpenCL loader: makes one call fail with a given code, and counts the references to
// OpenCL objects that the library holds.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/device/cl_api.hpp"

namespace dala::test {

// The functions of the library's table, in its order.
enum class ClFunction {
#define DALA_CL_NAME(name) name,
  DALA_CL_FUNCTIONS(DALA_CL_NAME)
#undef DALA_CL_NAME
};

struct ClFaultSpec {
  ClFunction function;
  const char* name;
  std::vector<cl_int> codes;  // that OpenCL 1.2 allows it to return
};
const std::vector<ClFaultSpec>& cl_fault_specs();

class ClFaults {
 public:
  // Wraps the table. To be called before the first engine of the process.
  static void install();

  // From now on the nth call (1 is the next) of the function fails, once. The call has no other
  // effect, except that a release does release.
  static void arm(ClFunction function, int nth, cl_int code);
  // The nth callback from now on reports this status of its command.
  static void arm_status(int nth, cl_int status);
  // Removes the fault; returns whether it occurred.
  static bool disarm();

  // The number of calls since the start.
  static long calls(ClFunction function);

  // References to contexts, queues, memory, programs, kernels and events that are not released.
  static std::map<std::string, long> live();

  // Whether the calling thread belongs to the library, or calls it, and is not inside the driver.
  // The library's threads have names; those of drivers inherit the name of the process.
  static bool in_library();

  // During its lifetime, calls of this thread do not count as the library's.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
  };
};

}  // namespace dala::test
