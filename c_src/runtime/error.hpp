// The one error type of the native code. Everything below the NIF boundary throws `Error`; only
// the boundary turns it into an Elixir exception struct.
#pragma once

#include <cstdint>
#include <exception>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

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
  build_failed,     // OpenCL C source that does not compile
  no_device,        // no usable OpenCL device on this machine
  unsupported,      // well-formed, but not possible on this device or in this version
  unknown_command,  // an id that was never handed out
  timeout,          // the wait ended before the command did
  device_error,     // the OpenCL driver reported a failure
  model_not_found,  // no model file at any of the places looked at
  invalid_model,    // a model file that is damaged or inconsistent
  unsupported_op,   // a model that uses operators which are not there
};

const char* to_string(Reason reason);

// What a program may want to look at beside the sentence: a stage index, a build log.
using Detail = std::variant<int64_t, std::string>;
using Details = std::vector<std::pair<std::string, Detail>>;

struct Error : std::exception {
  Error(Reason reason, std::string message, Details details = {})
      : reason(reason), message(std::move(message)), details(std::move(details)) {}

  const char* what() const noexcept override { return message.c_str(); }

  Reason reason;
  std::string message;
  Details details;
};

// Strings its arguments together, so that messages can be written where they are thrown.
template <typename... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

}  // namespace dala
