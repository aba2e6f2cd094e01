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
  shape_mismatch,   // the shapes do not fit each other or the kernel
  dtype_mismatch,   // an element type the kernel does not take, or types that differ
  invalid_param,    // a parameter of the wrong type or out of its range
  unknown_param,    // a parameter the kernel does not have
  freed,            // the buffer, pipeline or command is gone
  out_of_memory,    // the device, or the configured limit, has no room
  build_failed,     // OpenCL C source that does not compile, or no room to do so
  no_device,        // no usable OpenCL device on this machine
  unsupported,      // well-formed, but not possible on this device or in this version
  unknown_command,  // an id that was never handed out
  timeout,          // the wait ended before the command did
  cancelled,        // the command was taken back before it started
  device_error,     // the OpenCL driver reported a failure
  model_not_found,  // no model file at any of the places looked at
  invalid_model,    // a model file that is damaged or inconsistent
  unsupported_op,   // a model that uses operators which are not there
};

const char* to_string(Reason reason);

// What a program may want to look at beside the sentence: a stage index, a build log.
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

// An error that several hold; a copy of it takes no memory.
using ErrorPtr = std::shared_ptr<const Error>;

// `out_of_memory`. It exists from the start, so it can be had when there is no memory left.
const ErrorPtr& no_memory() noexcept;

// The exception that is being handled; `no_memory()` where there is none for a copy.
ErrorPtr current_error() noexcept;

// The error that `make` returns, or `no_memory()`.
template <typename Make>
ErrorPtr shared_error(Make make) noexcept {
  try {
    return std::make_shared<const Error>(make());
  } catch (...) {
    return no_memory();
  }
}

// Strings its arguments together, so that messages can be written where they are thrown.
template <typename... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  // Streams keep it to themselves when there is no memory, and what they have is cut short.
  if (stream.bad()) throw std::bad_alloc();
  return stream.str();
}

}  // namespace dala
