#include "model/import/tfjs/op_call.hpp"

namespace dala::model::tfjs {

TensorId OpCall::in(size_t index) const {
  if (index < inputs.size()) return inputs[index];
  reject(text("input ", index, " is missing"));
}

int64_t OpCall::integer_of(size_t index, const std::string& what) const {
  const std::vector<int64_t> values = integers_of(index, what);
  if (values.size() == 1) return values[0];
  reject(text(what, " has ", values.size(), " values, expected 1"));
}

size_t OpCall::count_of(const std::string& attribute) const {
  const int64_t count = node.integer(attribute, 0);
  if (count >= 1 && count <= 1024) return static_cast<size_t>(count);
  reject(text("attribute ", attribute, " is ", count, ", expected 1 to 1024"));
}

}  // namespace dala::model::tfjs
