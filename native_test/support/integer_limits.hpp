// The smallest and the largest number of an integer type.
#pragma once

#include <cstdint>
#include <limits>

#include "runtime/memory/tensor_type.hpp"

namespace dala::test {

inline int64_t highest(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return 255;
    case DType::u32:
      return 0xffffffff;
    case DType::s32:
      return std::numeric_limits<int32_t>::max();
    default:
      return std::numeric_limits<int64_t>::max();
  }
}

inline int64_t lowest(DType dtype) {
  return dtype == DType::u8 || dtype == DType::u32 ? 0 : -highest(dtype) - 1;
}

}  // namespace dala::test
