#include "kernels/checks.hpp"

#include <algorithm>

namespace dala {

void need_same_inputs(const std::string& kernel, const Call& call) {
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    if (call.inputs[i].dtype == call.inputs[0].dtype) continue;
    throw Error(Reason::dtype_mismatch,
                text("input ", i, " of ", kernel, " is ", to_string(call.inputs[i].dtype),
                     ", expected ", to_string(call.inputs[0].dtype), " like input 0"));
  }
}

void need_output_dtype(const std::string& kernel, const Call& call,
                       const std::vector<DType>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), call.output.dtype) != allowed.end()) return;
  std::vector<std::string> names;
  for (DType dtype : allowed) names.emplace_back(to_string(dtype));
  throw Error(Reason::dtype_mismatch,
              text("the output of ", kernel, " is ", to_string(call.output.dtype), ", expected ",
                   join(names, " or ")));
}

void need_output_shape(const std::string& kernel, const Call& call,
                       const std::vector<Shape>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), call.output.shape) != allowed.end()) return;
  std::vector<std::string> names;
  for (const Shape& shape : allowed) names.push_back(to_string(shape));
  throw Error(Reason::shape_mismatch,
              text("the output of ", kernel, " has shape ", to_string(call.output.shape),
                   ", expected ", join(names, " or ")));
}

}  // namespace dala
