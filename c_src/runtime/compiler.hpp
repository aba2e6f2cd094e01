// Compiles sources that are not ours in a process of its own, dala_gpu_compiler. Compilers in
// drivers recurse, loop and expand macros without a limit, end the process on an internal error,
// and hold locks that launches need; there it costs that process alone. PoCL keeps what was
// compiled in its cache on disk, where this process then finds it.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "runtime/compile_request.hpp"
#include "runtime/device.hpp"

namespace dala {

class Compiler {
 public:
  // A build that takes longer than `limit` is given up.
  Compiler(const Device& device, std::chrono::milliseconds limit);

  // False: there is no such program beside this library, or the device is a simulator that only
  // works in the process it was started with. Sources are then compiled in this process.
  bool available() const { return !program_.empty(); }

  // Compiles the source for these launches, too, where the driver does that at launch. Takes
  // seconds: for worker threads only. Throws `build_failed`, with the compiler's log in the details
  // where the source is at fault.
  void compile(const std::string& source, const std::string& options,
               std::vector<Specialisation> specialisations);

  // Ends the processes that are compiling, now and later. Those who wait for them get an error.
  void stop() noexcept { stopped_.store(true); }

 private:
  const Device& device_;
  const std::chrono::milliseconds limit_;
  const std::string program_;
  std::atomic<bool> stopped_{false};
};

}  // namespace dala
