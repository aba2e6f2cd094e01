#include "model/ops/nn/windows.hpp"

#include <algorithm>

#include "runtime/error.hpp"

namespace dala::model {
namespace {

constexpr int64_t kMaxValue = 1 << 20;  // of a window's size, stride, dilation and padding

std::vector<int64_t> per_dimension(const OpCall& call, const char* name, size_t rank,
                                   int64_t fallback, int64_t min) {
  std::vector<int64_t> values = call.integers(name);
  if (values.empty()) values.assign(rank, fallback);
  bool fits = values.size() == rank;
  for (int64_t value : values) fits = fits && value >= min && value <= kMaxValue;
  if (fits) return values;
  reject(text(name, " ", to_string(values), " does not fit ", rank, " dimensions"));
}

}  // namespace

void need_moderate(const Tensor& x) {
  for (int64_t size : x.shape) {
    if (size <= int64_t{1} << 31) continue;
    throw Error(Reason::shape_mismatch,
                text("shape ", to_string(x.shape), " is too large for windows"));
  }
}

WindowAttributes window_attributes(const OpCall& call, const Tensor& x, std::vector<int64_t> size,
                                   bool ceil_mode) {
  if (x.rank() < 3) {
    throw Error(Reason::shape_mismatch,
                text("input 0 has shape ", to_string(x.shape), ", expected at least 3 dimensions"));
  }
  need_moderate(x);
  const auto rank = static_cast<size_t>(x.rank() - 2);
  WindowAttributes result;
  result.size = size.empty() ? per_dimension(call, "kernel_shape", rank, 0, 1) : std::move(size);
  result.stride = per_dimension(call, "strides", rank, 1, 1);
  result.dilation = per_dimension(call, "dilations", rank, 1, 1);
  std::vector<int64_t> pads = per_dimension(call, "pads", 2 * rank, 0, 0);
  const std::string automatic = call.text("auto_pad", "NOTSET");
  for (size_t d = 0; d < rank; ++d) {
    const int64_t in = x.shape[d + 2];
    const int64_t span = (result.size[d] - 1) * result.dilation[d] + 1;
    const int64_t stride = result.stride[d];
    int64_t before = pads[d];
    int64_t after = pads[d + rank];
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const int64_t out = (in + stride - 1) / stride;
      const int64_t total = std::max<int64_t>(0, (out - 1) * stride + span - in);
      before = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      after = total - before;
    } else if (automatic == "VALID") {
      before = 0;
      after = 0;
    }
    const int64_t room = in + before + after - span;
    if (room < 0) {
      throw Error(Reason::shape_mismatch, text("a window of ", span, " over ", in, " elements and ",
                                               before + after, " of padding"));
    }
    int64_t out = room / stride + 1;
    // A window that starts in the padding at the end would cover no input.
    if (ceil_mode && room % stride != 0 && out * stride < in + before) ++out;
    result.before.push_back(before);
    result.after.push_back(after);
    result.out.push_back(out);
  }
  return result;
}

Windows windows_of(const Tensor& x, const WindowAttributes& attributes) {
  const size_t rank = attributes.size.size();
  if (rank > MODEL_SPACE) {
    unsupported(
        text("windows over ", rank, " dimensions are not supported, at most ", MODEL_SPACE));
  }
  Windows view{};
  view.planes = x.dim(0) * x.dim(1);
  view.groups = 1;
  view.power = 2;
  for (int d = 0; d < MODEL_SPACE; ++d) {
    view.in[d] = view.out[d] = view.size[d] = view.stride[d] = view.dilation[d] = 1;
    view.padded[d] = 1;
  }
  for (size_t d = 0; d < rank; ++d) {
    const size_t at = MODEL_SPACE - rank + d;
    view.in[at] = x.shape[d + 2];
    view.out[at] = attributes.out[d];
    view.size[at] = attributes.size[d];
    view.stride[at] = attributes.stride[d];
    view.dilation[at] = attributes.dilation[d];
    view.pad[at] = attributes.before[d];
    view.padded[at] = view.in[at] + attributes.before[d] + attributes.after[d];
  }
  return view;
}

std::vector<double> as_numbers(const std::vector<int64_t>& values) {
  return {values.begin(), values.end()};
}

std::vector<double> pads_as_numbers(const WindowAttributes& attributes) {
  std::vector<double> pads(attributes.before.begin(), attributes.before.end());
  pads.insert(pads.end(), attributes.after.begin(), attributes.after.end());
  return pads;
}

}  // namespace dala::model
