#include "runtime/memory/shared_memory.hpp"

#include <atomic>

#include "runtime/error.hpp"

namespace dala {
namespace {

std::atomic<uint64_t> held{0};

}  // namespace

uint64_t shared_bytes() noexcept { return held.load(); }

void add_shared(size_t bytes) noexcept { held.fetch_add(bytes); }

void drop_shared(size_t bytes) noexcept { held.fetch_sub(bytes); }

SharedHold hold_shared(size_t bytes, uint64_t limit) {
  const uint64_t before = shared_bytes();
  if (limit > 0 && (bytes > limit || before > limit - bytes)) {
    throw Error(Reason::out_of_memory, text("no room for ", bytes, " bytes: binaries hold ", before,
                                            " of ", limit, " bytes"));
  }
  return SharedHold(bytes);
}

}  // namespace dala
