// The OpenCL loader library, opened at run time, so that this library also loads on machines
// without OpenCL, where it reports `no_device`. Calls read `cl().clFinish(queue)`.
#pragma once

// Only OpenCL 1.2 is used, the version that all vendors, including Apple, implement.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <optional>
#include <string>
#include <utility>

namespace dala {

#define DALA_CL_FUNCTIONS(X)      \
  X(clGetPlatformIDs)             \
  X(clGetPlatformInfo)            \
  X(clGetDeviceIDs)               \
  X(clGetDeviceInfo)              \
  X(clCreateContext)              \
  X(clReleaseContext)             \
  X(clCreateCommandQueue)         \
  X(clReleaseCommandQueue)        \
  X(clCreateBuffer)               \
  X(clCreateSubBuffer)            \
  X(clReleaseMemObject)           \
  X(clCreateProgramWithSource)    \
  X(clCreateProgramWithBinary)    \
  X(clBuildProgram)               \
  X(clGetProgramInfo)             \
  X(clGetProgramBuildInfo)        \
  X(clReleaseProgram)             \
  X(clCreateKernel)               \
  X(clReleaseKernel)              \
  X(clSetKernelArg)               \
  X(clGetKernelInfo)              \
  X(clGetKernelArgInfo)           \
  X(clGetKernelWorkGroupInfo)     \
  X(clEnqueueNDRangeKernel)       \
  X(clEnqueueCopyBuffer)          \
  X(clEnqueueFillBuffer)          \
  X(clEnqueueReadBuffer)          \
  X(clEnqueueWriteBuffer)         \
  X(clEnqueueMarkerWithWaitList)  \
  X(clEnqueueBarrierWithWaitList) \
  X(clRetainEvent)                \
  X(clReleaseEvent)               \
  X(clSetEventCallback)           \
  X(clGetEventInfo)               \
  X(clGetEventProfilingInfo)      \
  X(clWaitForEvents)              \
  X(clFlush)                      \
  X(clFinish)

struct ClApi {
#define DALA_CL_MEMBER(name) decltype(&::name) name = nullptr;
  DALA_CL_FUNCTIONS(DALA_CL_MEMBER)
#undef DALA_CL_MEMBER
};

// Opens the loader library once. Returns the empty string, or why it cannot be opened.
const std::string& load_cl();

// The functions; only valid after `load_cl()` returned the empty string.
const ClApi& cl();

// Throws `device_error` (or `out_of_memory`) naming the routine when status is not CL_SUCCESS.
void check(cl_int status, const char* routine);

const char* status_name(cl_int status);  // "CL_OUT_OF_RESOURCES"

// Owns one reference to an OpenCL object. The status of the release is ignored: a destructor cannot
// report it.
template <typename T, auto ClApi::*kRelease>
class ClHandle {
 public:
  ClHandle() = default;
  explicit ClHandle(T object) : object_(object) {}
  ClHandle(ClHandle&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  ClHandle& operator=(ClHandle&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~ClHandle() {
    if (object_ != nullptr) (cl().*kRelease)(object_);
  }
  T get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T object_ = nullptr;
};

using ClContext = ClHandle<cl_context, &ClApi::clReleaseContext>;
using ClQueue = ClHandle<cl_command_queue, &ClApi::clReleaseCommandQueue>;
using ClMem = ClHandle<cl_mem, &ClApi::clReleaseMemObject>;
using ClProgram = ClHandle<cl_program, &ClApi::clReleaseProgram>;
using ClKernel = ClHandle<cl_kernel, &ClApi::clReleaseKernel>;
using ClEvent = ClHandle<cl_event, &ClApi::clReleaseEvent>;

// Another reference to the event. Throws.
ClEvent retained(cl_event event);

// CL_COMPLETE, or the error with which the event's command ended; nothing while the command has not
// ended, or if the driver cannot report its status. Never waits.
std::optional<cl_int> end_of(const ClEvent& event);
bool has_ended(const ClEvent& event);

}  // namespace dala
