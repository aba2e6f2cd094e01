// The peer that everybody could write: plain loops in C++, compiled with -O3 -march=native, on one
// thread per core.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dala::bench::plain {

void add(const float* a, const float* b, float* out, size_t n);
void add(const uint8_t* a, const uint8_t* b, uint8_t* out, size_t n);
void relu(const float* x, float* out, size_t n);
void relu(const uint8_t* x, uint8_t* out, size_t n);
void scale(const float* x, float factor, float* out, size_t n);
void scale(const uint8_t* x, uint8_t factor, uint8_t* out, size_t n);
void power(const float* a, const float* b, float* out, size_t n);
void fill(float value, float* out, size_t n);
void to_float(const uint8_t* x, float* out, size_t n);
void to_byte(const float* x, uint8_t* out, size_t n);

float sum(const float* x, size_t n);
float max(const float* x, size_t n);
// Of a matrix, along its rows or columns.
void row_sums(const float* x, float* out, size_t rows, size_t columns);
void column_sums(const float* x, float* out, size_t rows, size_t columns);
void softmax(const float* x, float* out, size_t rows, size_t columns);
void layer_norm(const float* x, float* out, size_t rows, size_t columns, float epsilon);

// In blocks that stay in the cache.
void transpose(const float* x, float* out, size_t rows, size_t columns);
// [a][b][c] to [b][a][c].
void swap_outer(const float* x, float* out, size_t a, size_t b, size_t c);
// [a][b][c] to [c][b][a].
void reverse(const float* x, float* out, size_t a, size_t b, size_t c);

}  // namespace dala::bench::plain
