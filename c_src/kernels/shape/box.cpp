#include "kernels/shape/box.hpp"

#include <algorithm>

#include "kernels/element.hpp"
#include "kernels/elementwise/pointwise.hpp"
#include "kernels/shape/box_args.h"
#include "runtime/error.hpp"

namespace dala {
namespace {

constexpr int64_t kShortRun = 8;  // elements that do not amortise the start of a row

// If rows are very short, makes the longest dimension the innermost.
void prefer_long_rows(BoxMove& box) {
  if (box.dims[0] >= kShortRun) return;
  const auto end = box.dims.begin() + box.rank;
  const auto longest =
      static_cast<size_t>(std::max_element(box.dims.begin(), end) - box.dims.begin());
  std::swap(box.dims[0], box.dims[longest]);
  std::swap(box.in_strides[0], box.in_strides[longest]);
  std::swap(box.out_strides[0], box.out_strides[longest]);
}

}  // namespace

BoxSide box_side(const Shape& tensor, const std::vector<int64_t>& starts,
                 const std::vector<int64_t>& steps) {
  BoxSide side{0, strides_of(tensor)};
  for (size_t d = 0; d < tensor.size(); ++d) {
    side.offset += starts[d] * side.strides[d];
    side.strides[d] *= steps[d];
  }
  return side;
}

BoxSide whole(const Shape& tensor) { return {0, strides_of(tensor)}; }

std::shared_ptr<Program> box_program(Planner& planner, size_t element_bytes) {
  const std::string type = unsigned_name(element_bytes);
  return planner.program("box " + type, [&] {
    return ProgramSource{{{"T", type}},
                         {{planner.cpu_class() ? "shape/box_cpu.cl" : "shape/box_gpu.cl"}}};
  });
}

KernelStep box_step(Planner& planner, const std::string& kernel, size_t element_bytes,
                    const Shape& box, Operand from, const BoxSide& source, Operand to,
                    const BoxSide& target) {
  const PointwiseLayout layout = merged_layout(kernel, box, {source.strides, target.strides});
  BoxMove move;
  move.count = layout.count;
  move.rank = layout.rank;
  move.from = source.offset;
  move.to = target.offset;
  for (size_t d = 0; d < BOX_RANK; ++d) {
    move.dims[d] = layout.dims[d];
    move.in_strides[d] = layout.strides[d];
    move.out_strides[d] = layout.strides[MAX_RANK + d];
  }
  if (planner.cpu_class()) prefer_long_rows(move);
  const Spread spread = spread_out(planner, move.count);
  move.chunk = spread.chunk;
  return {box_program(planner, element_bytes), "move_box", {from, to, value(move)}, spread.range};
}

std::vector<int64_t> per_dimension(const std::string& kernel, const Call& call,
                                   const std::string& param, size_t rank) {
  const ParamValue& given = call.params.at(param);
  if (const auto* one = std::get_if<int64_t>(&given)) return std::vector<int64_t>(rank, *one);
  std::vector<int64_t> numbers = call.integers(param);
  if (numbers.size() == rank) return numbers;
  throw Error(Reason::invalid_param,
              text(param, " of ", kernel, " must be an integer, or one for each of the ", rank,
                   " dimensions, got ", to_string(given)));
}

ParamSpec per_dimension_param(const std::string& name, int64_t fallback, double min, double max,
                              const std::string& summary) {
  ParamSpec spec;
  spec.name = name;
  spec.kind = ParamSpec::Kind::integers;
  spec.fallback = fallback;
  spec.min = min;
  spec.max = max;
  spec.summary = summary;
  return spec;
}

}  // namespace dala
