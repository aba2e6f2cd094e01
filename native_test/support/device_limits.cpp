#include "support/device_limits.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <sstream>
#include <stdexcept>

#include "runtime/device/cl_api.hpp"

namespace dala::test {
namespace {

struct State {
  std::mutex mutex;
  DeviceLimits limits;
  std::string folder;  // for programs; empty: not collected
};

// Never destroyed: the engine of the tests outlives the statics of this file.
State& state() {
  static auto* instance = new State;
  return *instance;
}

ClApi g_real;

template <typename T>
void at_most(void* value, uint64_t limit) {
  if (limit == 0) return;
  T own{};
  std::memcpy(&own, value, sizeof(T));
  own = static_cast<T>(std::min<uint64_t>(own, limit));
  std::memcpy(value, &own, sizeof(T));
}

cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info name, size_t size, void* value,
                               size_t* needed) {
  const cl_int status = g_real.clGetDeviceInfo(device, name, size, value, needed);
  if (status != CL_SUCCESS || value == nullptr) return status;
  const DeviceLimits limits = limits_now();
  if (name == CL_DEVICE_MAX_WORK_GROUP_SIZE) at_most<size_t>(value, limits.group);
  if (name == CL_DEVICE_LOCAL_MEM_SIZE) at_most<cl_ulong>(value, limits.local);
  if (name == CL_DEVICE_DOUBLE_FP_CONFIG && !limits.fp64) std::memset(value, 0, size);
  if (name == CL_DEVICE_MEM_BASE_ADDR_ALIGN && limits.alignment != 0) {
    const auto bits = static_cast<cl_uint>(8 * limits.alignment);
    std::memcpy(value, &bits, sizeof(bits));
  }
  if (name == CL_DEVICE_QUEUE_PROPERTIES && limits.in_order) {
    cl_command_queue_properties properties = 0;
    std::memcpy(&properties, value, sizeof(properties));
    properties &= ~static_cast<cl_command_queue_properties>(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    std::memcpy(value, &properties, sizeof(properties));
  }
  return status;
}

cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                          cl_command_queue_properties properties, cl_int* status) {
  if (limits_now().in_order && (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0) {
    *status = CL_INVALID_QUEUE_PROPERTIES;
    return nullptr;
  }
  return g_real.clCreateCommandQueue(context, device, properties, status);
}

cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type,
                                     const void* info, cl_int* status) {
  const DeviceLimits limits = limits_now();
  const auto* region = static_cast<const cl_buffer_region*>(info);
  if (limits.alignment != 0 && region->origin % limits.alignment != 0) {
    *status = CL_MISALIGNED_SUB_BUFFER_OFFSET;
    return nullptr;
  }
  return g_real.clCreateSubBuffer(buffer, flags, type, info, status);
}

// Without double precision, `double` is undefined, and a program that uses it does not compile.
cl_program CL_API_CALL create_program(cl_context context, cl_uint count, const char** texts,
                                      const size_t* lengths, cl_int* status) {
  if (limits_now().fp64) {
    return g_real.clCreateProgramWithSource(context, count, texts, lengths, status);
  }
  std::string whole = "#undef cl_khr_fp64\n#define double this_device_has_no_fp64\n";
  for (cl_uint i = 0; i < count; ++i) {
    const bool counted = lengths != nullptr && lengths[i] != 0;
    whole += counted ? std::string(texts[i], lengths[i]) : std::string(texts[i]);
  }
  const char* text = whole.c_str();
  const size_t length = whole.size();
  return g_real.clCreateProgramWithSource(context, 1, &text, &length, status);
}

void collect(cl_program program, const char* options) {
  std::string folder;
  {
    const std::lock_guard lock(state().mutex);
    folder = state().folder;
  }
  size_t size = 0;
  if (folder.empty() ||
      g_real.clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, nullptr, &size) != CL_SUCCESS ||
      size <= 1) {
    return;
  }
  std::string source(size, '\0');
  g_real.clGetProgramInfo(program, CL_PROGRAM_SOURCE, size, source.data(), nullptr);
  source.resize(std::strlen(source.c_str()));
  std::ostringstream name;
  name << std::hex << std::hash<std::string>{}(source + options) << ".cl";
  std::ofstream(std::filesystem::path(folder) / name.str()) << "// " << options << '\n' << source;
}

cl_int CL_API_CALL build_program(cl_program program, cl_uint count, const cl_device_id* devices,
                                 const char* options, void(CL_CALLBACK* notify)(cl_program, void*),
                                 void* data) {
  const cl_int status = g_real.clBuildProgram(program, count, devices, options, notify, data);
  if (status == CL_SUCCESS) collect(program, options);
  return status;
}

cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                  const size_t* offset, const size_t* global, const size_t* local,
                                  cl_uint waits, const cl_event* wait_list, cl_event* event) {
  const DeviceLimits limits = limits_now();
  if (limits.group != 0 && local != nullptr) {
    uint64_t items = 1;
    for (cl_uint d = 0; d < dimensions; ++d) items *= local[d];
    if (items > limits.group) return CL_INVALID_WORK_GROUP_SIZE;
  }
  cl_ulong bytes = 0;
  if (limits.local != 0 &&
      g_real.clGetKernelWorkGroupInfo(kernel, nullptr, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(bytes),
                                      &bytes, nullptr) == CL_SUCCESS &&
      bytes > limits.local) {
    return CL_OUT_OF_RESOURCES;
  }
  return g_real.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, waits,
                                       wait_list, event);
}

void install() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (!load_cl().empty()) return;
    g_real = cl();
    auto& table = const_cast<ClApi&>(cl());
    table.clGetDeviceInfo = &device_info;
    table.clCreateCommandQueue = &create_queue;
    table.clCreateSubBuffer = &create_sub_buffer;
    table.clCreateProgramWithSource = &create_program;
    table.clBuildProgram = &build_program;
    table.clEnqueueNDRangeKernel = &enqueue_kernel;
  });
}

DeviceLimits exchange(const DeviceLimits& limits) {
  const std::lock_guard lock(state().mutex);
  return std::exchange(state().limits, limits);
}

}  // namespace

DeviceLimits limits_now() {
  const std::lock_guard lock(state().mutex);
  return state().limits;
}

DeviceLimits limits_of(const std::string& text) {
  DeviceLimits limits;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (equals == std::string::npos) throw std::invalid_argument("no value in " + word);
    const uint64_t number = std::stoull(word.substr(equals + 1));
    if (name == "group") {
      limits.group = number;
    } else if (name == "local") {
      limits.local = number;
    } else if (name == "alignment") {
      limits.alignment = number;
    } else if (name == "fp64") {
      limits.fp64 = number != 0;
    } else if (name == "in_order") {
      limits.in_order = number != 0;
    } else {
      throw std::invalid_argument("no limit is called " + name);
    }
  }
  return limits;
}

ImposedLimits::ImposedLimits(const DeviceLimits& limits) {
  install();
  before_ = exchange(limits);
}

ImposedLimits::~ImposedLimits() { exchange(before_); }

void collect_programs(const std::string& folder) {
  install();
  std::filesystem::create_directories(folder);
  const std::lock_guard lock(state().mutex);
  state().folder = folder;
}

}  // namespace dala::test
