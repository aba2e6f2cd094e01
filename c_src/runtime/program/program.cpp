#include "runtime/program/program.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "runtime/device/device.hpp"
#include "runtime/process/signals.hpp"
#include "runtime/program/compiler.hpp"
#include "runtime/program/disk_cache.hpp"
#include "runtime/program/kernel_store.hpp"

namespace dala {
namespace {

constexpr size_t kMostPrograms = 512;
// The fixed cost of a command in nanoseconds: on the driver's queue, and through the executor.
constexpr double kLaunchTime = 2e4;
constexpr double kCallTime = 1e3;

// Two independent 64-bit FNV-1a hashes: enough to name a file in a private folder.
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

// The source itself is wrong, so a retry would fail, too.
struct SourceError : Error {
  using Error::Error;
};

std::string build_log(cl_program program, cl_device_id device) {
  size_t size = 0;
  cl().clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, '\0');
  cl().clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  return log;
}

}  // namespace

Program::Program(const Device& device, std::string source, std::string options, std::string key,
                 ProgramFiles files, std::atomic<uint64_t>& compiled, Compiler* compiler)
    : device_(device),
      source_(std::move(source)),
      options_(std::move(options)),
      key_(std::move(key)),
      files_(std::move(files)),
      compiled_(compiled),
      compiler_(compiler != nullptr && compiler->available() ? compiler : nullptr) {
  if (files_.kernels != nullptr) files_.kernels->enter(key_);
}

Program::~Program() {
  if (files_.kernels != nullptr) files_.kernels->exit(key_);
}

void Program::build() { build_locked(true, {}); }

void Program::build_from_source(const std::vector<Specialisation>& specialisations) {
  build_locked(false, specialisations);
}

bool Program::ready_for(const std::string& entry, const Range& range) const {
  if (!ready()) return false;
  if (!foreign() || !device_.compiles_at_launch()) return true;
  const std::lock_guard lock(specialisations_mutex_);
  return specialisations_.contains(specialisation_of(entry, range));
}

void Program::build_for(const std::string& entry, const Range& range) {
  if (ready_for(entry, range)) return;
  build_locked(true, {specialisation_of(entry, range)});
}

// Compiles in another process, so that this one finds everything in the driver's cache. A driver
// without a cache compiles again, but only sources that have compiled without harm.
void Program::compile_apart(const std::vector<Specialisation>& specialisations) {
  if (!foreign()) return;
  if (!device_.compiles_at_launch()) {
    if (!ready()) compiler_->compile(source_, options_, {});
    return;
  }
  std::vector<Specialisation> missing = specialisations;
  const auto known = [this](const Specialisation& each) { return specialisations_.contains(each); };
  {
    const std::lock_guard lock(specialisations_mutex_);
    std::erase_if(missing, known);
  }
  if (ready() && missing.empty()) return;
  // The other process shares the driver's folder, and finds what an earlier VM compiled.
  if (files_.kernels != nullptr) files_.kernels->provide(key_);
  compiler_->compile(source_, options_, missing);
  const std::lock_guard lock(specialisations_mutex_);
  specialisations_.insert(missing.begin(), missing.end());
}

void Program::build_locked(bool allow_disk, const std::vector<Specialisation>& specialisations) {
  std::lock_guard lock(mutex_);
  if (ready() && specialisations.empty()) return;
  if (failure_) throw *failure_;
  // A failure here may be the machine's, so it is not remembered.
  compile_apart(specialisations);
  if (ready()) return;
  try {
    std::optional<KernelStore::Build> build;
    if (files_.kernels != nullptr) build.emplace(*files_.kernels, key_);
    if (!allow_disk || !load_from_disk()) {
      program_ = compile();
      ++compiled_;
      saved_ = false;
      if (!device_.binaries_are_costly()) write_binary(program_);
    }
    if (build) build->succeeded();
    ready_.store(true, std::memory_order_release);
  } catch (const SourceError& error) {
    failure_ = error;
    restore_signal_handlers();
    throw;
  } catch (...) {
    restore_signal_handlers();
    throw;
  }
  restore_signal_handlers();
}

