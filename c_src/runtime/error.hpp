// The one error type of the native code. Everything below the NIF boundary throws `Error`; only
// the boundary turns it into an Elixir exception struct.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/variant.hpp"

namespace dala {

enum class Reason {
  unknown_kernel,   // no kernel is registered under that name
  arity_mismatch,   // wrong number of input buffers
  shape_mismatch,   // the shapes do not match each other or the kernel
  dtype_mismatch,   // the kernel does not accept this element type, or types differ
  invalid_param,    // a parameter of the wrong type or out of its range
  unknown_param,    // a parameter the kernel does not have
  freed,            // the buffer, pipeline or command is gone
  out_of_memory,    // the device's memory or the configured limit is exhausted
  build_failed,     // OpenCL C that does not compile, or no disk space to build it
  no_device,        // no usable OpenCL device on this machine
  unsupported,      // well-formed, but not possible on this device or in this version
  unknown_command,  // an id that was never issued
  timeout,          // the wait ended before the command did
  cancelled,        // the command was cancelled before it started
  device_error,     // the OpenCL driver reported a failure
  model_not_found,  // no model file in any of the places searched
  invalid_model,    // a model file that is damaged or inconsistent
  unsupported_op,   // the model uses operators that are not implemented
};

const char* to_string(Reason reason);

// Structured data beside the message, such as a stage index or a build log.
using Detail = Variant<int64_t, std::string>;
using Details = std::vector<std::pair<std::string, Detail>>;

struct Error : std::exception {
  Error(Reason reason, std::string message, Details details = {})
      : reason(reason), message(std::move(message)), details(std::move(details)) {}

  const char* what() const noexcept override { return message.c_str(); }

  Reason reason;
  std::string message;
  Details details;
};

// A shared error, whose copies do not allocate.
using ErrorPtr = std::shared_ptr<const Error>;

// `out_of_memory`, allocated at start so that it is available when memory has run out.
const ErrorPtr& no_memory() noexcept;

// The exception being handled, or `no_memory()` if it cannot be copied.
ErrorPtr current_error() noexcept;

// The error that `make` returns, or `no_memory()` if making it throws.
template <typename Make>
ErrorPtr shared_error(Make make) noexcept {
  try {
    return std::make_shared<const Error>(make());
  } catch (...) {
    return no_memory();
  }
}

// Concatenates its arguments, so that messages can be written where they are thrown.
template <typename... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  // A stream that runs out of memory does not throw; it sets badbit and truncates its content.
  if (stream.bad()) throw std::bad_alloc();
  return stream.str();
}

}  // namespace dala
