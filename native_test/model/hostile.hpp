// Feeds untrusted bytes to the loader, which must return a model or throw an Error. Shared by the
// fuzzer and by tests that run a short part of it.
#pragma once

#include <span>

#include "model/model.hpp"
#include "support/engine_fixture.hpp"

namespace dala::test {

// True if the bytes are a model. Exceptions other than Error propagate.
inline bool load_hostile(std::span<const std::byte> bytes) {
  try {
    model::Model::load(engine(), bytes, "");
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace dala::test
