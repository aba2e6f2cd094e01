// The two ways in which a model cannot be used. Readers, passes and operators throw them; loading
// adds the name of the node.
#pragma once

#include <string>

#include "runtime/error.hpp"

namespace dala::model {

// The file contradicts itself or its format.
[[noreturn]] inline void reject(const std::string& problem) {
  throw Error(Reason::invalid_model, problem);
}

// The same for one of its tensors.
[[noreturn]] inline void reject_tensor(const std::string& name, const std::string& problem) {
  reject(text("tensor \"", name, "\": ", problem));
}

// The model is valid, but uses a feature that is not implemented.
[[noreturn]] inline void unsupported(const std::string& what) {
  throw Error(Reason::unsupported_op, what);
}

}  // namespace dala::model