bool Program::load_from_disk() {
  const std::optional<std::string> binary = files_.binaries->read(binary_name());
  if (!binary) return false;
  const size_t size = binary->size();
  const auto* data = reinterpret_cast<const unsigned char*>(binary->data());
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
  if (status == CL_SUCCESS) return program;
  const std::string log = build_log(program.get(), device);
  const std::string sentence = text("the OpenCL C source does not compile:\n", log);
  // Unless the log contains an error, the cause may be elsewhere, and temporary.
  if (status == CL_BUILD_PROGRAM_FAILURE && log.find("error") != std::string::npos) {
    throw SourceError(Reason::build_failed, sentence, Details{{"log", log}});
  }
  throw Error(Reason::build_failed, text(sentence, " (", status_name(status), ")"), {{"log", log}});
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

GroupFunction Program::group_function(const std::string& entry, const Range& range) const {
  if (!has_libraries_.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard lock(libraries_mutex_);
  const auto found = libraries_.find(specialisation_of(entry, range));
  return found == libraries_.end() || found->second == nullptr ? nullptr
                                                               : found->second->function();
}

bool Program::knows_group_function(const std::string& entry, const Range& range) const {
  const std::lock_guard lock(libraries_mutex_);
  return libraries_.contains(specialisation_of(entry, range));
}

void Program::find_group_function(const std::string& entry, const Range& range, bool launched) {
  if (files_.kernels == nullptr || foreign() || !ready()) return;
  if (knows_group_function(entry, range)) return;
  const Specialisation form = specialisation_of(entry, range);
  // The function would also need the local memory that a kernel declares itself.
  cl_ulong declared = 0;
  const ClKernel kernel = create_kernel(entry);
  check(cl().clGetKernelWorkGroupInfo(kernel.get(), device_.info().id, CL_KERNEL_LOCAL_MEM_SIZE,
                                      sizeof(declared), &declared, nullptr),
        "clGetKernelWorkGroupInfo");
  std::unique_ptr<GroupLibrary> library;
  if (declared == 0) {
    const std::string path = files_.kernels->library_of(key_, form);
    if (path.empty() && !launched) return;  // not compiled yet
    if (!path.empty()) library = GroupLibrary::open(path, entry);
  }
  const bool found = library != nullptr;
  const std::lock_guard lock(libraries_mutex_);
  libraries_.emplace(form, std::move(library));
  if (found) has_libraries_.store(true, std::memory_order_release);
}

void Program::save() {
  const std::lock_guard lock(mutex_);
  if (!ready() || saved_) return;
  // Uses a second program object, since a slow driver may keep this one locked meanwhile.
  std::optional<KernelStore::Build> build;
  if (files_.kernels != nullptr) build.emplace(*files_.kernels, key_);
  write_binary(compile());
  if (build) build->succeeded();
}

void Program::discard() {
  files_.binaries->remove(binary_name());
  if (files_.kernels != nullptr) files_.kernels->discard(key_);
}

void Program::write_binary(const ClProgram& program) {
  saved_ = true;  // or not worth a retry
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

  // A failure only costs the next VM some time.
  files_.binaries->write(binary_name(), binary);
}

double Program::launch_time() const {
  return has_libraries_.load(std::memory_order_relaxed) ? kCallTime : kLaunchTime;
}

bool Program::measured(double work) const {
  constexpr double kNearly = 4;
  return measured() && work <= kNearly * most_work_.load(std::memory_order_relaxed);
}

void Program::learn(double nanoseconds, double work) {
  if (work <= 0) return;
  if (work > most_work_.load(std::memory_order_relaxed)) most_work_.store(work);
  const double known = rate_.load(std::memory_order_relaxed);
  const double seen = (nanoseconds - launch_time()) / work;
  double rate = measured() ? 0.75 * known + 0.25 * seen : seen;
  // So little work only gives an upper bound of the rate.
  if (seen <= 0) rate = std::min(known, launch_time() / work);
  rate_.store(rate, std::memory_order_relaxed);
  measured_.store(true, std::memory_order_relaxed);
}

ProgramCache::ProgramCache(const Device& device, ProgramFiles files, Compiler* compiler)
    : device_(device), files_(std::move(files)), compiler_(compiler) {}

std::shared_ptr<Program> ProgramCache::get(std::string_view source, const std::string& options,
                                           bool foreign) {
  const DeviceInfo& info = device_.info();
  const std::string key = digest(text(info.platform_name, '\n', info.name, '\n', info.version, '\n',
                                      info.driver, '\n', options, '\n', source));
  std::lock_guard lock(mutex_);
  const auto found = programs_.find(key);
  if (found != programs_.end()) return found->second;
  if (programs_.size() >= kMostPrograms) {
    // Programs that only this map holds can be restored from disk.
    std::erase_if(programs_, [](const auto& entry) { return entry.second.use_count() == 1; });
  }
  auto program = std::make_shared<Program>(device_, std::string(source), options, key, files_,
                                           compiled_, foreign ? compiler_ : nullptr);
  programs_.emplace(key, program);
  return program;
}

void ProgramCache::discard(const std::shared_ptr<Program>& program) {
  {
    std::lock_guard lock(mutex_);
    const auto found = programs_.find(program->key());
    if (found != programs_.end() && found->second == program) programs_.erase(found);
  }
  program->discard();
}

}  // namespace dala
