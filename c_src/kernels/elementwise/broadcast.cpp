#include "kernels/elementwise/broadcast.hpp"

#include <algorithm>

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

namespace {

// The strides of each input along the output's dimensions, outermost first; 0 where it repeats.
std::vector<Shape> broadcast_strides(const std::vector<Shape>& inputs, const Shape& output) {
  std::vector<Shape> strides;
  for (const Shape& input : inputs) {
    const Shape own = strides_of(input);
    Shape walked(output.size(), 0);
    const size_t missing = output.size() - input.size();
    for (size_t d = 0; d < own.size(); ++d) {
      if (input[d] != 1) walked[missing + d] = own[d];
    }
    strides.push_back(std::move(walked));
  }
  return strides;
}

Walk merged_walk(const Shape& dims, const std::vector<Shape>& strides) {
  Walk walk;
  walk.count = 1;
  walk.strides.resize(strides.size());
  for (size_t d = dims.size(); d-- > 0;) {
    walk.count *= dims[d];
    if (dims[d] == 1) continue;
    bool merges = !walk.dims.empty();
    for (size_t n = 0; merges && n < strides.size(); ++n) {
      merges = strides[n][d] == walk.strides[n].back() * walk.dims.back();
    }
    if (merges) {
      walk.dims.back() *= dims[d];
      continue;
    }
    walk.dims.push_back(dims[d]);
    for (size_t n = 0; n < strides.size(); ++n) walk.strides[n].push_back(strides[n][d]);
  }
  if (walk.dims.empty()) {
    // A single element: any stride is valid, and 1 takes the fast path.
    walk.dims.push_back(1);
    for (auto& of_input : walk.strides) of_input.push_back(1);
  }
  return walk;
}

}  // namespace

Walk broadcast_walk(const std::vector<Shape>& inputs, const Shape& output) {
  return merged_walk(output, broadcast_strides(inputs, output));
}

PointwiseLayout broadcast_layout(const std::string& kernel, const std::vector<TensorType>& inputs,
                                 const Shape& output) {
  std::vector<Shape> shapes;
  for (const TensorType& input : inputs) shapes.push_back(input.shape);
  return merged_layout(kernel, output, broadcast_strides(shapes, output));
}

PointwiseLayout merged_layout(const std::string& kernel, const Shape& dims,
                              const std::vector<Shape>& strides) {
  const Walk walk = merged_walk(dims, strides);
  if (walk.dims.size() > kMaxRank) {
    throw Error(Reason::unsupported,
                text(kernel, " takes at most ", kMaxRank,
                     " dimensions that cannot be merged, got shape ", to_string(dims)));
  }
  PointwiseLayout layout;
  layout.count = walk.count;
  layout.rank = static_cast<int64_t>(walk.dims.size());
  std::copy(walk.dims.begin(), walk.dims.end(), layout.dims.begin());
  for (size_t n = 0; n < strides.size(); ++n) {
    std::copy(walk.strides[n].begin(), walk.strides[n].end(),
              layout.strides.begin() + static_cast<std::ptrdiff_t>(n) * kMaxRank);
  }
  return layout;
}

}  // namespace dala
