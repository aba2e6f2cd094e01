// Compares every kernel in the registry with its reference: once with a separate output, and once
// with the output aliasing each input that may be it. Compiling a program per element type takes
// most of the time, so each kernel is tested with the six common types and two of the others,
// picked by its name; DALA_TEST_ALL=1 tests all types that it lists.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "support/subject.hpp"

namespace dala::test {
namespace {

std::string describe(const std::string& kernel, const Case& example) {
  std::string result = kernel + "(";
  for (const TensorType& type : example.inputs) result += to_string(type) + ", ";
  for (const auto& [name, value] : example.params) {
    result += name + ": " + to_string(value) + ", ";
  }
  return result + "-> " + to_string(example.output) + ")";
}

bool usable(const Case& example) {
  if (engine().runtime().device().info().fp64) return true;
  bool doubles = example.output.dtype == DType::f64;
  for (const TensorType& type : example.inputs) doubles = doubles || type.dtype == DType::f64;
  return !doubles;
}

void run_case(const std::string& kernel, const Subject& subject, const Case& example,
              uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Tensor> inputs;
  for (const TensorType& type : example.inputs) inputs.push_back(random_tensor(type, random));
  if (subject.prepare) subject.prepare(example, inputs);
  // The reference starts from the values that the device gets.
  for (Tensor& input : inputs) {
    if (is_narrow_float(input.type.dtype)) input = from_bytes(input.type, to_bytes(input));
  }
  const Tensor expected = subject.expected(example, inputs);
  const long double tolerance =
      example.output.dtype == DType::f64 ? subject.f64_tolerance : subject.f32_tolerance;

  // -1: a separate output, which is not zeroed.
  for (int alias = -1; alias < static_cast<int>(inputs.size()); ++alias) {
    if (alias >= 0 && inputs[static_cast<size_t>(alias)].type != example.output) continue;
    std::vector<BufferPtr> buffers;
    for (const Tensor& input : inputs) {
      buffers.push_back(buffer_of_bytes(input.type, to_bytes(input)));
    }
    const BufferPtr output =
        alias >= 0 ? buffers[static_cast<size_t>(alias)]
                   : buffer_of_bytes(example.output, std::vector<std::byte>(example.output.bytes(),
                                                                            std::byte{0x5a}));
    run(kernel, buffers, output, example.params);
    const Tensor got = from_bytes(example.output, engine().runtime().read_now(output));
    const auto problem = difference(got, expected, tolerance, subject.levels);
    CHECK_MESSAGE(!problem, describe(kernel, example), alias < 0 ? "" : text(" into input ", alias),
                  ": ", problem.value_or(""));
    if (problem) return;

    // Inputs that do not alias the output keep their bytes.
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (buffers[i] == output) continue;
      const bool kept = engine().runtime().read_now(buffers[i]) == to_bytes(inputs[i]);
      CHECK_MESSAGE(kept, describe(kernel, example), " changed input ", i);
    }
  }
}

bool common(DType dtype) {
  constexpr DType kCommon[] = {DType::f32, DType::f64, DType::s32,
                               DType::s64, DType::u32, DType::u8};
  return std::find(std::begin(kCommon), std::end(kCommon), dtype) != std::end(kCommon);
}

// A sum of the characters instead of std::hash, which differs between platforms.
std::vector<DType> tested_types(const Descriptor& descriptor) {
  const char* all = std::getenv("DALA_TEST_ALL");
  if (all != nullptr && std::string(all) == "1") return descriptor.dtypes;
  std::vector<DType> types;
  std::vector<DType> others;
  for (DType dtype : descriptor.dtypes) (common(dtype) ? types : others).push_back(dtype);
  constexpr size_t kPicked = 2;
  size_t first = 0;
  for (char letter : descriptor.name) first += static_cast<unsigned char>(letter);
  for (size_t i = 0; i < std::min(kPicked, others.size()); ++i) {
    types.push_back(others[(first + i) % others.size()]);
  }
  return types;
}

}  // namespace

TEST_CASE("every built-in kernel has a reference") {
  for (const auto& descriptor : engine().registry().list()) {
    if (descriptor->custom) continue;
    CHECK_MESSAGE(subjects().count(descriptor->name) == 1, descriptor->name, " has none");
  }
}

// One subcase per kernel, so that a single one can be run: --subcase=conv2d.
TEST_CASE("every kernel gives what its reference gives") {
  for (const auto& descriptor : engine().registry().list()) {
    const auto found = subjects().find(descriptor->name);
    if (found == subjects().end()) continue;
    SUBCASE(descriptor->name.c_str()) {
      uint64_t seed = 1;
      for (DType dtype : tested_types(*descriptor)) {
        const std::vector<Case> cases = found->second.cases(dtype);
        CHECK_MESSAGE(!cases.empty(), descriptor->name, " is not tested on ", to_string(dtype));
        for (const Case& example : cases) {
          if (!usable(example)) continue;
          const std::string problem =
              failure([&] { run_case(descriptor->name, found->second, example, seed++); });
          CHECK_MESSAGE(problem == "no error", describe(descriptor->name, example), ": ", problem);
          if (problem != "no error") break;
        }
      }
    }
  }
}

}  // namespace dala::test
