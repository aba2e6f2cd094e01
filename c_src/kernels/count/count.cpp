#include "kernels/count/count.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/checks.hpp"
#include "kernels/count/count_args.h"
#include "kernels/element.hpp"
#include "kernels/reduce/axis.hpp"

namespace dala {
namespace {

const std::vector<DType> kCounted{DType::f32, DType::f64, DType::s32,
                                  DType::s64, DType::u32, DType::u8};
const std::vector<DType> kCountedIntegers{DType::s32, DType::s64, DType::u32, DType::u8};

constexpr int64_t kCopies = 4;                 // of the table, per group (CPU class)
constexpr int64_t kSmallChunk = 16 * 1024;     // elements that amortise the start of a group
constexpr int64_t kLargestTables = 64 * 1024;  // bytes of local memory that stay in a cache

// Elements are compared with the bounds in double, which represents them all, if the device has it.
bool compares_doubles(const Planner& planner, DType dtype) {
  return planner.fp64() && dtype != DType::f32 && dtype != DType::u8;
}

std::shared_ptr<Program> program_for(Planner& planner, DType dtype) {
  return planner.program(text("count ", to_string(dtype)), [&] {
    Defines defines = element_defines(dtype);
    defines.emplace_back("COPIES", planner.cpu_class() ? std::to_string(kCopies) : "1");
    defines.emplace_back("REAL", compares_doubles(planner, dtype) ? "double" : "float");
    return ProgramSource{defines, {{"count/count.cl"}}};
  });
}

Launch plan_count(const std::string& name, const Call& call, Planner& planner,
                  const std::vector<Value>& values) {
  planner.need_arithmetic(name, call);
  Launch launch;
  if (call.output.count() == 0) return launch;
  launch.steps.push_back(FillStep{output(), value(cl_uint{0}), call.output.bytes()});
  CountView view;
  view.count = call.inputs[0].count();
  view.bins = call.output.count();
  launch.work = static_cast<double>(call.inputs[0].bytes() + call.output.bytes());
  if (view.count == 0) return launch;
  const int64_t copies = planner.cpu_class() ? kCopies : 1;
  const auto room =
      std::min<int64_t>(kLargestTables, static_cast<int64_t>(planner.device().info().local_memory));
  const auto table = static_cast<size_t>(copies * view.bins) * sizeof(cl_uint);
  const bool locally = static_cast<int64_t>(table) <= room;
  const size_t items = planner.cpu_class() ? 1 : planner.group_items(256);
  const int64_t groups = planner.cpu_class() ? planner.busy_groups() : 256;
  view.chunk = std::max({kSmallChunk, ceil_div(view.count, groups), view.bins});
  KernelStep step{program_for(planner, call.inputs[0].dtype),
                  name + (locally ? "_local" : "_global"),
                  {input(0), output(), value(view)},
                  group_per_result(ceil_div(view.count, view.chunk), items)};
  for (const Value& each : values) step.arguments.push_back(each);
  if (locally) step.arguments.push_back(LocalMemory{table});
  launch.steps.push_back(std::move(step));
  return launch;
}

void check_counts(const std::string& name, const Call& call) {
  need_output_dtype(name, call, {DType::u32, DType::s32});
  if (call.output.shape.size() != 1) {
    throw Error(Reason::shape_mismatch,
                text("the output of ", name, " has shape ", to_string(call.output.shape),
                     ", expected one dimension: the bins"));
  }
  const int64_t most = call.output.dtype == DType::u32
                           ? int64_t{std::numeric_limits<uint32_t>::max()}
                           : int64_t{std::numeric_limits<int32_t>::max()};
  if (call.inputs[0].count() <= most) return;
  throw Error(Reason::shape_mismatch, text("input 0 of ", name, " has ", call.inputs[0].count(),
                                           " elements, more than a count of type ",
                                           to_string(call.output.dtype), " can hold"));
}

Descriptor bincount_kernel() {
  Descriptor bincount;
  bincount.name = "bincount";
  bincount.summary =
      "How often each of the integers 0, 1, 2, ... occurs; negative ones, and those past the last "
      "bin, are not counted.";
  bincount.dtypes = kCountedIntegers;
  bincount.output_rule = "u32 or s32, {bins}";
  bincount.check = [](const Call& call) { check_counts("bincount", call); };
  bincount.plan = [](const Call& call, Planner& planner) {
    return plan_count("bincount", call, planner, {});
  };
  bincount.sample = [](DType dtype) { return Call{{{dtype, {1}}}, {DType::u32, {1}}, {}}; };
  return bincount;
}

ParamSpec bound(const std::string& name, double fallback, const std::string& summary) {
  ParamSpec spec;
  spec.name = name;
  spec.kind = ParamSpec::Kind::number;
  spec.fallback = fallback;
  spec.summary = summary;
  return spec;
}

Launch plan_histogram(const Call& call, Planner& planner) {
  const double low = call.number("min");
  const double high = call.number("max");
  const auto bins = static_cast<double>(call.output.count());
  if (compares_doubles(planner, call.inputs[0].dtype)) {
    return plan_count("histogram_bins", call, planner,
                      {value(low), value(high), value(bins / (high - low))});
  }
  const auto first = static_cast<float>(low);
  const auto last = static_cast<float>(high);
  return plan_count("histogram_bins", call, planner,
                    {value(first), value(last), value(static_cast<float>(bins) / (last - first))});
}

Descriptor histogram_bins_kernel() {
  Descriptor histogram;
  histogram.name = "histogram_bins";
  histogram.summary =
      "How many elements are in each of as many equal bins between min and max as the output has; "
      "max belongs to the last bin, and elements outside, or NaN, to none.";
  histogram.dtypes = kCounted;
  histogram.output_rule = "u32 or s32, {bins}";
  histogram.params = {bound("min", 0.0, "where the first bin begins"),
                      bound("max", 1.0, "where the last bin ends; above min")};
  histogram.check = [](const Call& call) {
    check_counts("histogram_bins", call);
    const auto low = static_cast<float>(call.number("min"));
    const auto high = static_cast<float>(call.number("max"));
    if (low < high && std::isfinite(high - low)) return;
    throw Error(Reason::invalid_param,
                text("max of histogram_bins must be above min, ", to_string(call.params.at("min")),
                     ", as numbers of type f32, got ", to_string(call.params.at("max"))));
  };
  histogram.plan = plan_histogram;
  histogram.sample = [](DType dtype) {
    return Call{{{dtype, {1}}}, {DType::u32, {1}}, {{"max", 1.0}}};
  };
  return histogram;
}

}  // namespace

Descriptors count_kernels() { return {bincount_kernel(), histogram_bins_kernel()}; }

}  // namespace dala
