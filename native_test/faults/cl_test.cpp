// Every OpenCL function fails once, with every code that it may return. The outcome is an Error or
// success, nothing leaks, and the same work succeeds afterwards.
#include <doctest/doctest.h>

#include "faults/cl_faults.hpp"
#include "faults/recovery.hpp"

namespace dala::test {
namespace {

// Functions that are called when the device starts or a program is built: each of their faults
// needs an engine of its own.
bool starts(ClFunction function) {
  return function <= ClFunction::clReleaseCommandQueue ||
         (function >= ClFunction::clCreateProgramWithSource &&
          function <= ClFunction::clReleaseKernel) ||
         (function >= ClFunction::clGetKernelInfo &&
          function <= ClFunction::clGetKernelWorkGroupInfo);
}

struct Fault {
  const ClFaultSpec& spec;
  int nth;
  cl_int code;
};

std::string describe(const Fault& fault, const std::string& where) {
  return text("call ", fault.nth, " of ", fault.spec.name, " fails with ", status_name(fault.code),
              " (", fault.code, ") in ", where);
}

// The first call with all codes, and later calls with the first code.
std::vector<Fault> faults_of(const ClFaultSpec& spec, long calls) {
  std::vector<Fault> faults;
  if (calls == 0) return faults;
  for (cl_int code : spec.codes) faults.push_back({spec, 1, code});
  constexpr long kFew = 6;
  for (long nth : some_of(calls, kFew)) {
    if (nth > 1) faults.push_back({spec, static_cast<int>(nth), spec.codes.front()});
  }
  return faults;
}

long calls_of(ClFunction function, const std::function<void()>& action) {
  const long before = ClFaults::calls(function);
  action();
  return ClFaults::calls(function) - before;
}

void run_fresh(const Config& config, const Part& part) {
  const ScopedEngine scoped(config);
  part.run();
}

// Starts a device under the fault, and then without it.
void fail_start(const Config& config, const Fault& fault, const Part& part) {
  const std::string what = describe(fault, part.name);
  INFO(what);
  const Watchdog watchdog(what);
  ClFaults::arm(fault.spec.function, fault.nth, fault.code);
  try {
    const ScopedEngine scoped(config);
    run_faulted(part);
    ClFaults::disarm();
    check_recovered(part);
  } catch (const Error& error) {
    CHECK(error.message != "");
  }
  ClFaults::disarm();
  CHECK(ClFaults::live().empty());
  // All codes take the same path, so only some second runs are needed.
  if (!thorough() && fault.code != fault.spec.codes.front()) return;
  CHECK_NOTHROW(run_fresh(config, part));
  CHECK(ClFaults::live().empty());
}

}  // namespace

TEST_CASE("the table has a line for every function of the library") {
  REQUIRE(cl_fault_specs().size() == static_cast<size_t>(ClFunction::clFinish) + 1);
  for (size_t i = 0; i < cl_fault_specs().size(); ++i) {
    CHECK(static_cast<size_t>(cl_fault_specs()[i].function) == i);
  }
}

TEST_CASE("everything that is created is released") {
  ClFaults::install();
  engine();  // so that later engines are those of the tests
  engine_of_process().reset();
  for (bool zero_copy : {true, false}) {
    {
      const ScopedEngine scoped(config_with(zero_copy));
      for (const Part& part : parts()) {
        CAPTURE(part.name);
        CHECK_NOTHROW(part.run());
        CHECK(all_given_back());
      }
    }
    CHECK(ClFaults::live().empty());
  }
}

TEST_CASE("a call that fails while a device starts or a program is built") {
  const Config config = config_with(true);
  for (const ClFaultSpec& spec : cl_fault_specs()) {
    if (!starts(spec.function)) continue;
    // Arguments are only queried for custom kernels, each of which is compiled separately.
    const bool custom = spec.function >= ClFunction::clGetKernelInfo;
    const Part& part = part_named(custom ? "custom kernels" : "kernels");
    const long calls = calls_of(spec.function, [&] { run_fresh(config, part); });
    for (const Fault& fault : faults_of(spec, calls)) fail_start(config, fault, part);
  }
}

TEST_CASE("a call that fails while the device works") {
  for (bool zero_copy : {true, false}) {
    {
      const ScopedEngine scoped(config_with(zero_copy));
      for (const Part& part : parts()) part.run();
      for (const ClFaultSpec& spec : cl_fault_specs()) {
        if (starts(spec.function)) continue;
        for (const Part& part : parts()) {
          const long calls = calls_of(spec.function, part.run);
          for (const Fault& fault : faults_of(spec, calls)) {
            const std::string what = describe(fault, part.name);
            INFO(what);
            const Watchdog watchdog(what);
            ClFaults::arm(fault.spec.function, fault.nth, fault.code);
            run_faulted(part);
            ClFaults::disarm();
            check_recovered(part);
          }
        }
      }
    }
    CHECK(ClFaults::live().empty());
  }
}

TEST_CASE("a command that the device gives up on") {
  const ScopedEngine scoped(config_with(true));
  for (const Part& part : parts()) part.run();
  for (const Part& part : parts()) {
    for (cl_int status : {CL_OUT_OF_RESOURCES, CL_INVALID_VALUE, -9999}) {
      const std::string what = text("a command ends with ", status, " in ", part.name);
      INFO(what);
      const Watchdog watchdog(what);
      ClFaults::arm_status(1, status);
      run_faulted(part);
      ClFaults::disarm();
      check_recovered(part);
    }
  }
}

}  // namespace dala::test
