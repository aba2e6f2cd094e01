// Compiles users' sources in a separate process, dala_gpu_compiler. Compilers in drivers recurse,
// loop and expand macros without a limit, abort on internal errors, and hold locks that launches
// need; in that process they harm nothing else. PoCL keeps the result in its cache on disk, where
// this process then finds it.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "runtime/device/device.hpp"
#include "runtime/program/compile_request.hpp"

namespace dala {

class Compiler {
 public:
  // A build that takes longer than `limit` is killed.
  Compiler(const Device& device, std::chrono::milliseconds limit);

  // False if the program is not beside this library, or the device is a simulator that only works
  // in the process that started it. Sources are then compiled in this process.
  bool available() const { return !program_.empty(); }

  // Compiles the source, and the given specialisations if the driver compiles at launch. Takes
  // seconds: for worker threads only. Throws `build_failed`, with the compiler's log in the details
  // if the source is at fault.
  void compile(const std::string& source, const std::string& options,
               std::vector<Specialisation> specialisations);

  // Kills running compilations and prevents later ones. `compile` then throws.
  void stop() noexcept { stopped_.store(true); }

 private:
  const Device& device_;
  const std::chrono::milliseconds limit_;
  const std::string program_;
  std::atomic<bool> stopped_{false};
};

}  // namespace dala
