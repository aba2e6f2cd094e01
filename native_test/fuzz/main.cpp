// libFuzzer's entry: the target is the one that DALA_FUZZ names. See `make fuzz`.
#include <cstring>

#include "fuzz/targets.hpp"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace dala::test::fuzz {
namespace {

constexpr Target kTargets[] = {
    {.name = "onnx", .run = run_model, .mutate = nullptr},
    {.name = "tflite", .run = run_model, .mutate = nullptr},
    {.name = "tfjs", .run = run_tfjs, .mutate = nullptr},
    {.name = "picture", .run = run_picture, .mutate = mutate_picture},
    {.name = "expression", .run = run_expression, .mutate = nullptr},
};

const Target& chosen() {
  static const Target& target = []() -> const Target& {
    const char* wanted = std::getenv("DALA_FUZZ");
    for (const Target& each : kTargets) {
      if (wanted != nullptr && std::strcmp(each.name, wanted) == 0) return each;
    }
    std::fputs("DALA_FUZZ names the target; the targets are", stderr);
    for (const Target& each : kTargets) std::fprintf(stderr, " %s", each.name);
    std::fputs("\n", stderr);
    std::exit(2);
  }();
  return target;
}

}  // namespace
}  // namespace dala::test::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dala::test::fuzz::chosen().run({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  const auto mutate = dala::test::fuzz::chosen().mutate;
  return mutate == nullptr ? LLVMFuzzerMutate(data, size, most) : mutate(data, size, most, seed);
}
