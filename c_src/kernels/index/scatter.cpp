#include <algorithm>
#include <bit>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/elementwise/broadcast.hpp"
#include "kernels/index/index.hpp"
#include "kernels/index/index_args.h"
#include "kernels/narrow.hpp"
#include "kernels/reduce/axis.hpp"
#include "kernels/sort/radix.hpp"

namespace dala {
namespace {

constexpr int64_t kLongRow = 256;  // elements from which on rows are divided between groups
constexpr int64_t kShortRow = 4;   // elements that cost no more than reading their index
constexpr size_t kNearBytes = 1024 * 1024;  // that stay in a core's private cache

ScatterView scatter_view(const Call& call) {
  const Shape& shape = call.output.shape;
  ScatterView view;
  view.depth = call.inputs[1].shape.back();
  view.tuples = call.inputs[1].count() / view.depth;
  view.rows = 1;
  for (int64_t d = view.depth; d-- > 0;) {
    const auto at = static_cast<size_t>(d);
    view.dims[at] = shape[at];
    view.strides[at] = view.rows;
    view.rows *= shape[at];
  }
  view.inner = call.output.count() / view.rows;
  return view;
}

std::shared_ptr<Program> program_for(Planner& planner, const Call& call, bool adds,
                                     size_t key_bytes) {
  const DType dtype = call.output.dtype;
  const std::string index = cl_name(call.inputs[1].dtype);
  const std::string element = adds ? cl_name(dtype) : unsigned_name(size_of(dtype));
  const std::string key = unsigned_name(key_bytes);
  const std::string unsigned_element = is_float(dtype) ? element : unsigned_name(size_of(dtype));
  return planner.program(
      text("scatter ", adds ? "adding " : "", element, " by ", index, " ", key), [&] {
        return ProgramSource{
            {{"T", element},
             {"I", index},
             {"KEY", key},
             {"PUTS", adds ? "0" : "1"},
             // Integers are added as unsigned, so that they wrap.
             {"MEET(a, b)",
              adds ? text("((T)((", unsigned_element, ")(a) + (", unsigned_element, ")(b)))")
                   : "(b)"}},
            {{planner.cpu_class() ? "index/scatter_cpu.cl" : "index/scatter_gpu.cl"}}};
      });
}

void add_cpu_step(Launch& launch, Planner& planner, const Call& call, ScatterView view, bool adds) {
  // Every group reads all indices, which is cheap compared with long rows, or rows outside of the
  // cache. If all rows are in the cache, one group is as fast as several.
  const int64_t cores = std::max<int64_t>(1, planner.busy_groups() / 4);
  const bool near = view.inner < kShortRow && call.output.bytes() <= kNearBytes;
  const bool little = view.tuples * view.inner < 16 * 1024;
  view.by_columns = view.inner >= kLongRow ? 1 : 0;
  const int64_t groups = little || near ? 1 : view.by_columns ? planner.busy_groups() : cores;
  const int64_t whole = view.by_columns ? view.inner : view.rows;
  view.chunk = ceil_div(ceil_div(whole, groups), 64) * 64;
  Range range;
  range.global[0] = static_cast<size_t>(ceil_div(whole, view.chunk));
  launch.steps.push_back(KernelStep{program_for(planner, call, adds, sizeof(uint32_t)),
                                    "scatter",
                                    {input(1), input(2), output(), value(view)},
                                    range});
}

void add_gpu_put(Launch& launch, Planner& planner, const Call& call, const ScatterView& view) {
  const auto program = program_for(planner, call, false, sizeof(uint32_t));
  const size_t bytes = static_cast<size_t>(view.rows) * sizeof(uint32_t);
  launch.scratch = {bytes};
  launch.steps.push_back(FillStep{scratch(0), value(uint32_t{0}), bytes});
  launch.steps.push_back(KernelStep{program,
                                    "scatter_mark",
                                    {input(1), scratch(0), value(view)},
                                    item_per_result(planner, view.tuples)});
  launch.steps.push_back(KernelStep{program,
                                    "scatter_last",
                                    {scratch(0), input(2), output(), value(view)},
                                    item_per_result(planner, view.rows * view.inner)});
}

void add_gpu_sums(Launch& launch, Planner& planner, const Call& call, const ScatterView& view) {
  const size_t key_bytes = view.rows < kLongestSortedRow ? sizeof(uint32_t) : sizeof(uint64_t);
  const auto program = program_for(planner, call, true, key_bytes);
  SortView row;
  row.length = view.tuples;
  const RadixRows loaded = add_radix_rows(launch, row, key_bytes);
  launch.steps.push_back(KernelStep{program,
                                    "scatter_rows",
                                    {input(1), loaded.keys, loaded.places, value(view)},
                                    item_per_result(planner, view.tuples)});
  const int bits = std::bit_width(static_cast<uint64_t>(view.rows));
  const RadixRows sorted = add_radix_passes(launch, planner, row, loaded, key_bytes, bits);
  launch.steps.push_back(KernelStep{program,
                                    "scatter_runs",
                                    {sorted.keys, sorted.places, input(2), output(), value(view)},
                                    item_per_result(planner, view.tuples * view.inner)});
}

Launch plan_scatter(const std::string& name, const Call& call, Planner& planner, bool adds) {
  if (adds) planner.need_arithmetic(name, call);
  Launch launch;
  if (call.output.count() == 0) return launch;
  launch.steps.push_back(CopyStep{input(0), output(), call.output.bytes()});
  launch.work = 2.0 * static_cast<double>(call.output.bytes() + call.inputs[1].bytes() +
                                          call.inputs[2].bytes());
  if (call.inputs[2].count() == 0) return launch;
  const ScatterView view = scatter_view(call);
  if (planner.cpu_class()) {
    add_cpu_step(launch, planner, call, view, adds);
  } else if (adds) {
    add_gpu_sums(launch, planner, call, view);
  } else {
    add_gpu_put(launch, planner, call, view);
  }
  return launch;
}

void check_scatter(const std::string& name, const Call& call) {
  need_tuples(name, call);
  const DType dtype = call.inputs[0].dtype;
  if (call.inputs[2].dtype != dtype) {
    throw Error(Reason::dtype_mismatch,
                text("input 2 of ", name, " is ", to_string(call.inputs[2].dtype), ", expected ",
                     to_string(dtype), " like input 0"));
  }
  need_output_dtype(name, call, {dtype});
  need_output_shape(name, call, {call.inputs[0].shape});
  const Shape& indices = call.inputs[1].shape;
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), call.inputs[0].shape.begin() + indices.back(),
                  call.inputs[0].shape.end());
  if (call.inputs[2].shape != expected) {
    throw Error(Reason::shape_mismatch,
                text("input 2 of ", name, " has shape ", to_string(call.inputs[2].shape),
                     ", expected ", to_string(expected)));
  }
  const int64_t tuples = call.inputs[1].count() / indices.back();
  if (tuples < kLongestSortedRow) return;
  throw Error(Reason::unsupported,
              text(name, " takes fewer than ", kLongestSortedRow, " indices, got ", tuples));
}

