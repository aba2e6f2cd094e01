// Fourier transforms as steps of a launch, for kernels that need one.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/planner.hpp"
#include "runtime/schedule/launch.hpp"

namespace dala {

// A complex array [outer][length][inner], transformed along its middle axis.
struct FftArray {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;
  int64_t count() const { return outer * length * inner; }
};

// Adds the steps of a transform from one operand to another, which may be the same. Results are
// multiplied by `scale`.
void add_fft(Launch& launch, Planner& planner, DType dtype, const FftArray& array, Operand from,
             Operand to, bool inverse, double scale);

// Adds scratch that holds the tables of e^(-2 pi i / whole), see tables.cl.
struct RootTables {
  Operand memory;
  int64_t fine = 0;
  int64_t coarse = 0;
  int fine_bits = 0;
};
RootTables add_root_tables(Launch& launch, DType dtype, int64_t whole);

// Adds scratch of that many bytes.
Operand add_scratch(Launch& launch, size_t bytes);

// The program of the steps around the passes: those of chirp.cl.
std::shared_ptr<Program> fft_steps_program(Planner& planner, DType dtype);

// The operations of a transform, roughly.
double fft_operations(const FftArray& array);

// For the tests: the lengths of the passes over memory, each at most `longest` and with no prime
// factor above `most_prime`; none where there is no such division.
std::vector<int64_t> fft_pass_lengths(int64_t length, int64_t longest, int64_t most_prime,
                                      int64_t fewest);
// The radices of a pass's stages.
std::vector<int32_t> fft_radices(int64_t length);
// A length of at least `length` without prime factors above 5.
int64_t fft_good_length(int64_t length);

}  // namespace dala
