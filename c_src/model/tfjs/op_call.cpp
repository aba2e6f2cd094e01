#include "model/tfjs/op_call.hpp"

#include "runtime/error.hpp"

namespace dala::model::tfjs {

TensorId OpCall::in(size_t index) const {
  if (index < inputs.size()) return inputs[index];
  throw Error(Reason::invalid_model, text("input ", index, " is missing"));
}

int64_t OpCall::integer_of(size_t index, const std::string& what) const {
  const std::vector<int64_t> values = integers_of(index, what);
  if (values.size() == 1) return values[0];
  throw Error(Reason::invalid_model, text(what, " has ", values.size(), " values, expected 1"));
}

size_t OpCall::count_of(const std::string& attribute) const {
  const int64_t count = node.integer(attribute, 0);
  if (count >= 1 && count <= 1024) return static_cast<size_t>(count);
  throw Error(Reason::invalid_model,
              text("attribute ", attribute, " is ", count, ", expected 1 to 1024"));
}

void unsupported(const std::string& what) { throw Error(Reason::unsupported_op, what); }

}  // namespace dala::model::tfjs
