#include "kernels/random/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/random/random_args.h"
#include "kernels/reduce/axis.hpp"

namespace dala {
namespace {

const std::vector<DType> kFloats{DType::f32, DType::f64};
const std::vector<DType> kIntegers{DType::s32, DType::s64, DType::u32, DType::u8};

constexpr double kMostPlaces = 0x1p62;
constexpr int64_t kTilesPerGroup = 256;

// The numbers that one block of 128 bits provides.
int64_t per_block(DType dtype) {
  if (dtype == DType::f32) return 4;
  return dtype == DType::s64 ? 1 : 2;
}

std::shared_ptr<Program> program_for(Planner& planner, DType dtype) {
  return planner.program(text("random ", to_string(dtype)), [&] {
    Defines defines = element_defines(dtype);
    defines.emplace_back("PER_BLOCK", std::to_string(per_block(dtype)));
    defines.emplace_back("LANES", planner.cpu_class() ? std::to_string(RANDOM_LANES) : "1");
    defines.emplace_back("PARAM", is_float(dtype) ? cl_name(dtype) : "long");
    ProgramSource source{defines, {}};
    const std::vector<std::string> names = is_float(dtype)
                                               ? std::vector<std::string>{"uniform", "normal"}
                                               : std::vector<std::string>{"integer"};
    for (const std::string& name : names) {
      source.parts.push_back({planner.cpu_class() ? "random/random_cpu.cl" : "random/random_gpu.cl",
                              {{"NAME", "random_" + name}, {"DRAW", "draw_" + name}}});
    }
    return source;
  });
}

Launch plan_random(const std::string& name, const Call& call, Planner& planner,
                   const std::vector<Value>& values) {
  planner.need_arithmetic(name, call);
  Launch launch;
  launch.in_place = true;
  if (call.output.count() == 0) return launch;
  const DType dtype = call.output.dtype;
  RandomView view;
  view.seed = static_cast<cl_ulong>(call.integer("seed"));
  view.stream = static_cast<cl_ulong>(call.integer("stream"));
  view.offset = call.integer("offset");
  view.count = call.output.count();
  const int64_t tile = RANDOM_LANES * per_block(dtype);
  const int64_t tiles = ceil_div(view.offset % tile + view.count, tile);
  Range range;
  if (planner.cpu_class()) {
    view.chunk = std::clamp(ceil_div(tiles, planner.busy_groups()), int64_t{16}, kTilesPerGroup);
    range.global[0] = static_cast<size_t>(ceil_div(tiles, view.chunk));
  } else {
    range = item_per_result(planner, tiles * RANDOM_LANES);
  }
  KernelStep step{program_for(planner, dtype), name, {output(), value(view)}, range};
  for (const Value& each : values) step.arguments.push_back(each);
  launch.steps.push_back(std::move(step));
  launch.work = static_cast<double>(call.output.bytes()) + 4.0 * static_cast<double>(view.count);
  return launch;
}

// A number as an element of the type.
Value element(DType dtype, double number) {
  return dtype == DType::f32 ? value(static_cast<float>(number)) : value(number);
}

ParamSpec integer_param(const std::string& name, std::optional<int64_t> fallback, double min,
                        double max, const std::string& summary) {
  ParamSpec spec;
  spec.name = name;
  spec.kind = ParamSpec::Kind::integer;
  if (fallback) spec.fallback = *fallback;
  spec.required = !fallback;
  spec.min = min;
  spec.max = max;
  spec.summary = summary;
  return spec;
}

ParamSpec number_param(const std::string& name, double fallback, double min,
                       const std::string& summary) {
  ParamSpec spec;
  spec.name = name;
  spec.kind = ParamSpec::Kind::number;
  spec.fallback = fallback;
  spec.min = min;
  spec.summary = summary;
  return spec;
}

Descriptor random_kernel(const std::string& name, const std::string& summary,
                         const std::vector<DType>& dtypes, std::vector<ParamSpec> params) {
  Descriptor random;
  random.name = name;
  random.summary = summary;
  random.inputs = 0;
  random.dtypes = dtypes;
  random.output_rule = is_float(dtypes[0]) ? "f32 or f64, any shape" : "an integer type, any shape";
  params.push_back(integer_param("seed", 0, -1e300, 1e300,
                                 "the sequence, of 2^64; the same one "
                                 "gives the same numbers everywhere"));
  params.push_back(integer_param("stream", 0, 0, 1e300,
                                 "another sequence of the same seed, independent of the others"));
  params.push_back(
      integer_param("offset", 0, 0, kMostPlaces, "the place in the sequence of the first element"));
  random.params = std::move(params);
  return random;
}

void need_finite(const std::string& kernel, const std::string& what, DType dtype, double number) {
  const double largest = dtype == DType::f32
                             ? static_cast<double>(std::numeric_limits<float>::max())
                             : std::numeric_limits<double>::max();
  if (std::abs(number) <= largest) return;
  throw Error(Reason::invalid_param,
              text(what, " of ", kernel, " must be a number that ", to_string(dtype), " can hold"));
}

struct Bounds {
  double low = 0;
  double span = 0;
  double last = 0;  // the largest result
};

Bounds uniform_bounds(const Call& call) {
  const bool narrow = call.output.dtype == DType::f32;
  const auto rounded = [&](double x) {
    return narrow ? static_cast<double>(static_cast<float>(x)) : x;
  };
  Bounds bounds;
  const double high = rounded(call.number("max"));
  bounds.low = rounded(call.number("min"));
  bounds.span = rounded(high - bounds.low);
  bounds.last = bounds.low;
  if (high > bounds.low) {
    bounds.last = narrow ? static_cast<double>(std::nextafterf(static_cast<float>(high),
                                                               static_cast<float>(bounds.low)))
                         : std::nextafter(high, bounds.low);
  }
  return bounds;
}

Descriptor uniform_kernel() {
  Descriptor uniform = random_kernel(
      "random_uniform",
      "Random numbers that are equally likely from min up to max, max itself left out "
      "(Philox4x32-10).",
      kFloats,
      {number_param("min", 0.0, -1e300, "the least number"),
       number_param("max", 1.0, -1e300, "the bound above, at least min")});
  uniform.check = [](const Call& call) {
    const std::string name = "random_uniform";
    need_output_dtype(name, call, kFloats);
    for (const char* bound : {"min", "max"}) {
      need_finite(name, bound, call.output.dtype, call.number(bound));
    }
    if (call.number("max") < call.number("min")) {
      throw Error(Reason::invalid_param, text("max of random_uniform must be at least min, ",
                                              to_string(call.params.at("min")), ", got ",
                                              to_string(call.params.at("max"))));
    }
    need_finite(name, "max - min", call.output.dtype, call.number("max") - call.number("min"));
  };
  uniform.plan = [](const Call& call, Planner& planner) {
    const Bounds bounds = uniform_bounds(call);
    const DType dtype = call.output.dtype;
    return plan_random(
        "random_uniform", call, planner,
        {element(dtype, bounds.low), element(dtype, bounds.span), element(dtype, bounds.last)});
  };
  return uniform;
}

Descriptor normal_kernel() {
  Descriptor normal =
      random_kernel("random_normal",
                    "Random numbers of a normal distribution (Philox4x32-10, Box-Muller).", kFloats,
                    {number_param("mean", 0.0, -1e300, "the mean"),
                     number_param("std", 1.0, 0, "the standard deviation")});
  normal.check = [](const Call& call) {
    need_output_dtype("random_normal", call, kFloats);
    for (const char* param : {"mean", "std"}) {
      need_finite("random_normal", param, call.output.dtype, call.number(param));
    }
  };
  normal.plan = [](const Call& call, Planner& planner) {
    const DType dtype = call.output.dtype;
    return plan_random("random_normal", call, planner,
                       {element(dtype, call.number("mean")), element(dtype, call.number("std")),
                        element(dtype, 0)});
  };
  return normal;
}

Descriptor integer_kernel() {
  Descriptor integer = random_kernel(
      "random_integer",
      "Random integers that are equally likely from min to max, both included (Philox4x32-10).",
      kIntegers,
      {integer_param("min", 0, -1e300, 1e300, "the least integer"),
       integer_param("max", std::nullopt, -1e300, 1e300, "the largest integer, at least min")});
  integer.check = [](const Call& call) {
    need_output_dtype("random_integer", call, kIntegers);
    const int64_t min = call.integer("min");
    const int64_t max = call.integer("max");
    if (max < min) {
      throw Error(Reason::invalid_param,
                  text("max of random_integer must be at least min, ", min, ", got ", max));
    }
    const DType dtype = call.output.dtype;
    const int64_t bits = static_cast<int64_t>(8 * size_of(dtype));
    if (dtype == DType::s64) return;
    const bool negatives = dtype == DType::s32;
    const int64_t low = negatives ? -(int64_t{1} << (bits - 1)) : 0;
    const int64_t high = low + (int64_t{1} << bits) - 1;
    for (const char* name : {"min", "max"}) {
      const int64_t given = call.integer(name);
      if (given >= low && given <= high) continue;
      throw Error(Reason::invalid_param,
                  text(name, " of random_integer must be an integer between ", low, " and ", high,
                       " for ", to_string(dtype), ", got ", given));
    }
  };
  integer.plan = [](const Call& call, Planner& planner) {
    const int64_t min = call.integer("min");
    const auto span = static_cast<int64_t>(static_cast<uint64_t>(call.integer("max")) -
                                           static_cast<uint64_t>(min));
    return plan_random("random_integer", call, planner,
                       {value(cl_long{min}), value(cl_long{span}), value(cl_long{0})});
  };
  integer.sample = [](DType dtype) { return Call{{}, {dtype, {1}}, {{"max", int64_t{9}}}}; };
  return integer;
}

}  // namespace

Descriptors random_kernels() { return {uniform_kernel(), normal_kernel(), integer_kernel()}; }

}  // namespace dala
