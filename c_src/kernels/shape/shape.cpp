#include "kernels/shape/shape.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/elementwise/pointwise.hpp"
#include "kernels/shape/generate.hpp"
#include "kernels/shape/moves.hpp"
#include "kernels/shape/transpose_args.h"

namespace dala {
namespace {

constexpr int64_t kCpuTile = 64;  // TILE in transpose_cpu.cl

// The input axis of each output axis: the parameter, or all axes in reverse.
std::vector<size_t> permutation(const Call& call) {
  const size_t rank = call.inputs[0].shape.size();
  std::vector<size_t> axes(rank);
  std::iota(axes.rbegin(), axes.rend(), size_t{0});
  if (!call.has("axes")) return axes;

  const ParamValue& given = call.params.at("axes");
  const auto& numbers = std::get<std::vector<double>>(given);
  const auto bound = static_cast<double>(rank);
  std::vector<bool> seen(rank, false);
  bool valid = numbers.size() == rank;
  for (size_t i = 0; valid && i < rank; ++i) {
    const double axis = numbers[i] < 0 ? numbers[i] + bound : numbers[i];
    valid = axis >= 0 && axis < bound && !seen[static_cast<size_t>(axis)];
    if (!valid) break;
    axes[i] = static_cast<size_t>(axis);
    seen[axes[i]] = true;
  }
  if (!valid) {
    throw Error(Reason::invalid_param, text("axes of transpose must name each of the ", rank,
                                            " dimensions of input 0 once, got ", to_string(given)));
  }
  return axes;
}

// A transposition of matrices: [batches][rows][columns] to [batches][columns][rows].
struct Matrices {
  int64_t batches = 1;
  int64_t rows = 1;
  int64_t columns = 1;
};

// The merged layout transposes matrices if the output's innermost dimension steps over rows of the
// input and the next one runs along them.
std::optional<Matrices> as_matrices(const PointwiseLayout& layout) {
  const auto& stride = layout.strides;  // those of input 0 come first
  if (layout.rank < 2 || layout.rank > 3) return std::nullopt;
  const Matrices matrices{layout.rank == 3 ? layout.dims[2] : 1, layout.dims[0], layout.dims[1]};
  if (stride[1] != 1 || stride[0] != matrices.columns) return std::nullopt;
  if (layout.rank == 3 && stride[2] != matrices.rows * matrices.columns) return std::nullopt;
  return matrices;
}

// None if the innermost dimension stays innermost, so that both sides are contiguous along it, or
// if there are more outer dimensions than a view holds.
std::optional<TransposeView> transpose_view(const PointwiseLayout& layout) {
  const auto& stride = layout.strides;  // those of input 0 come first
  if (stride[0] == 1) return std::nullopt;
  TransposeView view;
  view.rows = layout.dims[0];
  view.in_stride = stride[0];
  int64_t out_stride = 1;
  bool found = false;
  for (size_t d = 0; d < static_cast<size_t>(layout.rank); ++d) {
    if (stride[d] == 1) {
      view.columns = layout.dims[d];
      view.out_stride = out_stride;
      found = true;
    } else if (d > 0) {
      const auto index = static_cast<size_t>(view.outer);
      if (index == view.dims.size()) return std::nullopt;
      view.dims[index] = layout.dims[d];
      view.in_strides[index] = stride[d];
      view.out_strides[index] = out_stride;
      ++view.outer;
    }
    out_stride *= layout.dims[d];
  }
  if (!found) return std::nullopt;
  view.total = layout.count / (view.rows * view.columns) * ceil_div(view.rows, kCpuTile) *
               ceil_div(view.columns, kCpuTile);
  return view;
}

KernelStep cpu_step(Planner& planner, TransposeView view, const char* type) {
  view.tiles =
      std::clamp<int64_t>(view.total / planner.busy_groups(), 1, 16 * 1024 / (kCpuTile * kCpuTile));
  Range range;
  range.global[0] = static_cast<size_t>(ceil_div(view.total, view.tiles));
  return {planner.program(text("transpose ", type),
                          [&] {
                            return ProgramSource{{{"T", type}}, {{"shape/transpose_cpu.cl"}}};
                          }),
          "transpose",
          {input(0), output(), value(view)},
          range};
}

// A tile of edge x edge elements, moved by edge x lines items.
struct GpuTile {
  size_t edge;
  size_t lines;
};

// The largest tile that fits the device.
GpuTile gpu_tile(const Planner& planner) {
  const DeviceInfo& device = planner.device().info();
  for (const GpuTile tile : {GpuTile{32, 8}, GpuTile{16, 4}, GpuTile{8, 1}}) {
    const size_t bytes = tile.edge * (tile.edge + 1) * sizeof(int64_t);
    if (tile.edge * tile.lines <= device.max_work_group && bytes <= device.local_memory) {
      return tile;
    }
  }
  return {1, 1};
}

KernelStep gpu_step(Planner& planner, const Matrices& matrices, const char* type) {
  const auto& [batches, rows, columns] = matrices;
  const GpuTile tile = gpu_tile(planner);
  const auto edge = static_cast<int64_t>(tile.edge);
  Range range;
  range.dimensions = 3;
  range.local = {tile.edge, tile.lines, 1};
  range.global = {static_cast<size_t>(ceil_div(columns, edge)) * tile.edge,
                  static_cast<size_t>(ceil_div(rows, edge)) * tile.lines,
                  static_cast<size_t>(batches)};
  const auto source = [&] {
    return ProgramSource{
        {{"T", type}, {"TILE", std::to_string(tile.edge)}, {"LINES", std::to_string(tile.lines)}},
        {{"shape/transpose_gpu.cl"}}};
  };
  return {planner.program(text("transpose ", type), source),
          "transpose",
          {input(0), output(), value(rows), value(columns)},
          range};
}

Launch plan_transpose(const Call& call, Planner& planner) {
  Launch launch;
  if (call.output.count() == 0) return launch;

  const Shape own = strides_of(call.inputs[0].shape);
  Shape walked;
  for (size_t axis : permutation(call)) walked.push_back(own[axis]);
  const PointwiseLayout layout = merged_layout("transpose", call.output.shape, {walked});

  const char* type = unsigned_name(size_of(call.output.dtype));
  std::optional<KernelStep> step;
  if (planner.cpu_class()) {
    if (const auto view = transpose_view(layout)) step = cpu_step(planner, *view, type);
  } else if (const auto matrices = as_matrices(layout)) {
    step = gpu_step(planner, *matrices, type);
  }
  if (step) {
    launch.steps.push_back(std::move(*step));
    launch.work = 2.0 * static_cast<double>(call.output.bytes());
  } else {
    const Entry copy = pointwise_entry(planner, {"identity", 1, 0}, carrier(call.output.dtype));
    launch = pointwise_launch(planner, copy, call, layout, {});
  }
  launch.in_place = false;
  return launch;
}

}  // namespace

Descriptor transpose_kernel() {
  ParamSpec axes;
  axes.name = "axes";
  axes.kind = ParamSpec::Kind::axes;
  axes.summary = "the input axis of each output axis; all in reverse when absent";

  Descriptor transpose;
  transpose.name = "transpose";
  transpose.summary = "Reorders the dimensions, by default into reverse order.";
  transpose.dtypes = kMovedDTypes;
  transpose.output_rule = "the input's element type, its shape in the new order";
  transpose.params = {axes};
  transpose.check = [](const Call& call) {
    need_output_dtype("transpose", call, {call.inputs[0].dtype});
    Shape expected;
    for (size_t axis : permutation(call)) expected.push_back(call.inputs[0].shape[axis]);
    need_output_shape("transpose", call, {expected});
  };
  transpose.plan = plan_transpose;
  return transpose;
}

namespace {

// Copies the bytes of the input.
Launch plan_copy(const Call& call, Planner&) {
  Launch launch;
  const size_t bytes = call.output.bytes();
  if (bytes > 0) launch.steps.push_back(CopyStep{input(0), output(), bytes});
  launch.work = 2.0 * static_cast<double>(bytes);
  return launch;
}

Descriptor reshape_kernel() {
  Descriptor reshape;
  reshape.name = "reshape";
  reshape.summary = "The same elements in the same order under another shape.";
  reshape.dtypes = kMovedDTypes;
  reshape.output_rule = "the input's element type, any shape with the same number of elements";
  reshape.check = [](const Call& call) {
    need_output_dtype("reshape", call, {call.inputs[0].dtype});
    const int64_t given = call.inputs[0].count();
    if (call.output.count() == given) return;
    throw Error(Reason::shape_mismatch,
                text("reshape keeps the number of elements: input 0 of shape ",
                     to_string(call.inputs[0].shape), " has ", given, ", the output of shape ",
                     to_string(call.output.shape), " has ", call.output.count()));
  };
  reshape.plan = plan_copy;
  return reshape;
}

Descriptor bitcast_kernel() {
  Descriptor bitcast;
  bitcast.name = "bitcast";
  bitcast.summary = "The bytes of the elements, in order, as elements of another type.";
  bitcast.dtypes = kMovedDTypes;
  bitcast.output_rule = "any element type, any shape with the same number of bytes";
  bitcast.check = [](const Call& call) {
    if (call.output.bytes() == call.inputs[0].bytes()) return;
    throw Error(Reason::shape_mismatch,
                text("bitcast keeps the bytes: input 0, ", to_string(call.inputs[0]), ", has ",
                     call.inputs[0].bytes(), ", the output, ", to_string(call.output), ", has ",
                     call.output.bytes()));
  };
  bitcast.plan = plan_copy;
  return bitcast;
}

}  // namespace

Descriptors shape_kernels() {
  Descriptors all{transpose_kernel(), reshape_kernel(), bitcast_kernel()};
  for (auto group : {move_kernels, generate_kernels}) {
    for (Descriptor& descriptor : group()) all.push_back(std::move(descriptor));
  }
  return all;
}

}  // namespace dala
