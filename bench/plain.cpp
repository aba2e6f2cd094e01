#include "bench/plain.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace dala::bench::plain {
namespace {

// Every thread gets one part of the elements.
template <typename Body>
void in_parts(size_t n, Body body) {
#pragma omp parallel
  {
    const auto thread = static_cast<size_t>(omp_get_thread_num());
    const auto threads = static_cast<size_t>(omp_get_num_threads());
    body(n * thread / threads, n * (thread + 1) / threads);
  }
}

// The loops are functions of restricted pointers: through a lambda's captures, GCC would have to
// expect that a byte it stores changes the pointers.
template <typename From, typename To, typename Body>
void map_part(const From* __restrict x, To* __restrict out, size_t n, Body body) {
  for (size_t i = 0; i < n; ++i) out[i] = body(x[i]);
}
template <typename T, typename Body>
void map_part(const T* __restrict a, const T* __restrict b, T* __restrict out, size_t n,
              Body body) {
  for (size_t i = 0; i < n; ++i) out[i] = body(a[i], b[i]);
}

template <typename From, typename To, typename Body>
void map(const From* x, To* out, size_t n, Body body) {
  in_parts(n,
           [=](size_t begin, size_t end) { map_part(x + begin, out + begin, end - begin, body); });
}
template <typename T, typename Body>
void map(const T* a, const T* b, T* out, size_t n, Body body) {
  in_parts(n, [=](size_t begin, size_t end) {
    map_part(a + begin, b + begin, out + begin, end - begin, body);
  });
}

template <typename Body>
void each_row(size_t rows, Body body) {
  in_parts(rows, [=](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) body(row);
  });
}

// Vectorised by the compiler: this file is compiled with -ffast-math, without which GCC would
// neither reorder a sum nor call the vector forms of exp.
float sum_of(const float* __restrict x, size_t n) {
  float total = 0;
  for (size_t i = 0; i < n; ++i) total += x[i];
  return total;
}

float max_of(const float* __restrict x, size_t n) {
  float best = std::numeric_limits<float>::lowest();
  for (size_t i = 0; i < n; ++i) best = best > x[i] ? best : x[i];
  return best;
}

void softmax_row(const float* __restrict x, float* __restrict out, size_t n) {
  const float best = max_of(x, n);
  float total = 0;
  for (size_t i = 0; i < n; ++i) {
    out[i] = std::exp(x[i] - best);
    total += out[i];
  }
  const float factor = 1 / total;
  for (size_t i = 0; i < n; ++i) out[i] *= factor;
}

void layer_norm_row(const float* __restrict x, float* __restrict out, size_t n, float epsilon) {
  const float mean = sum_of(x, n) / static_cast<float>(n);
  float squares = 0;
  for (size_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const float factor = 1 / std::sqrt(squares / static_cast<float>(n) + epsilon);
  for (size_t i = 0; i < n; ++i) out[i] = (x[i] - mean) * factor;
}

void add_row(const float* __restrict x, float* __restrict out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] += x[i];
}

}  // namespace

void add(const float* a, const float* b, float* out, size_t n) {
  map(a, b, out, n, [](float x, float y) { return x + y; });
}
void add(const uint8_t* a, const uint8_t* b, uint8_t* out, size_t n) {
  map(a, b, out, n, [](uint8_t x, uint8_t y) { return static_cast<uint8_t>(x + y); });
}
void relu(const float* x, float* out, size_t n) {
  map(x, out, n, [](float each) { return each > 0 ? each : 0; });
}
void relu(const uint8_t* x, uint8_t* out, size_t n) {
  map(x, out, n, [](uint8_t each) { return each; });
}
void scale(const float* x, float factor, float* out, size_t n) {
  map(x, out, n, [factor](float each) { return each * factor; });
}
void scale(const uint8_t* x, uint8_t factor, uint8_t* out, size_t n) {
  map(x, out, n, [factor](uint8_t each) { return static_cast<uint8_t>(each * factor); });
}
void power(const float* a, const float* b, float* out, size_t n) {
  map(a, b, out, n, [](float x, float y) { return std::pow(x, y); });
}
void fill(float value, float* out, size_t n) {
  in_parts(n, [=](size_t begin, size_t end) { std::fill(out + begin, out + end, value); });
}
void to_float(const uint8_t* x, float* out, size_t n) {
  map(x, out, n, [](uint8_t each) { return static_cast<float>(each); });
}
void to_byte(const float* x, uint8_t* out, size_t n) {
  map(x, out, n, [](float each) {
    const float low = each > 0 ? each : 0;
    return static_cast<uint8_t>(low < 255 ? low : 255);
  });
}

