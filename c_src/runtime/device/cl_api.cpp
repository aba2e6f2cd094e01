#include "runtime/device/cl_api.hpp"

#include <dlfcn.h>

#include <mutex>
#include <utility>

#include "runtime/device/cl_serial.hpp"
#include "runtime/error.hpp"

namespace dala {
namespace {

ClApi g_api;

#if defined(__APPLE__)
constexpr const char* kLibraries[] = {"/System/Library/Frameworks/OpenCL.framework/OpenCL"};
#else
constexpr const char* kLibraries[] = {"libOpenCL.so.1", "libOpenCL.so"};
#endif

std::string open_library() {
  void* library = nullptr;
  for (const char* name : kLibraries) {
    // NODELETE: drivers start threads that outlive this library, so their code must stay mapped.
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library != nullptr) break;
  }
  if (library == nullptr) return text("the OpenCL loader library cannot be opened: ", dlerror());

#define DALA_CL_LOAD(name)                                                    \
  g_api.name = reinterpret_cast<decltype(g_api.name)>(dlsym(library, #name)); \
  if (g_api.name == nullptr) return "the OpenCL loader library has no " #name;
  DALA_CL_FUNCTIONS(DALA_CL_LOAD)
#undef DALA_CL_LOAD
  return "";
}

ClApi g_unlocked;
std::recursive_mutex g_serial;

// A wrapper with the signature of the function in `kMember` that calls it under the lock.
template <auto kMember, typename Function>
struct Serial;
template <auto kMember, typename Result, typename... Arguments>
struct Serial<kMember, Result (*)(Arguments...)> {
  static Result call(Arguments... arguments) {
    const std::lock_guard lock(g_serial);
    return (g_unlocked.*kMember)(arguments...);
  }
};

}  // namespace

void serialize_cl() {
  static std::once_flag once;
  std::call_once(once, [] {
    g_unlocked = g_api;
#define DALA_CL_SERIAL(name) g_api.name = &Serial<&ClApi::name, decltype(g_api.name)>::call;
    DALA_CL_FUNCTIONS(DALA_CL_SERIAL)
#undef DALA_CL_SERIAL
  });
}

const std::string& load_cl() {
  static const std::string problem = open_library();
  return problem;
}

const ClApi& cl() { return g_api; }

const char* status_name(cl_int status) {
  switch (status) {
#define DALA_CL_STATUS(name) \
  case name:                 \
    return #name;
    DALA_CL_STATUS(CL_SUCCESS)
    DALA_CL_STATUS(CL_DEVICE_NOT_FOUND)
    DALA_CL_STATUS(CL_DEVICE_NOT_AVAILABLE)
    DALA_CL_STATUS(CL_COMPILER_NOT_AVAILABLE)
    DALA_CL_STATUS(CL_MEM_OBJECT_ALLOCATION_FAILURE)
    DALA_CL_STATUS(CL_OUT_OF_RESOURCES)
    DALA_CL_STATUS(CL_OUT_OF_HOST_MEMORY)
    DALA_CL_STATUS(CL_PROFILING_INFO_NOT_AVAILABLE)
    DALA_CL_STATUS(CL_MEM_COPY_OVERLAP)
    DALA_CL_STATUS(CL_BUILD_PROGRAM_FAILURE)
    DALA_CL_STATUS(CL_MAP_FAILURE)
    DALA_CL_STATUS(CL_MISALIGNED_SUB_BUFFER_OFFSET)
    DALA_CL_STATUS(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
    DALA_CL_STATUS(CL_KERNEL_ARG_INFO_NOT_AVAILABLE)
    DALA_CL_STATUS(CL_INVALID_VALUE)
    DALA_CL_STATUS(CL_INVALID_DEVICE_TYPE)
    DALA_CL_STATUS(CL_INVALID_PLATFORM)
    DALA_CL_STATUS(CL_INVALID_DEVICE)
    DALA_CL_STATUS(CL_INVALID_CONTEXT)
    DALA_CL_STATUS(CL_INVALID_QUEUE_PROPERTIES)
    DALA_CL_STATUS(CL_INVALID_COMMAND_QUEUE)
    DALA_CL_STATUS(CL_INVALID_HOST_PTR)
    DALA_CL_STATUS(CL_INVALID_MEM_OBJECT)
    DALA_CL_STATUS(CL_INVALID_SAMPLER)
    DALA_CL_STATUS(CL_INVALID_BINARY)
    DALA_CL_STATUS(CL_INVALID_BUILD_OPTIONS)
    DALA_CL_STATUS(CL_INVALID_PROGRAM)
    DALA_CL_STATUS(CL_INVALID_PROGRAM_EXECUTABLE)
    DALA_CL_STATUS(CL_INVALID_KERNEL_NAME)
    DALA_CL_STATUS(CL_INVALID_KERNEL_DEFINITION)
    DALA_CL_STATUS(CL_INVALID_KERNEL)
    DALA_CL_STATUS(CL_INVALID_ARG_INDEX)
    DALA_CL_STATUS(CL_INVALID_ARG_VALUE)
    DALA_CL_STATUS(CL_INVALID_ARG_SIZE)
    DALA_CL_STATUS(CL_INVALID_KERNEL_ARGS)
    DALA_CL_STATUS(CL_INVALID_WORK_DIMENSION)
    DALA_CL_STATUS(CL_INVALID_WORK_GROUP_SIZE)
    DALA_CL_STATUS(CL_INVALID_WORK_ITEM_SIZE)
    DALA_CL_STATUS(CL_INVALID_GLOBAL_OFFSET)
    DALA_CL_STATUS(CL_INVALID_EVENT_WAIT_LIST)
    DALA_CL_STATUS(CL_INVALID_EVENT)
    DALA_CL_STATUS(CL_INVALID_OPERATION)
    DALA_CL_STATUS(CL_INVALID_BUFFER_SIZE)
    DALA_CL_STATUS(CL_INVALID_GLOBAL_WORK_SIZE)
    DALA_CL_STATUS(CL_INVALID_PROPERTY)
#undef DALA_CL_STATUS
    default:
      return "an OpenCL status this library has no name for";
  }
}

ClEvent retained(cl_event event) {
  check(cl().clRetainEvent(event), "clRetainEvent");
  return ClEvent(event);
}

std::optional<cl_int> end_of(const ClEvent& event) {
  cl_int status = CL_QUEUED;
  const cl_int asked = cl().clGetEventInfo(event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS,
                                           sizeof(status), &status, nullptr);
  if (asked != CL_SUCCESS || status > CL_COMPLETE) return std::nullopt;
  return status;
}

bool has_ended(const ClEvent& event) { return end_of(event).has_value(); }

void check(cl_int status, const char* routine) {
  if (status == CL_SUCCESS) return;
  const bool memory = status == CL_MEM_OBJECT_ALLOCATION_FAILURE ||
                      status == CL_OUT_OF_HOST_MEMORY || status == CL_INVALID_BUFFER_SIZE;
  throw Error(memory ? Reason::out_of_memory : Reason::device_error,
              text(routine, " failed with ", status_name(status), " (", status, ")"),
              {{"routine", std::string(routine)}, {"status", int64_t{status}}});
}

}  // namespace dala
