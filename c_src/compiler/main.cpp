// dala_gpu_compiler: reads one request from standard input, compiles its source, and replies on
// standard output with "ok", "log" and the compiler's log, or "refused" and a sentence. A compiler
// that crashes takes down only this process.
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <vector>

#include "compiler/kernel_library.hpp"
#include "runtime/device/cl_api.hpp"
#include "runtime/device/device.hpp"
#include "runtime/error.hpp"
#include "runtime/program/compile_request.hpp"

namespace dala::compiler {
namespace {

[[maybe_unused]] constexpr rlim_t kMostMemory = rlim_t{6} << 30;
// Seconds that preprocessing may take: drivers preprocess a source again in the calling process
// before they find it in their cache.
constexpr double kMostRepeated = 2.0;
constexpr size_t kWideGrid = 131072;
constexpr size_t kMostValue = 4096;  // bytes of an argument passed by value

int g_answers = STDOUT_FILENO;

[[noreturn]] void answer(const std::string& kind, const std::string& rest = "") {
  const std::string bytes = kind + "\n" + rest;
  size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = ::write(g_answers, bytes.data() + written, bytes.size() - written);
    if (count <= 0) break;
    written += static_cast<size_t>(count);
  }
  // No destructors: threads of the compiler may be running.
  _exit(0);
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

DeviceInfo find_device(const CompileRequest& request) {
  for (const PlatformReport& platform : survey().platforms) {
    for (const DeviceInfo& device : platform.devices) {
      if (device.platform_name == request.platform && device.name == request.device) return device;
    }
  }
  answer("refused", text("the compiler finds no device ", request.device));
}

class Build {
 public:
  explicit Build(const CompileRequest& request) : request_(request), device_(find_device(request)) {
    cl_int status = CL_SUCCESS;
    context_ = ClContext(cl().clCreateContext(nullptr, 1, &device_.id, nullptr, nullptr, &status));
    check(status, "clCreateContext");
    queue_ = ClQueue(cl().clCreateCommandQueue(context_.get(), device_.id, 0, &status));
    check(status, "clCreateCommandQueue");
    memory_ = ClMem(cl().clCreateBuffer(context_.get(), CL_MEM_READ_WRITE, 4096, nullptr, &status));
    check(status, "clCreateBuffer");
  }

  [[noreturn]] void run() {
    const ClProgram program = compile(request_.source, request_.options);
    const double before = thread_seconds();
    compile(request_.source, request_.options);
    if (thread_seconds() - before > kMostRepeated) {
      answer("refused", "the source expands to more than a program can need");
    }
    if (!request_.specialisations.empty() && can_disarm()) {
      for (const Specialisation& each : request_.specialisations) launch(program, each);
    }
    answer("ok");
  }

