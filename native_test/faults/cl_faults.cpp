#include "faults/cl_faults.hpp"

#include <pthread.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

namespace dala::test {
namespace {

#define DALA_CL_COUNT(name) +1
constexpr size_t kFunctions = 0 DALA_CL_FUNCTIONS(DALA_CL_COUNT);
#undef DALA_CL_COUNT

enum Kind { kContext, kQueue, kMemory, kProgram, kKernel, kEvent, kKinds };
constexpr const char* kKindNames[] = {"contexts", "queues",  "memory objects",
                                      "programs", "kernels", "events"};

ClApi g_real;
std::array<std::atomic<long>, kFunctions> g_calls{};
std::array<std::atomic<long>, kKinds> g_live{};
thread_local int t_inside = 0;
thread_local int t_callbacks = 0;
const std::thread::id g_main = std::this_thread::get_id();

// The armed fault. Calls are counted down under the lock.
struct Armed {
  std::mutex mutex;
  bool armed = false;
  bool callback = false;  // fails the status of a callback instead of a call
  size_t function = 0;
  int left = 0;
  cl_int code = CL_SUCCESS;
  bool happened = false;
};
Armed g_armed;

// The code with which this call must fail; usually CL_SUCCESS.
cl_int fault_of(size_t function, bool callback) {
  const std::lock_guard lock(g_armed.mutex);
  if (!g_armed.armed || g_armed.callback != callback) return CL_SUCCESS;
  if (!callback && g_armed.function != function) return CL_SUCCESS;
  if (--g_armed.left > 0) return CL_SUCCESS;
  g_armed.armed = false;
  g_armed.happened = true;
  return g_armed.code;
}

constexpr Kind kind_of(cl_context) { return kContext; }
constexpr Kind kind_of(cl_command_queue) { return kQueue; }
constexpr Kind kind_of(cl_mem) { return kMemory; }
constexpr Kind kind_of(cl_program) { return kProgram; }
constexpr Kind kind_of(cl_kernel) { return kKernel; }
constexpr Kind kind_of(cl_event) { return kEvent; }

constexpr bool releases(ClFunction function) {
  switch (function) {
    case ClFunction::clReleaseContext:
    case ClFunction::clReleaseCommandQueue:
    case ClFunction::clReleaseMemObject:
    case ClFunction::clReleaseProgram:
    case ClFunction::clReleaseKernel:
    case ClFunction::clReleaseEvent:
      return true;
    default:
      return false;
  }
}

struct Inside {
  Inside() { ++t_inside; }
  ~Inside() { --t_inside; }
};

// Forwards a callback, with another status if one is armed.
struct Redirected {
  void(CL_CALLBACK* notify)(cl_event, cl_int, void*);
  void* data;
  cl_int status;
};

void CL_CALLBACK redirect(cl_event event, cl_int status, void* data) {
  const std::unique_ptr<Redirected> call(static_cast<Redirected*>(data));
  const int inside = std::exchange(t_inside, 0);
  ++t_callbacks;
  call->notify(event, call->status == CL_SUCCESS ? status : call->status, call->data);
  --t_callbacks;
  t_inside = inside;
}

template <ClFunction kFunction, auto kMember, typename Function>
struct Faulty;

template <ClFunction kFunction, auto kMember, typename Result, typename... Arguments>
struct Faulty<kFunction, kMember, Result (*)(Arguments...)> {
  static Result call(Arguments... arguments) {
    const Inside inside;
    g_calls[static_cast<size_t>(kFunction)].fetch_add(1);
    const cl_int code = fault_of(static_cast<size_t>(kFunction), false);
    if constexpr (std::is_same_v<Result, cl_int>) {
      return status_call(code, arguments...);
    } else {
      return creating_call(code, arguments...);
    }
  }

