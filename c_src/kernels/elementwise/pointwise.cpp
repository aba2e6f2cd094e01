#include "kernels/elementwise/pointwise.hpp"

#include <algorithm>

#include "kernels/element.hpp"

namespace dala {
namespace {

constexpr int64_t kChunk =
    64 * 1024;  // enough to hide the start of a group, small enough to spread
constexpr int64_t kSmallChunk = 2 * 1024;

// Every operation of ops.cl that is a kernel of its own.
const std::vector<PointwiseOp>& operations(DType dtype) {
  static const std::vector<PointwiseOp> for_all = {
      {"identity", 1, 0}, {"add", 2, 0},        {"sub", 2, 0},   {"mul", 2, 0},  {"div", 2, 0},
      {"min", 2, 0},      {"max", 2, 0},        {"pow", 2, 0},   {"abs", 1, 0},  {"neg", 1, 0},
      {"relu", 1, 1},     {"scalar_mul", 1, 1}, {"clamp", 1, 2}, {"fill", 0, 1},
  };
  static const std::vector<PointwiseOp> for_floats = [] {
    auto all = for_all;
    for (const char* body : {"exp", "log", "sqrt", "tanh", "sigmoid"}) {
      all.push_back({body, 1, 0});
    }
    return all;
  }();
  return is_float(dtype) ? for_floats : for_all;
}

const Loop& element_loop() {
  static const Loop loop{
      "pointwise", {"elementwise/slots.cl"}, "fusion/fused_cpu.cl", "fusion/fused_gpu.cl"};
  return loop;
}

// Builtin functions own the plain names, so kernels get a prefix.
std::string entry_of(const PointwiseOp& op) { return "run_" + op.name; }
std::string function_of(const PointwiseOp& op, DType dtype) {
  return text("op_", op.name, "_", to_string(dtype));
}

// All operations on one type.
std::vector<Part> op_source(const Planner& planner, DType dtype) {
  const bool own_log = planner.cpu_class() && is_float(dtype);
  const bool own_pow = planner.cpu_class() && dtype == DType::f32;
  std::vector<Part> parts;
  if (own_log) parts.push_back({"elementwise/log_cpu.cl", element_defines(dtype)});
  if (own_pow) parts.push_back({"elementwise/pow_cpu.cl", {}});
  Part ops{"elementwise/ops.cl", element_defines(dtype)};
  ops.defines.emplace_back("OP(name)", text("op_##name##_", to_string(dtype)));
  ops.defines.emplace_back("LOG", own_log ? text("log_", to_string(dtype)) : "log");
  ops.defines.emplace_back("POW", own_pow ? "pow_f32" : "pow");
  parts.push_back(std::move(ops));
  return parts;
}

// The output may share memory with an input that has its very elements, since each is read before
// it is written. An input of another size cannot be the same buffer.
bool right_in_place(const Call& call) {
  return std::all_of(call.inputs.begin(), call.inputs.end(), [&](const TensorType& input) {
    return input.bytes() != call.output.bytes() ||
           size_of(input.dtype) == size_of(call.output.dtype);
  });
}

}  // namespace

Spread spread_out(const Planner& planner, int64_t count) {
  Spread spread;
  if (planner.cpu_class()) {
    const int64_t busy = std::min(planner.busy_groups(), count / kSmallChunk);
    const int64_t groups = std::max({ceil_div(count, kChunk), busy, int64_t{1}});
    // A multiple of 64 elements keeps groups off each other's cache lines.
    spread.chunk = ceil_div(ceil_div(count, groups), 64) * 64;
    spread.range.global[0] = static_cast<size_t>(ceil_div(count, spread.chunk));
  } else {
    const auto items = static_cast<int64_t>(planner.group_items(256));
    spread.range.local[0] = static_cast<size_t>(items);
    spread.range.global[0] = static_cast<size_t>(ceil_div(count, items) * items);
  }
  return spread;
}

std::string pointwise_template(const Planner& planner) {
  return planner.cpu_class() ? "elementwise/pointwise_cpu.cl" : "elementwise/pointwise_gpu.cl";
}

std::vector<Part> pointwise_head(const Planner& planner) {
  std::vector<Part> parts{{"elementwise/pointwise_layout.cl"}};
  if (planner.cpu_class()) parts.push_back({"stream_cpu.cl"});
  return parts;
}

Part pointwise_part(const Planner& planner, const std::string& entry, const std::string& body,
                    const std::vector<DType>& input_types, DType output, int params) {
  Part part{pointwise_template(planner),
            {{"T", cl_name(output)},
             {"ENTRY", entry},
             {"BODY", body},
             {"N_INPUTS", std::to_string(input_types.size())},
             {"N_PARAMS", std::to_string(params)}}};
  for (size_t i = 0; i < input_types.size(); ++i) {
    part.defines.emplace_back("T" + std::to_string(i), cl_name(input_types[i]));
  }
  return part;
}

Body pointwise_body(const Call& call, std::string function, std::vector<Part> source,
                    const std::vector<Value>& values) {
  Body body;
  body.loop = &element_loop();
  body.source = std::move(source);
  body.function = std::move(function);
  for (const TensorType& type : call.inputs) {
    body.inputs.push_back({to_string(type.dtype), type.shape});
  }
  body.output = {to_string(call.output.dtype), call.output.shape};
  for (const Value& each : values) body.params.push_back({cl_name(call.output.dtype), each});
  return body;
}

Body op_body(const PointwiseOp& op, const Call& call, const Planner& planner,
             const std::vector<Value>& values) {
  const DType dtype = call.output.dtype;
  Body body = pointwise_body(call, function_of(op, dtype), op_source(planner, dtype), values);
  const std::vector<std::string> long_ones =
      is_float(dtype) ? std::vector<std::string>{"exp", "log", "pow", "sigmoid", "tanh"}
                      : std::vector<std::string>{"div", "pow"};
  body.heavy = std::find(long_ones.begin(), long_ones.end(), op.name) != long_ones.end();
  // Its constants are of double precision, and have to stay that.
  if (dtype == DType::f64) body.options = "";
  return body;
}

Entry pointwise_entry(Planner& planner, const PointwiseOp& op, DType dtype) {
  auto program = planner.program(text("pointwise ", to_string(dtype)), [&] {
    std::vector<Part> parts = pointwise_head(planner);
    for (Part& part : op_source(planner, dtype)) parts.push_back(std::move(part));
    for (const PointwiseOp& each : operations(dtype)) {
      const std::vector<DType> types(static_cast<size_t>(each.inputs), dtype);
      parts.push_back(pointwise_part(planner, entry_of(each), function_of(each, dtype), types,
                                     dtype, each.params));
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

  const Spread spread = spread_out(planner, layout.count);
  layout.chunk = spread.chunk;
  KernelStep step{entry.program, entry.name, {}, spread.range};
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
