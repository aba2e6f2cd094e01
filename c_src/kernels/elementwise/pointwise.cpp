#include "kernels/elementwise/pointwise.hpp"

#include <algorithm>

#include "kernels/element.hpp"

namespace dala {
namespace {

constexpr int64_t kChunk =
    16 * 1024;  // enough to hide the start of a group, small enough to spread
constexpr int64_t kSmallChunk = 2 * 1024;

// Every operation of ops.cl that is a kernel of its own.
const std::vector<PointwiseOp>& operations(DType dtype) {
  static const std::vector<PointwiseOp> for_all = {
      {"op_identity", 1, 0}, {"op_add", 2, 0},  {"op_sub", 2, 0},  {"op_mul", 2, 0},
      {"op_div", 2, 0},      {"op_min", 2, 0},  {"op_max", 2, 0},  {"op_pow", 2, 0},
      {"op_abs", 1, 0},      {"op_neg", 1, 0},  {"op_relu", 1, 1}, {"op_scalar_mul", 1, 1},
      {"op_clamp", 1, 2},    {"op_fill", 0, 1},
  };
  static const std::vector<PointwiseOp> for_floats = [] {
    auto all = for_all;
    for (const char* body : {"op_exp", "op_log", "op_sqrt", "op_tanh", "op_sigmoid"}) {
      all.push_back({body, 1, 0});
    }
    return all;
  }();
  return is_float(dtype) ? for_floats : for_all;
}

// Builtin functions own the plain names, so kernels get a prefix.
std::string entry_of(const PointwiseOp& op) { return "run_" + op.body; }

// The output may share memory with an input that has its very elements, since each is read before
// it is written. An input of another size cannot be the same buffer.
bool right_in_place(const Call& call) {
  return std::all_of(call.inputs.begin(), call.inputs.end(), [&](const TensorType& input) {
    return input.bytes() != call.output.bytes() ||
           size_of(input.dtype) == size_of(call.output.dtype);
  });
}

Range group_range(const Planner& planner, PointwiseLayout& layout) {
  Range range;
  if (planner.cpu_class()) {
    const int64_t spread = std::min(planner.busy_groups(), layout.count / kSmallChunk);
    const int64_t groups = std::max({ceil_div(layout.count, kChunk), spread, int64_t{1}});
    // A multiple of 64 elements keeps groups off each other's cache lines.
    layout.chunk = ceil_div(ceil_div(layout.count, groups), 64) * 64;
    range.global[0] = static_cast<size_t>(ceil_div(layout.count, layout.chunk));
  } else {
    const auto items = static_cast<int64_t>(planner.group_items(256));
    range.local[0] = static_cast<size_t>(items);
    range.global[0] = static_cast<size_t>(ceil_div(layout.count, items) * items);
  }
  return range;
}

}  // namespace

std::string pointwise_template(const Planner& planner) {
  return planner.cpu_class() ? "elementwise/pointwise_cpu.cl" : "elementwise/pointwise_gpu.cl";
}

Part pointwise_part(const Planner& planner, const std::string& entry, const std::string& body,
                    const std::vector<DType>& input_types, int params) {
  Part part{pointwise_template(planner),
            {{"ENTRY", entry},
             {"BODY", body},
             {"N_INPUTS", std::to_string(input_types.size())},
             {"N_PARAMS", std::to_string(params)}}};
  for (size_t i = 0; i < input_types.size(); ++i) {
    part.defines.emplace_back("T" + std::to_string(i), cl_name(input_types[i]));
  }
  return part;
}

Entry pointwise_entry(Planner& planner, const PointwiseOp& op, DType dtype) {
  auto program = planner.program(text("pointwise ", to_string(dtype)), [&] {
    std::vector<Part> parts{{"", {}, lines(element_defines(dtype))}};
    if (planner.cpu_class() && is_float(dtype)) {
      parts.push_back({"elementwise/log_cpu.cl"});
    }
    parts.push_back({"elementwise/ops.cl"});
    parts.push_back({"elementwise/pointwise_layout.cl"});
    for (const PointwiseOp& each : operations(dtype)) {
      const std::vector<DType> types(static_cast<size_t>(each.inputs), dtype);
      parts.push_back(pointwise_part(planner, entry_of(each), each.body, types, each.params));
    }
    return parts;
  });
  return {std::move(program), entry_of(op)};
}

Launch pointwise_launch(const Planner& planner, const Entry& entry, const Call& call,
                        PointwiseLayout layout, const std::vector<Value>& values) {
  Launch launch;
  launch.in_place = right_in_place(call);
  if (layout.count == 0) return launch;

  KernelStep step{entry.program, entry.name, {}, group_range(planner, layout)};
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    step.arguments.push_back(input(static_cast<int>(i)));
    launch.work += static_cast<double>(call.inputs[i].bytes());
  }
  for (const Value& each : values) step.arguments.push_back(each);
  step.arguments.push_back(output());
  step.arguments.push_back(value(layout));
  launch.steps.push_back(std::move(step));
  launch.work += static_cast<double>(call.output.bytes());
  return launch;
}

}  // namespace dala