float sum(const float* x, size_t n) {
  float total = 0;
  in_parts(n, [=, &total](size_t begin, size_t end) {
    const float part = sum_of(x + begin, end - begin);
#pragma omp critical
    total += part;
  });
  return total;
}

float max(const float* x, size_t n) {
  float best = std::numeric_limits<float>::lowest();
  in_parts(n, [=, &best](size_t begin, size_t end) {
    const float part = max_of(x + begin, end - begin);
#pragma omp critical
    best = std::max(best, part);
  });
  return best;
}

void row_sums(const float* x, float* out, size_t rows, size_t columns) {
  each_row(rows, [=](size_t row) { out[row] = sum_of(x + row * columns, columns); });
}

void column_sums(const float* x, float* out, size_t rows, size_t columns) {
  constexpr size_t kBlock = 1024;
  each_row((columns + kBlock - 1) / kBlock, [=](size_t block) {
    const size_t first = block * kBlock;
    const size_t width = std::min(kBlock, columns - first);
    std::fill_n(out + first, width, 0.0f);
    for (size_t row = 0; row < rows; ++row) {
      add_row(x + row * columns + first, out + first, width);
    }
  });
}

void softmax(const float* x, float* out, size_t rows, size_t columns) {
  each_row(rows, [=](size_t row) { softmax_row(x + row * columns, out + row * columns, columns); });
}

void layer_norm(const float* x, float* out, size_t rows, size_t columns, float epsilon) {
  each_row(rows, [=](size_t row) {
    layer_norm_row(x + row * columns, out + row * columns, columns, epsilon);
  });
}

void transpose(const float* x, float* out, size_t rows, size_t columns) {
  constexpr size_t kTile = 32;
  each_row((columns + kTile - 1) / kTile, [=](size_t across) {
    const size_t c0 = across * kTile;
    const size_t c1 = std::min(c0 + kTile, columns);
    for (size_t r0 = 0; r0 < rows; r0 += kTile) {
      const size_t r1 = std::min(r0 + kTile, rows);
      for (size_t c = c0; c < c1; ++c) {
        for (size_t r = r0; r < r1; ++r) out[c * rows + r] = x[r * columns + c];
      }
    }
  });
}

void swap_outer(const float* x, float* out, size_t a, size_t b, size_t c) {
  each_row(b, [=](size_t j) {
    for (size_t i = 0; i < a; ++i) {
      std::memcpy(out + (j * a + i) * c, x + (i * b + j) * c, c * sizeof(float));
    }
  });
}

void reverse(const float* x, float* out, size_t a, size_t b, size_t c) {
  constexpr size_t kTile = 32;
  each_row(b, [=](size_t j) {
    for (size_t k0 = 0; k0 < c; k0 += kTile) {
      for (size_t i0 = 0; i0 < a; i0 += kTile) {
        for (size_t k = k0; k < std::min(k0 + kTile, c); ++k) {
          for (size_t i = i0; i < std::min(i0 + kTile, a); ++i) {
            out[(k * b + j) * a + i] = x[(i * b + j) * c + k];
          }
        }
      }
    }
  });
}

}  // namespace dala::bench::plain
