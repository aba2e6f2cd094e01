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

void need_input_dtypes(const std::string& kernel, const Call& call,
                       const std::vector<DType>& expected) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i].dtype == expected[i]) continue;
    size_t like = 0;
    while (like < i && expected[like] != expected[i]) ++like;
    throw Error(
        Reason::dtype_mismatch,
        text("input ", i, " of ", kernel, " is ", to_string(call.inputs[i].dtype), ", expected ",
             to_string(expected[i]), like < i ? text(" like input ", like) : std::string()));
  }
}

void need_input_dtype(const std::string& kernel, const Call& call, size_t index,
                      const std::vector<DType>& allowed) {
  const DType given = call.inputs[index].dtype;
  if (std::find(allowed.begin(), allowed.end(), given) != allowed.end()) return;
  std::vector<std::string> names;
  for (DType dtype : allowed) names.emplace_back(to_string(dtype));
  throw Error(Reason::dtype_mismatch, text("input ", index, " of ", kernel, " is ",
                                           to_string(given), ", expected ", join(names, " or ")));
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

std::vector<size_t> distinct_axes(const std::string& kernel, const Call& call) {
  const Shape& shape = call.inputs[0].shape;
  const auto rank = static_cast<int64_t>(shape.size());
  std::vector<size_t> axes;
  for (int64_t axis : call.integers("axes")) {
    const int64_t at = axis < 0 ? axis + rank : axis;
    const bool there = at >= 0 && at < rank;
    if (there) axes.push_back(static_cast<size_t>(at));
    std::sort(axes.begin(), axes.end());
    if (there && std::adjacent_find(axes.begin(), axes.end()) == axes.end()) continue;
    throw Error(Reason::invalid_param,
                text("axes of ", kernel, " must name different axes between ", -rank, " and ",
                     rank - 1, " for an input of shape ", to_string(shape), ", got ",
                     to_string(call.params.at("axes"))));
  }
  return axes;
}

ParamSpec flag_param(const std::string& name, const std::string& summary) {
  ParamSpec spec;
  spec.name = name;
  spec.kind = ParamSpec::Kind::flag;
  spec.fallback = false;
  spec.summary = summary;
  return spec;
}

ParamSpec choice_param(const std::string& name, std::vector<std::string> choices,
                       const std::string& summary) {
  ParamSpec spec;
  spec.name = name;
  spec.kind = ParamSpec::Kind::choice;
  spec.fallback = choices.front();
  spec.choices = std::move(choices);
  spec.summary = summary;
  return spec;
}

}  // namespace dala
