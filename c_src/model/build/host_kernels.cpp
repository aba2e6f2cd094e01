#include "model/build/host_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <utility>

#include "model/build/layouts.hpp"

// OpenCL C as C++ sees it.
#define __kernel static  // NOLINT(bugprone-reserved-identifier): a keyword there
#define __global         // NOLINT(bugprone-reserved-identifier)
#define get_global_id(dimension) 0L
#define REAL double
#define HAS_DOUBLE 1

#if defined(__GNUC__)
// Every instance has functions that its type does not need.
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wtautological-compare"
#endif

namespace dala::model {
namespace {

using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;

using std::acos, std::asin, std::atan, std::ceil, std::cos, std::cosh, std::erf, std::exp;
using std::acosh, std::asinh, std::atanh, std::max, std::min;
using std::expm1, std::fabs, std::floor, std::fmax, std::fmin, std::fmod, std::log, std::log1p,
    std::pow, std::rint;
using std::sin, std::sinh, std::sqrt, std::tan, std::tanh;

uint as_uint(float x) { return std::bit_cast<uint>(x); }
float as_float(uint bits) { return std::bit_cast<float>(bits); }

// NOLINTBEGIN
#include "kernels/model/convert.cl"
#include "kernels/model/walk.cl"
// NOLINTEND

using HostKernel = std::function<void(const std::vector<HostArgument>&)>;
using Table = std::map<std::string, HostKernel>;

template <typename T>
T unpack(const HostArgument& argument) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(std::get<void*>(argument));
  } else {
    T value;
    const auto& given = std::get<dala::Value>(argument).bytes;
    if (given.size() != sizeof(T)) throw std::logic_error("an argument of another size");
    std::memcpy(&value, given.data(), sizeof(T));
    return value;
  }
}

template <typename... Parameters>
HostKernel wrap(void (*kernel)(Parameters...)) {
  return [kernel](const std::vector<HostArgument>& arguments) {
    if (arguments.size() != sizeof...(Parameters)) throw std::logic_error("too few arguments");
    [&]<size_t... I>(std::index_sequence<I...>) { kernel(unpack<Parameters>(arguments[I])...); }
    (std::index_sequence_for<Parameters...>{});
  };
}

// NOLINTBEGIN
#define MOVE_INSTANCE(name, type) \
  namespace name {                \
  using E = type;

MOVE_INSTANCE(move_1, uchar)
#include "kernels/model/move.cl"
}
MOVE_INSTANCE(move_4, uint)
#include "kernels/model/move.cl"
}
MOVE_INSTANCE(move_8, ulong)
#include "kernels/model/move.cl"
}

#define MATH_INSTANCE(name, stored, computed, unsigned_one, sum) \
  namespace name {                                               \
  using S = stored;                                              \
  using T = computed;                                            \
  using UT = unsigned_one;                                       \
  using ACC = sum;

#define T_FLOAT 1
#define T_SIGNED 1
#define T_BITS 64
MATH_INSTANCE(f32, float, float, float, double)
#include "model/host_math.inc"
}
MATH_INSTANCE(f64, double, double, double, double)
#include "model/host_math.inc"
}
#undef T_FLOAT
#define T_FLOAT 0
MATH_INSTANCE(i64, long, long, ulong, long)
#include "model/host_math.inc"
}
#undef T_BITS
#define T_BITS 32
MATH_INSTANCE(i32, int, int, uint, long)
#include "model/host_math.inc"
}
#undef T_BITS
#define T_BITS 16
MATH_INSTANCE(i16, int, short, ushort, long)
#include "model/host_math.inc"
}
#undef T_BITS
#define T_BITS 8
MATH_INSTANCE(i8, int, signed char, uchar, long)
#include "model/host_math.inc"
}
#undef T_SIGNED
#define T_SIGNED 0
MATH_INSTANCE(u8, uchar, uchar, uchar, ulong)
#include "model/host_math.inc"
}
#undef T_BITS
#define T_BITS 16
MATH_INSTANCE(u16, uint, ushort, ushort, ulong)
#include "model/host_math.inc"
}
#undef T_BITS
#define T_BITS 32
MATH_INSTANCE(u32, uint, uint, uint, ulong)
#include "model/host_math.inc"
}
#undef T_BITS
#define T_BITS 64
MATH_INSTANCE(u64, ulong, ulong, ulong, ulong)
#include "model/host_math.inc"
}
// NOLINTEND

#define MOVE_TABLE(name)                                                                        \
  Table {                                                                                       \
    {"move", wrap(name::move)}, {"choose", wrap(name::choose)}, {"gather", wrap(name::gather)}, \
        {"gather_elements", wrap(name::gather_elements)}, {"gather_nd", wrap(name::gather_nd)}, \
  }

const Table& table_of(const Family& family) {
  static const Table convert_table{{"convert", wrap(convert)}};
  static const std::map<size_t, Table> moves{
      {1, MOVE_TABLE(move_1)}, {4, MOVE_TABLE(move_4)}, {8, MOVE_TABLE(move_8)}};
  static const std::map<ElementType, Table> maths{
      {ElementType::f32, f32::table()}, {ElementType::f64, f64::table()},
      {ElementType::i64, i64::table()}, {ElementType::i32, i32::table()},
      {ElementType::i16, i16::table()}, {ElementType::i8, i8::table()},
      {ElementType::u8, u8::table()},   {ElementType::u16, u16::table()},
      {ElementType::u32, u32::table()}, {ElementType::u64, u64::table()}};
  switch (family.kind) {
    case Family::Kind::convert:
      return convert_table;
    case Family::Kind::move:
      return moves.at(family.bytes);
    case Family::Kind::math:
      break;
  }
  return maths.at(computed_as(family.type));
}

}  // namespace

void run_on_host(const Family& family, const std::string& entry,
                 const std::vector<HostArgument>& arguments) {
  table_of(family).at(entry)(arguments);
}

}  // namespace dala::model
