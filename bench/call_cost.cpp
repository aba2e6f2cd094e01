#include "bench/call_cost.hpp"

#include <cstdio>
#include <vector>

#include "bench/harness.hpp"
#include "runtime/config.hpp"
#include "runtime/device/cl_api.hpp"
#include "runtime/device/device.hpp"
#include "runtime/process/process_setup.hpp"

namespace dala::bench {
namespace {

constexpr size_t kCount = 1024;
constexpr int kCalls = 400;

// bench/beam/call_cost.exs has the same for erlang-cl.
constexpr const char* kSource = R"(
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void relu(__global const float *in, __global float *out, const int n) {
  for (int i = 0; i < n; ++i) out[i] = in[i] > 0 ? in[i] : 0;
})";

}  // namespace

void serve_calls() {
  const Config config = with_environment(Config{});
  prepare_process(config);
  // Chosen, and its threads placed, as the library does it.
  const Device device(choose(survey(), config.device), config);
  cl_int status = CL_SUCCESS;
  const char* source = kSource;
  const ClProgram program(
      cl().clCreateProgramWithSource(device.context(), 1, &source, nullptr, &status));
  check(status, "clCreateProgramWithSource");
  check(cl().clBuildProgram(program.get(), 0, nullptr, "-w", nullptr, nullptr), "clBuildProgram");
  const ClKernel kernel(cl().clCreateKernel(program.get(), "relu", &status));
  check(status, "clCreateKernel");
  const size_t bytes = kCount * sizeof(float);
  const ClMem in(cl().clCreateBuffer(device.context(), CL_MEM_READ_WRITE, bytes, nullptr, &status));
  const ClMem out(
      cl().clCreateBuffer(device.context(), CL_MEM_READ_WRITE, bytes, nullptr, &status));
  check(status, "clCreateBuffer");
  const ClQueue queue(cl().clCreateCommandQueue(device.context(), device.info().id, 0, &status));
  check(status, "clCreateCommandQueue");

  const cl_mem source_memory = in.get();
  const cl_mem target_memory = out.get();
  const auto count = static_cast<cl_int>(kCount);
  const auto call = [&] {
    const size_t one = 1;
    cl().clSetKernelArg(kernel.get(), 0, sizeof(source_memory), &source_memory);
    cl().clSetKernelArg(kernel.get(), 1, sizeof(target_memory), &target_memory);
    cl().clSetKernelArg(kernel.get(), 2, sizeof(count), &count);
    check(cl().clEnqueueNDRangeKernel(queue.get(), kernel.get(), 1, nullptr, &one, &one, 0, nullptr,
                                      nullptr),
          "clEnqueueNDRangeKernel");
    check(cl().clFinish(queue.get()), "clFinish");
  };

  char line[64];
  while (std::fgets(line, sizeof(line), stdin) != nullptr) {
    std::printf("%.0f\n", median_time(call, kCalls));
    std::fflush(stdout);
  }
}

}  // namespace dala::bench
