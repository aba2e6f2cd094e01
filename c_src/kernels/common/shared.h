// Structs that a launch passes to a kernel by value are defined once, in headers that host and
// device both compile, so that the two cannot disagree about their layout.
//
//   cl_long, cl_float, ...     the types of CL/cl_platform.h, on both sides
//   HOST_INIT(value)           default member initialiser, on the host only
//   SHARED_ARRAY(type, name, count)   an array member, zeroed on the host
//   SHARED_STRUCT(Name, bytes) after the struct: fails to compile if its size differs
//
// Structs have no implicit padding, and their size is a multiple of 8 bytes: some drivers drop
// implicit padding, and some cannot pass arrays of arrays.
#pragma once

#ifdef __cplusplus  // the host

#include <CL/cl_platform.h>

#include <array>
#include <type_traits>

#define SHARED_BEGIN namespace dala {
#define SHARED_END }
#define HOST_INIT(value) = value
#define SHARED_ARRAY(type, name, count) std::array<type, count> name = {}
#define SHARED_STRUCT(Name, bytes)                            \
  static_assert(sizeof(Name) == (bytes) && (bytes) % 8 == 0); \
  static_assert(std::is_standard_layout_v<Name> && std::is_trivially_copyable_v<Name>);

#else

typedef uchar cl_uchar;
typedef short cl_short;
typedef ushort cl_ushort;
typedef int cl_int;
typedef uint cl_uint;
typedef long cl_long;
typedef ulong cl_ulong;
typedef float cl_float;

#define SHARED_BEGIN
#define SHARED_END
#define HOST_INIT(value)
#define SHARED_ARRAY(type, name, count) type name[count]
#define SHARED_STRUCT(Name, bytes) typedef char Name##_size[sizeof(Name) == (bytes) ? 1 : -1];

#endif
