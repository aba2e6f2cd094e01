#include "runtime/device/device.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>

#include "runtime/device/cl_serial.hpp"
#include "runtime/device/thread_placement.hpp"
#include "runtime/error.hpp"

namespace dala {
namespace {

bool is_pocl(const DeviceInfo& info) {
  return info.platform_name.find("Portable Computing Language") != std::string::npos;
}

// The PoCL versions with which direct calls of compiled kernels are tested; see group_function.hpp.
bool has_known_group_functions(const DeviceInfo& info) {
  return is_pocl(info) && info.driver.compare(0, 2, "3.") == 0;
}

constexpr const char* kInstallHint =
    "Install an OpenCL driver: pocl-opencl-icd runs on any CPU, nvidia-opencl-icd, "
    "mesa-opencl-icd or rocm-opencl-icd and intel-opencl-icd on GPUs; "
    "`mix dala.doctor` shows what was found.";

// Reads a string property through either of the two info routines. Throws: names identify platforms
// and devices, and decide which workarounds apply.
template <typename Routine, typename Object, typename Key>
std::string text_property(Routine routine, const char* name, Object object, Key key) {
  size_t size = 0;
  check(routine(object, key, 0, nullptr, &size), name);
  if (size == 0) return "";
  std::string value(size, '\0');
  check(routine(object, key, size, value.data(), nullptr), name);
  value.resize(std::strlen(value.c_str()));
  // Some drivers pad their names.
  value.erase(0, value.find_first_not_of(' '));
  value.erase(value.find_last_not_of(' ') + 1);
  return value;
}

std::string platform_text(cl_platform_id platform, cl_platform_info key) {
  return text_property(cl().clGetPlatformInfo, "clGetPlatformInfo", platform, key);
}

std::string device_text(cl_device_id device, cl_device_info key) {
  return text_property(cl().clGetDeviceInfo, "clGetDeviceInfo", device, key);
}

template <typename T>
T device_property(cl_device_id device, cl_device_info key) {
  T value{};
  check(cl().clGetDeviceInfo(device, key, sizeof(value), &value, nullptr), "clGetDeviceInfo");
  return value;
}

// Drivers without double precision may not know the property.
bool has_fp64(cl_device_id device) {
  cl_device_fp_config config = 0;
  const cl_int status =
      cl().clGetDeviceInfo(device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(config), &config, nullptr);
  return status == CL_SUCCESS && config != 0;
}

std::string type_name(cl_device_type type) {
  if ((type & CL_DEVICE_TYPE_GPU) != 0 && (type & CL_DEVICE_TYPE_CPU) == 0) return "gpu";
  if ((type & CL_DEVICE_TYPE_CPU) != 0) return "cpu";
  if ((type & CL_DEVICE_TYPE_ACCELERATOR) != 0) return "accelerator";
  return "custom";
}

DeviceInfo describe(cl_platform_id platform, const std::string& platform_name,
                    cl_device_id device) {
  DeviceInfo info;
  info.platform = platform;
  info.id = device;
  info.name = device_text(device, CL_DEVICE_NAME);
  info.vendor = device_text(device, CL_DEVICE_VENDOR);
  info.version = device_text(device, CL_DEVICE_VERSION);
  info.driver = device_text(device, CL_DRIVER_VERSION);
  info.platform_name = platform_name;
  info.type = type_name(device_property<cl_device_type>(device, CL_DEVICE_TYPE));
  info.compute_units = device_property<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS);
  info.global_memory = device_property<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE);
  info.max_allocation = device_property<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  info.alignment = device_property<cl_uint>(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
  info.local_memory = device_property<cl_ulong>(device, CL_DEVICE_LOCAL_MEM_SIZE);
  info.max_work_group = device_property<size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  info.fp64 = has_fp64(device);
  info.available = device_property<cl_bool>(device, CL_DEVICE_AVAILABLE) != CL_FALSE &&
                   device_property<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE) != CL_FALSE;
  return info;
}

