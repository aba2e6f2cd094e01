#include "runtime/program.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "runtime/device.hpp"
#include "runtime/signals.hpp"

namespace dala {
namespace {

constexpr size_t kMostPrograms = 512;
constexpr double kLaunchTime = 2e4;  // nanoseconds that a command takes however little it does

// Two independent 64-bit FNV-1a sums: enough to name a file, and nobody attacks a private cache.
std::string digest(std::string_view bytes) {
  uint64_t first = 0xcbf29ce484222325u;
  uint64_t second = 0x84222325cbf29ce4u;
  for (unsigned char byte : bytes) {
    first = (first ^ byte) * 0x100000001b3u;
    second = (second ^ (byte + 0x5bu)) * 0x100000001b3u;
  }
  char name[33];
  std::snprintf(name, sizeof(name), "%016llx%016llx", static_cast<unsigned long long>(first),
                static_cast<unsigned long long>(second));
  return name;
}

// A file starts with this and the digest of the binary behind it.
constexpr std::string_view kMagic = "dala-gpu-program-1\n";

std::string build_log(cl_program program, cl_device_id device) {
  size_t size = 0;
  cl().clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, '\0');
  cl().clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  return log;
}

}  // namespace

Program::Program(const Device& device, std::string source, std::string options,
                 std::string disk_path, std::atomic<uint64_t>& compiled)
    : device_(device),
      source_(std::move(source)),
      options_(std::move(options)),
      disk_path_(std::move(disk_path)),
      compiled_(compiled) {}

void Program::build() { build_locked(true); }

void Program::build_from_source() { build_locked(false); }

void Program::build_locked(bool allow_disk) {
  std::lock_guard lock(mutex_);
  if (ready()) return;
  if (failure_) throw *failure_;
  try {
    if (!allow_disk || !load_from_disk()) {
      program_ = compile();
      ++compiled_;
      saved_ = false;
      if (!device_.binaries_are_costly()) write_binary(program_);
    }
    ready_.store(true, std::memory_order_release);
  } catch (const Error& error) {
    failure_ = error;
    restore_signal_handlers();
    throw;
  }
  restore_signal_handlers();
}

bool Program::load_from_disk() {
  std::ifstream file(disk_path_, std::ios::binary);
  if (!file) return false;
  const std::string content((std::istreambuf_iterator<char>(file)), {});
  const size_t header = kMagic.size() + 32;
  if (content.size() <= header || content.compare(0, kMagic.size(), kMagic) != 0) return false;
  const std::string_view binary = std::string_view(content).substr(header);
  if (content.compare(kMagic.size(), 32, digest(binary)) != 0) return false;

  const size_t size = binary.size();
  const auto* data = reinterpret_cast<const unsigned char*>(binary.data());
  const cl_device_id device = device_.info().id;
  cl_int status = CL_SUCCESS;
  cl_int binary_status = CL_SUCCESS;
  ClProgram program(cl().clCreateProgramWithBinary(device_.context(), 1, &device, &size, &data,
                                                   &binary_status, &status));
  if (status != CL_SUCCESS || binary_status != CL_SUCCESS) return false;
  if (cl().clBuildProgram(program.get(), 1, &device, "", nullptr, nullptr) != CL_SUCCESS) {
    return false;
  }
  program_ = std::move(program);
  return true;
}

ClProgram Program::compile() const {
  const char* text_pointer = source_.c_str();
  const size_t length = source_.size();
  const cl_device_id device = device_.info().id;
  cl_int status = CL_SUCCESS;
  ClProgram program(
      cl().clCreateProgramWithSource(device_.context(), 1, &text_pointer, &length, &status));
  check(status, "clCreateProgramWithSource");
  status = cl().clBuildProgram(program.get(), 1, &device, options_.c_str(), nullptr, nullptr);
  if (status != CL_SUCCESS) {
    const std::string log = build_log(program.get(), device);
    throw Error(Reason::build_failed, text("the OpenCL C source does not compile:\n", log),
                {{"log", log}});
  }
  return program;
}

Program::Kernel& Program::kernel(const std::string& entry) {
  const auto found = kernels_.find(entry);
  if (found != kernels_.end()) return found->second;
  return kernels_.emplace(entry, Kernel{create_kernel(entry), {}}).first->second;
}

ClKernel Program::create_kernel(const std::string& entry) const {
  cl_int status = CL_SUCCESS;
  ClKernel kernel(cl().clCreateKernel(program_.get(), entry.c_str(), &status));
  check(status, "clCreateKernel");
  return kernel;
}

void Program::save() {
  const std::lock_guard lock(mutex_);
  if (!ready() || saved_) return;
  // A twin, since a driver that takes long may keep the program locked meanwhile, and then nobody
  // could use this one.
  write_binary(compile());
}

void Program::write_binary(const ClProgram& program) {
  saved_ = true;  // or not worth another try
  size_t size = 0;
  if (cl().clGetProgramInfo(program.get(), CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr) !=
          CL_SUCCESS ||
      size == 0) {
    return;
  }
  std::string binary(size, '\0');
  auto* data = reinterpret_cast<unsigned char*>(binary.data());
  if (cl().clGetProgramInfo(program.get(), CL_PROGRAM_BINARIES, sizeof(data), &data, nullptr) !=
      CL_SUCCESS) {
    return;
  }
  restore_signal_handlers();

  // Written beside its place and renamed, so that a reader never sees half a file. Failing to
  // save costs the next start some time and nothing else.
  const std::string unfinished = text(disk_path_, ".", getpid(), ".tmp");
  std::error_code error;
  {
    std::ofstream file(unfinished, std::ios::binary);
    file << kMagic << digest(binary) << binary;
    file.flush();
    if (!file) {
      std::filesystem::remove(unfinished, error);
      return;
    }
  }
  std::filesystem::rename(unfinished, disk_path_, error);
  if (error) std::filesystem::remove(unfinished, error);
}

double Program::estimate(double work) const {
  return kLaunchTime + rate_.load(std::memory_order_relaxed) * work;
}

void Program::learn(double nanoseconds, double work) {
  const double known = rate_.load(std::memory_order_relaxed);
  const double seen = (nanoseconds - kLaunchTime) / work;
  double rate = measured() ? 0.75 * known + 0.25 * seen : seen;
  // So little work says nothing but that it is not slow.
  if (seen <= 0) rate = std::min(known, kLaunchTime / work);
  rate_.store(rate, std::memory_order_relaxed);
  measured_.store(true, std::memory_order_relaxed);
}

ProgramCache::ProgramCache(const Device& device, std::string folder)
    : device_(device), folder_(std::move(folder)) {}

std::shared_ptr<Program> ProgramCache::get(std::string_view source, const std::string& options) {
  const DeviceInfo& info = device_.info();
  const std::string key = digest(text(info.platform_name, '\n', info.name, '\n', info.version, '\n',
                                      info.driver, '\n', options, '\n', source));
  std::lock_guard lock(mutex_);
  const auto found = programs_.find(key);
  if (found != programs_.end()) return found->second;
  if (programs_.size() >= kMostPrograms) {
    // Programs that only this map knows can be had again from disk.
    std::erase_if(programs_, [](const auto& entry) { return entry.second.use_count() == 1; });
  }
  auto program = std::make_shared<Program>(device_, std::string(source), options,
                                           text(folder_, "/", key, ".bin"), compiled_);
  programs_.emplace(key, program);
  return program;
}

}  // namespace dala
