// Peers of the numeric workloads: C++ on one thread per core, and FFTW with measured plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace dala::bench {

namespace plain {

// The parallel mode of libstdc++.
void sort(const float* x, float* out, size_t n);
void argsort(const float* x, int32_t* out, size_t n);
// A pass for the sums of the parts, and one for the results.
void cumulative_sum(const float* x, float* out, size_t n);
// Tables of each thread, four of them, which equal neighbours do not wait for.
void bincount(const uint8_t* x, uint32_t* out, size_t n);
// Rows of a table, by their numbers.
void take_rows(const float* table, const int32_t* rows, float* out, size_t n, size_t width);
// Each thread adds up the part of the sums that is its own, in order.
void scatter_add(const int32_t* places, const float* x, float* sums, size_t n, size_t count);

}  // namespace plain

// The transform of `batch` arrays of these dimensions, one behind the other, from x to out; planned
// when it is first called. Empty where FFTW is not installed.
std::function<void()> fftw_transform(const std::vector<int>& dimensions, int batch, const float* x,
                                     float* out);

}  // namespace dala::bench
