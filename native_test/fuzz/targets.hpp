// The native fuzz targets: what each does with an input, and how it mutates inputs. An input is
// accepted, or rejected with an `Error`; anything else is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace dala::test::fuzz {

using Input = std::span<const std::byte>;

struct Target {
  const char* name;
  void (*run)(Input input);
  // Mutates an input in place and returns its new size; null to use libFuzzer's mutations.
  size_t (*mutate)(uint8_t* data, size_t size, size_t most, unsigned seed);
};

void run_model(Input file);       // ONNX or TFLite, by content
void run_tfjs(Input input);       // model.json, a zero byte, the bytes of the weights
void run_picture(Input file);     // PNG, JPEG, WebP, GIF or BMP
void run_expression(Input text);  // a byte for the numbers of inputs and parameters, the formula

size_t mutate_picture(uint8_t* data, size_t size, size_t most, unsigned seed);

// Ends the process with a message, which libFuzzer reports together with the input.
[[noreturn]] inline void finding(const char* problem) {
  std::fprintf(stderr, "finding: %s\n", problem);
  std::abort();
}

}  // namespace dala::test::fuzz
