#include "kernels/sort/sort.hpp"

#include <algorithm>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/reduce/axis.hpp"
#include "kernels/sort/radix.hpp"
#include "kernels/sort/sort_args.h"

namespace dala {
namespace {

constexpr int64_t kCpuRow = 2048;            // ROW_MAX in rows_cpu.cl
constexpr int64_t kTopMost = 64;             // TOP_MAX in top_cpu.cl
constexpr int64_t kGpuRow = 128;             // up to which comparing all pairs is fast
constexpr int64_t kChunk = 32 * 1024;        // elements that amortise the counts of a chunk
constexpr int64_t kRowsElements = 4 * 1024;  // elements per group of short rows

// The requested result: elements or their indices, and how many of each sorted row.
struct Order {
  bool places = false;
  bool descending = false;
  int64_t keep = 0;
};

SortView view_of(const Call& call, const Order& order) {
  const AxisView along = dala::view_of(call);
  SortView view;
  view.rows = along.outer * along.inner;
  view.length = along.axis;
  view.inner = along.inner;
  view.keep = order.keep;
  view.descending = order.descending ? 1 : 0;
  return view;
}

Defines sort_defines(const Call& call, const Order& order) {
  const DType dtype = call.inputs[0].dtype;
  // 16-bit floats are ordered by their bits.
  Defines defines = element_defines(is_narrow_float(dtype) ? carrier(dtype) : dtype);
  if (is_narrow_float(dtype)) {
    defines.emplace_back("NARROW_INFINITY", dtype == DType::f16 ? "0x7c00" : "0x7f80");
    defines.emplace_back("NARROW_NAN", dtype == DType::f16 ? "0x7e00" : "0x7fc0");
  }
  defines.insert(defines.end(), {{"KEY", unsigned_name(size_of(dtype))},
                                 {"WITH_INDEX", order.places ? "1" : "0"},
                                 {"OUT", cl_name(call.output.dtype)}});
  return defines;
}

Part pass_part(const std::string& name, bool first, bool last) {
  return {"sort/radix_pass_cpu.cl",
          {{"NAME", name}, {"FIRST", first ? "1" : "0"}, {"LAST", last ? "1" : "0"}}};
}

std::shared_ptr<Program> program_for(Planner& planner, const Call& call, const Order& order) {
  const DType dtype = call.inputs[0].dtype;
  const std::string what = order.places ? text("places as ", to_string(call.output.dtype)) : "";
  return planner.program(text("sort ", to_string(dtype), " ", what), [&] {
    ProgramSource source{sort_defines(call, order), {}};
    if (!planner.cpu_class()) {
      source.parts = {{"sort/rows_gpu.cl"}};
    } else if (size_of(dtype) == 1) {
      source.parts = {
          {"sort/rows_cpu.cl"}, {"sort/top_cpu.cl"}, pass_part("only_pass", true, true)};
    } else {
      source.parts = {{"sort/rows_cpu.cl"},
                      {"sort/top_cpu.cl"},
                      pass_part("first_pass", true, false),
                      pass_part("middle_pass", false, false),
                      pass_part("last_pass", false, true)};
    }
    return source;
  });
}

// CPU class, short rows: each row is sorted by one group.
void add_rows(Launch& launch, const Planner& planner, const std::shared_ptr<Program>& program,
              SortView view) {
  const int64_t enough = std::max<int64_t>(1, kRowsElements / view.length);
  const int64_t fair = std::max<int64_t>(1, view.rows / planner.busy_groups());
  view.units = std::min(enough, fair);
  Range range;
  range.global[0] = static_cast<size_t>(ceil_div(view.rows, view.units));
  launch.steps.push_back(
      KernelStep{program, "sort_rows", {input(0), output(), value(view)}, range});
}

// CPU class, long rows: one pass per byte, from the input through scratch to the output, each
// divided into chunks for several groups.
void add_passes(Launch& launch, const Planner& planner, const std::shared_ptr<Program>& program,
                SortView view, size_t key_bytes, bool places) {
  const int64_t wanted = ceil_div(planner.busy_groups(), view.rows);
  const int64_t chunks = std::clamp<int64_t>(view.length / kChunk, 1, wanted);
  view.chunk = ceil_div(view.length, chunks);
  view.chunks = ceil_div(view.length, view.chunk);
  Range range;
  range.global[0] = static_cast<size_t>(view.rows * view.chunks);
  const auto count = static_cast<size_t>(view.rows * view.length);
  launch.scratch = {range.global[0] * 256 * sizeof(uint32_t)};
  const auto passes = static_cast<int>(key_bytes);
  if (passes > 1) {
    launch.scratch.insert(launch.scratch.end(), {count * key_bytes, count * key_bytes});
    if (places) launch.scratch.insert(launch.scratch.end(), 2, count * sizeof(uint32_t));
  }
  const Operand counts = scratch(0);
  for (int pass = 0; pass < passes; ++pass) {
    const bool first = pass == 0;
    const bool last = pass + 1 == passes;
    const std::string name = first && last ? "only_pass"
                             : first       ? "first_pass"
                             : last        ? "last_pass"
                                           : "middle_pass";
    // Odd passes go from the first area to the second.
    const int from = 1 + (pass + 1) % 2;
    const int to = 1 + pass % 2;
    view.shift = 8 * pass;
    std::vector<Argument> arguments{first ? input(0) : scratch(from)};
    launch.steps.push_back(
        KernelStep{program, name + "_count", {arguments[0], counts, value(view)}, range});
    if (places && !first) arguments.emplace_back(scratch(from + 2));
    arguments.emplace_back(last ? output() : scratch(to));
    if (places && !last) arguments.emplace_back(scratch(to + 2));
    arguments.emplace_back(counts);
    arguments.emplace_back(value(view));
    launch.steps.push_back(KernelStep{program, name + "_scatter", std::move(arguments), range});
  }
}

// CPU class: the first few elements of long rows.
void add_top(Launch& launch, const Planner& planner, const std::shared_ptr<Program>& program,
             SortView view, size_t key_bytes) {
  const int64_t wanted = ceil_div(planner.busy_groups(), view.rows);
  const int64_t chunks = std::clamp<int64_t>(view.length / kChunk, 1, wanted);
  view.chunk = ceil_div(view.length, chunks);
  view.chunks = ceil_div(view.length, view.chunk);
  Range chunk_each;
  chunk_each.global[0] = static_cast<size_t>(view.rows * view.chunks);
  Range row_each;
  row_each.global[0] = static_cast<size_t>(view.rows);
  const size_t candidates = chunk_each.global[0] * static_cast<size_t>(view.keep);
  launch.scratch = {candidates * key_bytes, candidates * sizeof(uint32_t)};
  launch.steps.push_back(KernelStep{
      program, "top_chunks", {input(0), scratch(0), scratch(1), value(view)}, chunk_each});
  launch.steps.push_back(
      KernelStep{program, "top_merge", {scratch(0), scratch(1), output(), value(view)}, row_each});
}

void add_gpu_steps(Launch& launch, Planner& planner, const std::shared_ptr<Program>& program,
                   const SortView& view, size_t key_bytes) {
  const Range each = item_per_result(planner, view.rows * view.length);
  if (view.length <= kGpuRow) {
    launch.steps.push_back(
        KernelStep{program, "sort_rows", {input(0), output(), value(view)}, each});
    return;
  }
  const RadixRows loaded = add_radix_rows(launch, view, key_bytes);
  launch.steps.push_back(
      KernelStep{program, "sort_load", {input(0), loaded.keys, loaded.places, value(view)}, each});
  const RadixRows sorted =
      add_radix_passes(launch, planner, view, loaded, key_bytes, static_cast<int>(8 * key_bytes));
  launch.steps.push_back(KernelStep{program,
                                    "sort_store",
                                    {sorted.keys, sorted.places, output(), value(view)},
                                    item_per_result(planner, view.rows * view.keep)});
}

Launch plan_sort(const std::string& kernel, const Call& call, Planner& planner,
                 const Order& order) {
  planner.need_arithmetic(kernel, call);
  Launch launch;
  if (call.output.count() == 0) return launch;
  const SortView view = view_of(call, order);
  const size_t key_bytes = size_of(call.inputs[0].dtype);
  const auto program = program_for(planner, call, order);
  if (!planner.cpu_class()) {
    add_gpu_steps(launch, planner, program, view, key_bytes);
  } else if (view.length <= kCpuRow) {
    add_rows(launch, planner, program, view);
  } else if (view.keep <= kTopMost) {
    add_top(launch, planner, program, view, key_bytes);
  } else {
    add_passes(launch, planner, program, view, key_bytes, order.places);
  }
  launch.work = static_cast<double>(call.inputs[0].bytes()) * 4 * static_cast<double>(key_bytes);
  return launch;
}

void need_sortable(const std::string& kernel, const Call& call) {
  const int64_t length = dala::view_of(call).axis;
  if (length <= kLongestSortedRow) return;
  throw Error(Reason::unsupported, text(kernel, " sorts at most ", kLongestSortedRow,
                                        " elements along an axis, got ", length));
}

void need_index_room(const std::string& kernel, const Call& call) {
  need_output_dtype(kernel, call, kIndexDTypes);
  const int64_t last = dala::view_of(call).axis - 1;
  if (call.output.dtype == DType::s32 && last > std::numeric_limits<int32_t>::max()) {
    throw Error(Reason::dtype_mismatch,
                text("the output of ", kernel, " is s32, which cannot hold the index ", last));
  }
}

ParamSpec direction_param() {
  return choice_param("direction", {"asc", "desc"},
                      "the smallest first, or the largest; NaN is last in both");
}

Descriptor sorter(const std::string& name, const std::string& summary, bool places) {
  Descriptor sort;
  sort.name = name;
  sort.summary = summary;
  sort.dtypes = kRealDTypes;
  sort.output_rule =
      places ? "s32, s64 or u32, the input's shape" : "the input's element type and shape";
  sort.params = {axis_param("the axis to sort along; the last when absent", -1), direction_param()};
  sort.check = [name, places](const Call& call) {
    if (places) {
      need_index_room(name, call);
    } else {
      need_output_dtype(name, call, {call.inputs[0].dtype});
    }
    need_output_shape(name, call, {call.inputs[0].shape});
    need_sortable(name, call);
  };
  sort.plan = [name, places](const Call& call, Planner& planner) {
    const Order order{places, call.choice("direction") == "desc", dala::view_of(call).axis};
    return plan_sort(name, call, planner, order);
  };
  return sort;
}

// k, the extent of the output along the axis.
int64_t kept(const Call& call) {
  const Shape& in = call.inputs[0].shape;
  const Shape& out = call.output.shape;
  const auto axis = static_cast<size_t>(call.integer("axis"));
  bool fits = in.size() == out.size();
  for (size_t d = 0; fits && d < in.size(); ++d) {
    fits = d == axis ? out[d] <= in[d] : out[d] == in[d];
  }
  if (!fits) {
    throw Error(Reason::shape_mismatch,
                text("the output of top_k has shape ", to_string(out), ", expected ", to_string(in),
                     " with at most as many along axis ", axis));
  }
  return in.empty() ? 1 : out[axis];
}

Descriptor top_k_kernel() {
  ParamSpec largest;
  largest.name = "largest";
  largest.kind = ParamSpec::Kind::flag;
  largest.fallback = true;
  largest.summary = "whether the largest elements are taken, or the smallest";
  const ParamSpec result =
      choice_param("result", {"values", "indices"}, "the elements, or their places along the axis");
  Descriptor top;
  top.name = "top_k";
  top.summary =
      "The first k elements along an axis, in order; of equal ones the earlier first, NaN last.";
  top.dtypes = kRealDTypes;
  top.output_rule =
      "the input's element type, or s32, s64 or u32 for indices; its shape with k along the axis";
  top.params = {axis_param("the axis to search; the last when absent", -1), largest, result};
  top.check = [](const Call& call) {
    if (call.choice("result") == "indices") {
      need_index_room("top_k", call);
    } else {
      need_output_dtype("top_k", call, {call.inputs[0].dtype});
    }
    kept(call);
    need_sortable("top_k", call);
  };
  top.plan = [](const Call& call, Planner& planner) {
    const Order order{call.choice("result") == "indices", call.flag("largest"), kept(call)};
    return plan_sort("top_k", call, planner, order);
  };
  return top;
}

}  // namespace

Descriptors sort_kernels() {
  const Descriptor sort =
      sorter("sort", "The elements along an axis in order; -0 comes below 0.", false);
  return {
      sort,
      sorter("argsort", "The places along an axis in the order of their elements; equal ones stay.",
             true),
      top_k_kernel(),
      unique_kernel(sort),
  };
}

}  // namespace dala
