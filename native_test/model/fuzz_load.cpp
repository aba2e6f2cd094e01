// A libFuzzer target for the loader of models: see `make fuzz`.
#include "model/hostile.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dala::test::load_hostile({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
