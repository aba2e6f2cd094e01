#include <omp.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <parallel/algorithm>

#include "bench/numeric_peers.hpp"

namespace dala::bench::plain {

void sort(const float* x, float* out, size_t n) {
#pragma omp parallel for
  for (size_t i = 0; i < n; ++i) out[i] = x[i];
  __gnu_parallel::sort(out, out + n);
}

void argsort(const float* x, int32_t* out, size_t n) {
#pragma omp parallel for
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<int32_t>(i);
  __gnu_parallel::stable_sort(out, out + n, [x](int32_t a, int32_t b) { return x[a] < x[b]; });
}

void cumulative_sum(const float* x, float* out, size_t n) {
  double sums[256] = {};
#pragma omp parallel
  {
    const auto thread = static_cast<size_t>(omp_get_thread_num());
    const auto threads = static_cast<size_t>(omp_get_num_threads());
    const size_t begin = n * thread / threads;
    const size_t end = n * (thread + 1) / threads;
    double sum = 0;
    if (thread + 1 < threads) {
      for (size_t i = begin; i < end; ++i) sum += x[i];
    }
    sums[thread] = sum;
#pragma omp barrier
    sum = std::accumulate(sums, sums + thread, 0.0);
    for (size_t i = begin; i < end; ++i) {
      sum += x[i];
      out[i] = static_cast<float>(sum);
    }
  }
}

void bincount(const uint8_t* x, uint32_t* out, size_t n) {
  std::memset(out, 0, 256 * sizeof(uint32_t));
#pragma omp parallel
  {
    const auto thread = static_cast<size_t>(omp_get_thread_num());
    const auto threads = static_cast<size_t>(omp_get_num_threads());
    const size_t begin = n * thread / threads;
    const size_t end = n * (thread + 1) / threads;
    uint32_t tables[4][256] = {};
    size_t i = begin;
    for (; i + 4 <= end; i += 4) {
      ++tables[0][x[i]];
      ++tables[1][x[i + 1]];
      ++tables[2][x[i + 2]];
      ++tables[3][x[i + 3]];
    }
    for (; i < end; ++i) ++tables[0][x[i]];
#pragma omp critical
    for (size_t bin = 0; bin < 256; ++bin) {
      out[bin] += tables[0][bin] + tables[1][bin] + tables[2][bin] + tables[3][bin];
    }
  }
}

void take_rows(const float* table, const int32_t* rows, float* out, size_t n, size_t width) {
#pragma omp parallel for
  for (size_t i = 0; i < n; ++i) {
    std::memcpy(out + i * width, table + static_cast<size_t>(rows[i]) * width,
                width * sizeof(float));
  }
}

void scatter_add(const int32_t* places, const float* x, float* sums, size_t n, size_t count) {
#pragma omp parallel
  {
    const auto thread = static_cast<size_t>(omp_get_thread_num());
    const auto threads = static_cast<size_t>(omp_get_num_threads());
    const size_t begin = count * thread / threads;
    const size_t end = count * (thread + 1) / threads;
    std::fill(sums + begin, sums + end, 0.0F);
    for (size_t i = 0; i < n; ++i) {
      const auto place = static_cast<size_t>(places[i]);
      if (place >= begin && place < end) sums[place] += x[i];
    }
  }
}

}  // namespace dala::bench::plain
