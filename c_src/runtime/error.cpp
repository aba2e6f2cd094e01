#include "runtime/error.hpp"

namespace dala {

const char* to_string(Reason reason) {
  switch (reason) {
    case Reason::unknown_kernel:
      return "unknown_kernel";
    case Reason::arity_mismatch:
      return "arity_mismatch";
    case Reason::shape_mismatch:
      return "shape_mismatch";
    case Reason::dtype_mismatch:
      return "dtype_mismatch";
    case Reason::invalid_param:
      return "invalid_param";
    case Reason::unknown_param:
      return "unknown_param";
    case Reason::freed:
      return "freed";
    case Reason::out_of_memory:
      return "out_of_memory";
    case Reason::build_failed:
      return "build_failed";
    case Reason::no_device:
      return "no_device";
    case Reason::unsupported:
      return "unsupported";
    case Reason::unknown_command:
      return "unknown_command";
    case Reason::timeout:
      return "timeout";
    case Reason::device_error:
      return "device_error";
    case Reason::model_not_found:
      return "model_not_found";
    case Reason::invalid_model:
      return "invalid_model";
    case Reason::unsupported_op:
      return "unsupported_op";
  }
  return "device_error";
}

}  // namespace dala
