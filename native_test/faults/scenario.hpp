// What a fault is put into: something of everything that the library does with a device, in parts
// that compare their results with numbers computed here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/engine_fixture.hpp"

namespace dala::test {

// Results that are not what they should be: never the consequence of a fault.
struct WrongResult : std::logic_error {
  using std::logic_error::logic_error;
};

struct Part {
  const char* name;
  void (*run)();
};

// On the engine of the process. Each part throws an Error, or WrongResult.
const std::vector<Part>& parts();
const Part& part_named(const std::string& name);

// The engine of the process, for as long as this lives.
class ScopedEngine {
 public:
  explicit ScopedEngine(const Config& config) {
    engine_of_process() = std::make_unique<Engine>(config);
  }
  ~ScopedEngine() { engine_of_process().reset(); }
  ScopedEngine(const ScopedEngine&) = delete;
  ScopedEngine& operator=(const ScopedEngine&) = delete;
};

// Ends the process when something takes much longer than it should, and says what it was.
class Watchdog {
 public:
  explicit Watchdog(std::string what);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
};

}  // namespace dala::test
