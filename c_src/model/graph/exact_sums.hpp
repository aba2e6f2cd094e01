// Where sums of products of integers are exact in floating point, which decides the type in which
// quantized operators compute them.
#pragma once

namespace dala::model {

// Every integer up to 2^24 is an f32, so sums whose partial sums stay below it are exact, in any
// order of the additions.
constexpr double kExactInF32 = 16777216;

constexpr bool is_exact_in_f32(double largest_sum) { return largest_sum <= kExactInF32; }

}  // namespace dala::model