 private:
  ClProgram compile(const std::string& source, const std::string& options) {
    const char* bytes = source.data();
    const size_t length = source.size();
    cl_int status = CL_SUCCESS;
    ClProgram program(cl().clCreateProgramWithSource(context_.get(), 1, &bytes, &length, &status));
    check(status, "clCreateProgramWithSource");
    status = cl().clBuildProgram(program.get(), 1, &device_.id, options.c_str(), nullptr, nullptr);
    if (status == CL_SUCCESS) return program;
    size_t size = 0;
    cl().clGetProgramBuildInfo(program.get(), device_.id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    cl().clGetProgramBuildInfo(program.get(), device_.id, CL_PROGRAM_BUILD_LOG, size, log.data(),
                               nullptr);
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    answer("log", log);
  }

  // Whether launches here run no kernel code, tested with a kernel of our own.
  bool can_disarm() {
    const ClProgram own =
        compile("__kernel void dala_gpu_probe(__global int* x) { x[0] = 1; }", "");
    launch(own, Specialisation{});
    return disarmed() > 0;
  }

  // Makes the driver compile the specialisation. If it refuses the launch here, it will refuse the
  // real one, too.
  void launch(const ClProgram& program, const Specialisation& wanted) {
    const std::string entry = wanted.entry.empty() ? only_kernel(program) : wanted.entry;
    cl_int status = CL_SUCCESS;
    const ClKernel kernel(cl().clCreateKernel(program.get(), entry.c_str(), &status));
    if (status != CL_SUCCESS || !has_local_memory(kernel) || !set_arguments(kernel)) return;
    std::array<size_t, 3> global = wanted.local;
    if (wanted.wide) global[0] *= (kWideGrid + global[0] - 1) / global[0];
    status = cl().clEnqueueNDRangeKernel(queue_.get(), kernel.get(), 3, nullptr, global.data(),
                                         wanted.local.data(), 0, nullptr, nullptr);
    if (status == CL_SUCCESS) cl().clFinish(queue_.get());
  }

  bool has_local_memory(const ClKernel& kernel) const {
    cl_ulong bytes = 0;
    cl().clGetKernelWorkGroupInfo(kernel.get(), device_.id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(bytes),
                                  &bytes, nullptr);
    return bytes <= device_.local_memory;
  }

  std::string only_kernel(const ClProgram& program) {
    size_t size = 0;
    cl().clGetProgramInfo(program.get(), CL_PROGRAM_KERNEL_NAMES, 0, nullptr, &size);
    std::string names(size, '\0');
    cl().clGetProgramInfo(program.get(), CL_PROGRAM_KERNEL_NAMES, size, names.data(), nullptr);
    return names.c_str();
  }

  // The kernel will not run, so any argument that the driver accepts will do.
  bool set_arguments(const ClKernel& kernel) {
    cl_uint count = 0;
    cl().clGetKernelInfo(kernel.get(), CL_KERNEL_NUM_ARGS, sizeof(count), &count, nullptr);
    for (cl_uint i = 0; i < count; ++i) {
      if (!set_argument(kernel, i)) return false;
    }
    return true;
  }

  bool set_argument(const ClKernel& kernel, cl_uint index) {
    const cl_mem memory = memory_.get();
    const auto set = [&](size_t size, const void* value) {
      return cl().clSetKernelArg(kernel.get(), index, size, value) == CL_SUCCESS;
    };
    cl_kernel_arg_address_qualifier space = CL_KERNEL_ARG_ADDRESS_PRIVATE;
    cl().clGetKernelArgInfo(kernel.get(), index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(space),
                            &space, nullptr);
    if (space == CL_KERNEL_ARG_ADDRESS_LOCAL) return set(64, nullptr);
    if (space != CL_KERNEL_ARG_ADDRESS_PRIVATE) return set(sizeof(memory), &memory);
    const std::vector<char> zeros(kMostValue, '\0');
    for (size_t size = 1; size <= kMostValue; ++size) {
      if (set(size, zeros.data())) return true;
    }
    return false;
  }

  const CompileRequest& request_;
  const DeviceInfo device_;
  ClContext context_;
  ClQueue queue_;
  ClMem memory_;
};

void* build(void* request) {
  try {
    if (!load_cl().empty()) answer("refused", load_cl());
    Build(*static_cast<const CompileRequest*>(request)).run();
  } catch (const std::exception& error) {
    answer("refused", error.what());
  }
}

// With a smaller stack, deep recursion in a compiler overflows here before it would in the calling
// process, which compiles the same source on a thread of the usual size.
void start_on_smaller_stack(const CompileRequest& request) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  size_t usual = 0;
  pthread_attr_getstacksize(&attributes, &usual);
  pthread_attr_setstacksize(&attributes, usual / 4 * 3);
  pthread_t thread{};
  const int problem = pthread_create(&thread, &attributes, &build,
                                     const_cast<void*>(static_cast<const void*>(&request)));
  pthread_attr_destroy(&attributes);
  if (problem != 0) answer("refused", "the compiler cannot start a thread");
}

void set_limits() {
#if defined(__linux__)
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == 1) _exit(1);
#endif
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
#if !defined(DALA_SANITIZED)
  rlimit memory{};
  getrlimit(RLIMIT_AS, &memory);
  memory.rlim_cur = std::min(memory.rlim_cur, kMostMemory);
  setrlimit(RLIMIT_AS, &memory);
#endif
  // Kernels do not run here, so one thread is enough.
  setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
}

std::string read_all() {
  std::string bytes;
  std::array<char, 65536> part;
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, part.data(), part.size());
    if (count <= 0) return bytes;
    bytes.append(part.data(), static_cast<size_t>(count));
  }
}

}  // namespace
}  // namespace dala::compiler

int main() {
  using namespace dala::compiler;
  set_limits();
  // Output of libraries must not mix with the reply.
  g_answers = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  const auto request = dala::decode_request(read_all());
  if (!request) answer("refused", "the compiler was started without a request");
  start_on_smaller_stack(*request);
  answer("refused", "the compiled kernel is refused: " + wait_for_refusal());
}