 private:
  // For functions that return an object, and the status in their last argument.
  static Result creating_call(cl_int code, Arguments... arguments) {
    auto* status = std::get<sizeof...(Arguments) - 1>(std::tie(arguments...));
    if (code != CL_SUCCESS) {
      *status = code;
      return nullptr;
    }
    const Result object = (g_real.*kMember)(arguments...);
    if (object != nullptr) g_live[kind_of(object)].fetch_add(1);
    return object;
  }

  static cl_int status_call(cl_int code, Arguments... arguments) {
    auto all = std::tie(arguments...);
    if constexpr (releases(kFunction)) {
      g_live[kind_of(std::get<0>(all))].fetch_sub(1);
      const cl_int status = (g_real.*kMember)(arguments...);
      return code != CL_SUCCESS ? code : status;
    } else {
      if (code != CL_SUCCESS) return code;
      if constexpr (kFunction == ClFunction::clSetEventCallback) {
        return set_callback(std::get<0>(all), std::get<1>(all), std::get<2>(all), std::get<3>(all));
      } else {
        const cl_int status = (g_real.*kMember)(arguments...);
        if (status == CL_SUCCESS) count_event(all);
        return status;
      }
    }
  }

  template <typename Tuple>
  static void count_event(const Tuple& all) {
    using Last = std::remove_reference_t<std::tuple_element_t<std::tuple_size_v<Tuple> - 1, Tuple>>;
    if constexpr (kFunction == ClFunction::clRetainEvent) {
      g_live[kEvent].fetch_add(1);
    } else if constexpr (std::is_same_v<Last, cl_event*>) {
      if (std::get<std::tuple_size_v<Tuple> - 1>(all) != nullptr) g_live[kEvent].fetch_add(1);
    }
  }

  static cl_int set_callback(cl_event event, cl_int type,
                             void(CL_CALLBACK* notify)(cl_event, cl_int, void*), void* data) {
    const cl_int status = fault_of(0, true);
    auto call = std::make_unique<Redirected>(Redirected{notify, data, status});
    const cl_int set = g_real.clSetEventCallback(event, type, redirect, call.get());
    if (set == CL_SUCCESS) static_cast<void>(call.release());
    return set;
  }
};

void arm_with(bool callback, size_t function, int nth, cl_int code) {
  const std::lock_guard lock(g_armed.mutex);
  g_armed.armed = true;
  g_armed.callback = callback;
  g_armed.function = function;
  g_armed.left = nth;
  g_armed.code = code;
  g_armed.happened = false;
}

}  // namespace

void ClFaults::install() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (!load_cl().empty()) return;
    g_real = cl();
    auto& table = const_cast<ClApi&>(cl());
#define DALA_CL_WRAP(name) \
  table.name = &Faulty<ClFunction::name, &ClApi::name, decltype(table.name)>::call;
    DALA_CL_FUNCTIONS(DALA_CL_WRAP)
#undef DALA_CL_WRAP
  });
}

void ClFaults::arm(ClFunction function, int nth, cl_int code) {
  arm_with(false, static_cast<size_t>(function), nth, code);
}

void ClFaults::arm_status(int nth, cl_int status) { arm_with(true, 0, nth, status); }

bool ClFaults::disarm() {
  const std::lock_guard lock(g_armed.mutex);
  g_armed.armed = false;
  return g_armed.happened;
}

long ClFaults::calls(ClFunction function) { return g_calls[static_cast<size_t>(function)].load(); }

std::map<std::string, long> ClFaults::live() {
  std::map<std::string, long> result;
  for (size_t i = 0; i < kKinds; ++i) {
    if (const long count = g_live[i].load(); count != 0) result[kKindNames[i]] = count;
  }
  return result;
}

ClFaults::Pause::Pause() { ++t_inside; }
ClFaults::Pause::~Pause() { --t_inside; }

bool ClFaults::in_library() {
  if (t_inside > 0) return false;
  if (t_callbacks > 0 || std::this_thread::get_id() == g_main) return true;
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return std::string_view(name).substr(0, 5) == "dala_";
}

}  // namespace dala::test