Descriptor scatter(const std::string& name, const std::string& summary, bool adds) {
  Descriptor descriptor;
  descriptor.name = name;
  descriptor.summary =
      summary + " Negative indices count from the end; one outside changes nothing.";
  descriptor.inputs = 3;
  descriptor.dtypes = adds ? kPlainDTypes : kMovedDTypes;
  descriptor.output_rule = "the element type and shape of input 0";
  descriptor.check = [name](const Call& call) { check_scatter(name, call); };
  descriptor.plan = [name, adds](const Call& call, Planner& planner) {
    return plan_scatter(name, call, planner, adds);
  };
  descriptor.sample = [](DType dtype) {
    return Call{{{dtype, {1}}, {DType::s32, {1, 1}}, {dtype, {1}}}, {dtype, {1}}, {}};
  };
  return adds ? with_narrow_floats(descriptor) : descriptor;
}

}  // namespace

Descriptors scatter_kernels() {
  return {
      scatter("scatter_put",
              "Input 0 with slices replaced by those of input 2, at the tuples of integers that "
              "input 1 has along its last axis, one for each of the first dimensions; of several "
              "for one place the last counts.",
              false),
      scatter("scatter_add",
              "Input 0 with the slices of input 2 added at the tuples of integers that input 1 has "
              "along its last axis, one for each of the first dimensions; several for one place "
              "are added in their order, integers wrap.",
              true),
  };
}

}  // namespace dala
