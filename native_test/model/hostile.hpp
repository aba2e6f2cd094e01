// Feeding bytes to the loader that nobody vouches for: they are a model, or an Error says why not.
// Shared by the fuzzer and by the tests that run a short piece of what it does.
#pragma once

#include <span>

#include "model/model.hpp"
#include "support/engine_fixture.hpp"

namespace dala::test {

// True when the bytes are a model. Anything but an Error escapes.
inline bool load_hostile(std::span<const std::byte> bytes) {
  try {
    model::Model::load(engine(), bytes, "");
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace dala::test
