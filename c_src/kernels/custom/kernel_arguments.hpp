// The arguments of a kernel as reported by the OpenCL compiler.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/cl_api.hpp"
#include "runtime/memory/tensor_type.hpp"

namespace dala {

struct KernelArgument {
  enum class Kind { buffer, scalar, local, other };
  std::string name;
  std::string type;  // as written, e.g. "uchar4*"
  Kind kind = Kind::other;
  std::optional<DType> element;  // of a buffer, and of a scalar whose type is a dtype
  int lanes = 1;                 // 4 for uchar4*
  bool is_const = false;
  size_t bytes = 0;  // of an element of `__local` memory
};

// Needs a kernel that was built from source with -cl-kernel-arg-info.
std::vector<KernelArgument> kernel_arguments(cl_kernel kernel);

// A number as the bytes of the named OpenCL scalar type; empty if there is no such type, or if it
// cannot represent the number.
std::vector<std::byte> scalar_bytes(const std::string& type, double number);
bool is_integer_scalar(const std::string& type);
bool is_float_scalar(const std::string& type);
// The range of an integer scalar type, as far as a double can represent it.
std::pair<double, double> integer_range(const std::string& type);

}  // namespace dala
