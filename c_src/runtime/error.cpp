#include "runtime/error.hpp"

namespace dala {
namespace {

const ErrorPtr g_no_memory =
    std::make_shared<const Error>(Reason::out_of_memory, "the system has no memory left");

}  // namespace

const ErrorPtr& no_memory() noexcept { return g_no_memory; }

ErrorPtr current_error() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return shared_error([&error] { return error; });
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::exception& error) {
    return shared_error([&error] { return Error(Reason::device_error, error.what()); });
  } catch (...) {
    return shared_error([] { return Error(Reason::device_error, "an unknown exception"); });
  }
}

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
    case Reason::cancelled:
      return "cancelled";
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