// The threads that a platform starts at the first query for its devices.
std::vector<int> driver_threads(cl_platform_id platform, const std::function<void()>& ask) {
  static std::mutex mutex;
  static std::map<cl_platform_id, std::vector<int>> known;
  const std::lock_guard lock(mutex);
  const std::vector<int> started = threads_started_by(ask);
  return known.emplace(platform, started).first->second;
}

void describe(cl_platform_id platform, PlatformReport& report) {
  report.name = platform_text(platform, CL_PLATFORM_NAME);
  report.version = platform_text(platform, CL_PLATFORM_VERSION);

  cl_uint count = 0;
  cl_int status = CL_SUCCESS;
  const std::vector<int> threads = driver_threads(platform, [&] {
    status = cl().clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  });
  std::vector<cl_device_id> devices(status == CL_SUCCESS ? count : 0);
  if (!devices.empty()) {
    status = cl().clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
  }
  if (status == CL_DEVICE_NOT_FOUND || (status == CL_SUCCESS && devices.empty())) {
    report.problem = "it has no device on this machine";
  } else if (status != CL_SUCCESS) {
    report.problem = text("querying its devices failed with ", status_name(status));
  } else {
    for (cl_device_id device : devices) {
      DeviceInfo info = describe(platform, report.name, device);
      if (info.type == "cpu" && info.compute_units == threads.size()) info.threads = threads;
      report.devices.push_back(std::move(info));
    }
  }
}

// A platform whose query fails is listed with its problem, and does not hide the others.
PlatformReport report_of(cl_platform_id platform) {
  PlatformReport report;
  try {
    describe(platform, report);
  } catch (const Error& error) {
    report.problem = error.message;
  }
  return report;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// `auto` takes the most capable device: a GPU before an accelerator before a CPU, then the one with
// the most compute units.
int rank(const DeviceInfo& device) {
  if (device.type == "gpu") return 3;
  if (device.type == "accelerator") return 2;
  if (device.type == "cpu") return 1;
  return 0;
}

bool better(const DeviceInfo& left, const DeviceInfo& right) {
  if (rank(left) != rank(right)) return rank(left) > rank(right);
  return left.compute_units > right.compute_units;
}

std::string names(const std::vector<DeviceInfo>& devices) {
  std::string result;
  for (const DeviceInfo& device : devices) {
    result += text(result.empty() ? "" : ", ", device.name, " (", device.type, ")");
  }
  return result;
}

}  // namespace

Survey survey() {
  Survey result;
  if (!load_cl().empty()) {
    result.problem = load_cl();
    return result;
  }
  cl_uint count = 0;
  const cl_int status = cl().clGetPlatformIDs(0, nullptr, &count);
  // The loader returns -1001 (CL_PLATFORM_NOT_FOUND_KHR) when no driver is registered.
  if (status != CL_SUCCESS || count == 0) {
    result.problem = "no OpenCL driver (ICD) is registered on this machine";
    return result;
  }
  std::vector<cl_platform_id> platforms(count);
  const cl_int listed = cl().clGetPlatformIDs(count, platforms.data(), nullptr);
  if (listed != CL_SUCCESS) {
    result.problem = text("querying the platforms failed with ", status_name(listed));
    return result;
  }
  for (cl_platform_id platform : platforms) result.platforms.push_back(report_of(platform));
  return result;
}

Choice choose(const Survey& survey, const std::string& wish) {
  std::vector<DeviceInfo> devices;
  for (const PlatformReport& platform : survey.platforms) {
    for (const DeviceInfo& device : platform.devices) {
      if (device.available) devices.push_back(device);
    }
  }
  if (devices.empty()) {
    std::string seen = survey.problem;
    for (const PlatformReport& platform : survey.platforms) {
      seen += text(seen.empty() ? "" : "; ", platform.name, ": ",
                   platform.problem.empty() ? "no device that is available and has a compiler"
                                            : platform.problem);
    }
    throw Error(Reason::no_device,
                text("there is no usable OpenCL device: ", seen, ". ", kInstallHint));
  }

  std::vector<DeviceInfo> matching;
  for (const DeviceInfo& device : devices) {
    const bool by_type = (wish == "gpu" || wish == "cpu") && device.type == wish;
    const bool by_name =
        wish != "gpu" && wish != "cpu" &&
        lower(device.name + " " + device.platform_name).find(lower(wish)) != std::string::npos;
    if (wish == "auto" || by_type || by_name) matching.push_back(device);
  }
  if (matching.empty()) {
    throw Error(Reason::no_device,
                text("no device matches \"", wish, "\"; there is ", names(devices),
                     ". Set `config :dala_gpu, device:` or DALA_GPU_DEVICE to auto, gpu, cpu or "
                     "part of one of these names."));
  }
  Choice choice{*std::min_element(matching.begin(), matching.end(), better), ""};
  if (wish != "auto") {
    choice.why = text("it matches \"", wish, "\"");
  } else if (devices.size() == 1) {
    choice.why = "it is the only usable device";
  } else {
    choice.why = text("auto prefers a GPU, then the most compute units, among ", names(devices));
  }
  return choice;
}

