// The work into which faults are injected: a sample of everything that the library does with a
// device, in parts that compare their results with numbers computed here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/engine_fixture.hpp"

namespace dala::test {

// A wrong result, which no fault excuses.
struct WrongResult : std::logic_error {
  using std::logic_error::logic_error;
};

struct Part {
  const char* name;
  void (*run)();
};

// The parts, on the engine of the process. Each may throw an Error, or WrongResult.
const std::vector<Part>& parts();
const Part& part_named(const std::string& name);

// The engine of the process, for the lifetime of this object.
class ScopedEngine {
 public:
  explicit ScopedEngine(const Config& config) {
    engine_of_process() = std::make_unique<Engine>(config);
  }
  ~ScopedEngine() { engine_of_process().reset(); }
  ScopedEngine(const ScopedEngine&) = delete;
  ScopedEngine& operator=(const ScopedEngine&) = delete;
};

// Ends the process with a message if a part takes much longer than it should.
class Watchdog {
 public:
  explicit Watchdog(std::string what);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
};

}  // namespace dala::test
