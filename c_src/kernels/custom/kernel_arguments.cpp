#include "kernels/custom/kernel_arguments.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "runtime/error.hpp"

namespace dala {
namespace {

std::string text_info(cl_kernel kernel, cl_uint index, cl_kernel_arg_info key) {
  size_t size = 0;
  check(cl().clGetKernelArgInfo(kernel, index, key, 0, nullptr, &size), "clGetKernelArgInfo");
  std::string value(size, '\0');
  check(cl().clGetKernelArgInfo(kernel, index, key, size, value.data(), nullptr),
        "clGetKernelArgInfo");
  value.resize(std::strlen(value.c_str()));
  return value;
}

template <typename T>
T value_info(cl_kernel kernel, cl_uint index, cl_kernel_arg_info key) {
  T value{};
  check(cl().clGetKernelArgInfo(kernel, index, key, sizeof(value), &value, nullptr),
        "clGetKernelArgInfo");
  return value;
}

// "uchar4" into its element type and lane count.
std::pair<std::optional<DType>, int> split_vector(std::string_view type) {
  size_t letters = type.size();
  while (letters > 0 && std::isdigit(static_cast<unsigned char>(type[letters - 1])) != 0) --letters;
  const int lanes = letters == type.size() ? 1 : std::stoi(std::string(type.substr(letters)));
  const std::string_view name = type.substr(0, letters);
  if (name == "half") return {DType::f16, lanes};
  for (DType dtype : kAllDTypes) {
    // bf16 and c64 have no type of their own.
    if (is_narrow_float(dtype) || dtype == DType::c64) continue;
    if (name == cl_name(dtype)) return {dtype, lanes};
  }
  return {std::nullopt, lanes};
}

template <typename T>
std::vector<std::byte> bytes_of(double number) {
  const T converted = static_cast<T>(number);
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &converted, sizeof(T));
  return bytes;
}

struct ScalarType {
  std::string_view name;
  bool is_float;
  double min;
  double max;
  std::vector<std::byte> (*bytes)(double);
};

template <typename T>
constexpr ScalarType scalar(std::string_view name) {
  using Limits = std::numeric_limits<T>;
  constexpr bool kFloat = std::is_floating_point_v<T>;
  // The largest double that converts without overflow, for types with more digits than a double.
  constexpr double kMax = Limits::digits > 53 ? static_cast<double>(Limits::max() - 2048)
                                              : static_cast<double>(Limits::max());
  return {name, kFloat, static_cast<double>(Limits::lowest()), kMax, &bytes_of<T>};
}

constexpr ScalarType kScalars[] = {scalar<cl_float>("float"), scalar<cl_double>("double"),
                                   scalar<cl_int>("int"),     scalar<cl_uint>("uint"),
                                   scalar<cl_long>("long"),   scalar<cl_ulong>("ulong"),
                                   scalar<cl_short>("short"), scalar<cl_ushort>("ushort"),
                                   scalar<cl_char>("char"),   scalar<cl_uchar>("uchar")};

const ScalarType* find_scalar(const std::string& type) {
  const auto* found = std::find_if(std::begin(kScalars), std::end(kScalars),
                                   [&type](const ScalarType& each) { return each.name == type; });
  return found == std::end(kScalars) ? nullptr : found;
}

}  // namespace

std::vector<KernelArgument> kernel_arguments(cl_kernel kernel) {
  cl_uint count = 0;
  check(cl().clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, nullptr),
        "clGetKernelInfo");
  std::vector<KernelArgument> arguments;
  for (cl_uint i = 0; i < count; ++i) {
    KernelArgument argument;
    argument.name = text_info(kernel, i, CL_KERNEL_ARG_NAME);
    argument.type = text_info(kernel, i, CL_KERNEL_ARG_TYPE_NAME);
    const auto space =
        value_info<cl_kernel_arg_address_qualifier>(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER);
    const auto qualifier =
        value_info<cl_kernel_arg_type_qualifier>(kernel, i, CL_KERNEL_ARG_TYPE_QUALIFIER);
    // Pointers into constant memory cannot be written to either.
    argument.is_const =
        (qualifier & CL_KERNEL_ARG_TYPE_CONST) != 0 || space == CL_KERNEL_ARG_ADDRESS_CONSTANT;
    if (!argument.type.empty() && argument.type.back() == '*') {
      const std::string pointee = argument.type.substr(0, argument.type.size() - 1);
      std::tie(argument.element, argument.lanes) = split_vector(pointee);
      const bool global =
          space == CL_KERNEL_ARG_ADDRESS_GLOBAL || space == CL_KERNEL_ARG_ADDRESS_CONSTANT;
      if (global && argument.element) argument.kind = KernelArgument::Kind::buffer;
    } else if (find_scalar(argument.type) != nullptr) {
      argument.kind = KernelArgument::Kind::scalar;
      argument.element = split_vector(argument.type).first;
    }
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

std::vector<std::byte> scalar_bytes(const std::string& type, double number) {
  const ScalarType* scalar = find_scalar(type);
  if (scalar == nullptr) return {};
  const bool fits = number >= scalar->min && number <= scalar->max && number == std::trunc(number);
  if (!scalar->is_float && !fits) return {};
  return scalar->bytes(number);
}

bool is_integer_scalar(const std::string& type) {
  const ScalarType* scalar = find_scalar(type);
  return scalar != nullptr && !scalar->is_float;
}

bool is_float_scalar(const std::string& type) {
  const ScalarType* scalar = find_scalar(type);
  return scalar != nullptr && scalar->is_float;
}

std::pair<double, double> integer_range(const std::string& type) {
  const ScalarType* scalar = find_scalar(type);
  return {scalar->min, scalar->max};
}

}  // namespace dala