Device::Device(const Choice& choice, const Config& config) : info_(choice.info), why_(choice.why) {
  class_ = info_.type == "cpu" ? DeviceClass::cpu : DeviceClass::gpu;
  if (config.device_class == "cpu") class_ = DeviceClass::cpu;
  if (config.device_class == "gpu") class_ = DeviceClass::gpu;

  // The simulator's memory is not thread-safe either.
  if (runs_only_when_awaited()) serialize_cl();

  cl_int status = CL_SUCCESS;
  context_ = ClContext(cl().clCreateContext(nullptr, 1, &info_.id, nullptr, nullptr, &status));
  check(status, "clCreateContext");

  // If the query fails, a queue without properties is used.
  cl_command_queue_properties supported = 0;
  cl().clGetDeviceInfo(info_.id, CL_DEVICE_QUEUE_PROPERTIES, sizeof(supported), &supported,
                       nullptr);
  // With profiling, the scheduler knows the device time of commands that overlap.
  const cl_command_queue_properties wanted =
      supported & (CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE);
  queue_ = ClQueue(cl().clCreateCommandQueue(context_.get(), info_.id, wanted, &status));
  check(status, "clCreateCommandQueue");
  call_queue_ = ClQueue(cl().clCreateCommandQueue(context_.get(), info_.id, 0, &status));
  check(status, "clCreateCommandQueue");

  if (config.pin_threads) spread_over_cpus(info_.threads);
  shares_host_memory_ = config.zero_copy && info_.type == "cpu" && probe_shared_memory();
  pins_threads_ = config.pin_threads;
  const bool direct = config.executor && class_ == DeviceClass::cpu && sees_host_addresses() &&
                      has_known_group_functions(info_);
  executor_threads_ = direct ? info_.compute_units : 0;
}

bool Device::binaries_are_costly() const { return is_pocl(info_); }

bool Device::loads_kernels_from_files() const { return is_pocl(info_); }

bool Device::compiles_at_launch() const { return is_pocl(info_); }

bool Device::reloads_for_wider_grids() const { return is_pocl(info_); }

bool Device::sees_host_addresses() const {
  return is_pocl(info_) && info_.type == "cpu" && shares_host_memory_;
}

bool Device::runs_only_when_awaited() const { return info_.platform_name == "Oclgrind"; }

// Whether a kernel's writes appear in host memory without a transfer. Drivers' answers cannot be
// trusted (a simulator may report a CPU and still copy), so it is tried.
bool Device::probe_shared_memory() const {
  alignas(4096) static unsigned char page[4096];
  cl_int status = CL_SUCCESS;
  const ClMem memory(cl().clCreateBuffer(context_.get(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                         sizeof(page), page, &status));
  if (status != CL_SUCCESS) return false;
  // A pattern that differs from the page's content, also on a second run.
  const unsigned char pattern = static_cast<unsigned char>(page[0] ^ 0x5a);
  if (cl().clEnqueueFillBuffer(queue_.get(), memory.get(), &pattern, 1, 0, sizeof(page), 0, nullptr,
                               nullptr) != CL_SUCCESS ||
      cl().clFinish(queue_.get()) != CL_SUCCESS) {
    return false;
  }
  return page[0] == pattern && page[sizeof(page) - 1] == pattern;
}

}  // namespace dala
