#include "kernels/elementwise/broadcast.hpp"

#include "runtime/error.hpp"

namespace dala {

void need_broadcast(const std::string& kernel, const Call& call) {
  const Shape& output = call.output.shape;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Shape& input = call.inputs[i].shape;
    bool fits = input.size() <= output.size();
    for (size_t d = 0; fits && d < input.size(); ++d) {
      const int64_t target = output[output.size() - input.size() + d];
      fits = input[d] == target || input[d] == 1;
    }
    if (fits) continue;
    throw Error(Reason::shape_mismatch,
                text("input ", i, " of ", kernel, " has shape ", to_string(input),
                     ", which does not broadcast to the output's ", to_string(output)));
  }
}

Shape strides_of(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

PointwiseLayout broadcast_layout(const std::string& kernel, const std::vector<TensorType>& inputs,
                                 const Shape& output) {
  std::vector<Shape> strides;
  for (const TensorType& input : inputs) {
    const Shape own = strides_of(input.shape);
    Shape walked(output.size(), 0);
    const size_t missing = output.size() - input.shape.size();
    for (size_t d = 0; d < own.size(); ++d) {
      if (input.shape[d] != 1) walked[missing + d] = own[d];
    }
    strides.push_back(std::move(walked));
  }
  return merged_layout(kernel, output, strides);
}

PointwiseLayout merged_layout(const std::string& kernel, const Shape& dims,
                              const std::vector<Shape>& strides) {
  PointwiseLayout layout;
  layout.count = 1;
  int rank = 0;
  for (size_t d = dims.size(); d-- > 0;) {
    layout.count *= dims[d];
    if (dims[d] == 1) continue;
    const int inner = rank - 1;
    bool merges = rank > 0;
    for (size_t n = 0; merges && n < strides.size(); ++n) {
      merges = strides[n][d] == layout.strides[n][inner] * layout.dims[inner];
    }
    if (merges) {
      layout.dims[inner] *= dims[d];
      continue;
    }
    if (rank == kMaxRank) {
      throw Error(Reason::unsupported,
                  text(kernel, " takes at most ", kMaxRank,
                       " dimensions that cannot be merged, got shape ", to_string(dims)));
    }
    layout.dims[rank] = dims[d];
    for (size_t n = 0; n < strides.size(); ++n) layout.strides[n][rank] = strides[n][d];
    ++rank;
  }
  if (rank == 0) {
    // A single element: any stride will do, and 1 takes the fast path.
    layout.dims[0] = 1;
    for (auto& of_input : layout.strides) of_input[0] = 1;
    rank = 1;
  }
  layout.rank = rank;
  return layout;
}

}  // namespace dala
