// The sizes of a matrix product, as the ways to compute it take them.
#pragma once

#include <cstdint>

namespace dala {

// out {batch, m, n} = a {batch, m, k} * b {batch, k, n}
struct MatmulExtent {
  int64_t batch = 1;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

}  // namespace dala
