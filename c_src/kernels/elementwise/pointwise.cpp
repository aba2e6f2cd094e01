#include "kernels/elementwise/pointwise.hpp"

#include <algorithm>

#include "kernels/element.hpp"

namespace dala {
namespace {

constexpr int64_t kChunk = 64 * 1024;  // amortises the start of a group, still balances the load
constexpr int64_t kSmallChunk = 2 * 1024;

struct Operations {
  std::vector<PointwiseOp> for_all;
  std::vector<PointwiseOp> for_floats;
  std::vector<PointwiseOp> for_integers;
};

std::vector<PointwiseOp> ops_of(OpFile file, int inputs, const std::vector<const char*>& names) {
  std::vector<PointwiseOp> result;
  const int params = file == OpFile::compare ? 1 : 0;
  for (const char* name : names) result.push_back({name, inputs, params, file});
  return result;
}

std::vector<PointwiseOp> joined(std::vector<PointwiseOp> a, const std::vector<PointwiseOp>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Operations& operations_of(OpFile file) {
  static const Operations ops{{{"identity", 1, 0},
                               {"add", 2, 0},
                               {"sub", 2, 0},
                               {"mul", 2, 0},
                               {"div", 2, 0},
                               {"min", 2, 0},
                               {"max", 2, 0},
                               {"pow", 2, 0},
                               {"abs", 1, 0},
                               {"neg", 1, 0},
                               {"relu", 1, 1},
                               {"scalar_mul", 1, 1},
                               {"clamp", 1, 2},
                               {"fill", 0, 1}},
                              ops_of(OpFile::ops, 1, {"exp", "log", "sqrt", "tanh", "sigmoid"}),
                              {}};
  static const Operations functions{
      joined(ops_of(OpFile::functions, 1, {"sign"}),
             {{"remainder", 2, 0, OpFile::functions}, {"select", 3, 0, OpFile::functions}}),
      joined(ops_of(OpFile::functions, 1,
                    {"ceil",  "floor", "round", "sin",   "cos",   "tan",   "asin",
                     "acos",  "atan",  "sinh",  "cosh",  "asinh", "acosh", "atanh",
                     "expm1", "log1p", "cbrt",  "rsqrt", "erf",   "erfc",  "erf_inv"}),
             {{"atan2", 2, 0, OpFile::functions}}),
      joined(
          ops_of(OpFile::functions, 1, {"bitwise_not", "population_count", "count_leading_zeros"}),
          ops_of(OpFile::functions, 2,
                 {"bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"}))};
  static const Operations compare{
      joined(ops_of(OpFile::compare, 2,
                    {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
                     "logical_and", "logical_or", "logical_xor"}),
             ops_of(OpFile::compare, 1, {"logical_not"})),
      ops_of(OpFile::compare, 1, {"is_nan", "is_infinity"}),
      {}};
  switch (file) {
    case OpFile::functions:
      return functions;
    case OpFile::compare:
      return compare;
    default:
      return ops;
  }
}

const std::vector<PointwiseOp>& complex_operations() {
  static const std::vector<PointwiseOp> all =
      joined({{"fill", 0, 1}, {"select", 3, 0}},
             joined(ops_of(OpFile::complex, 1,
                           {"neg", "conjugate", "real", "imag", "complex_abs", "complex_angle"}),
                    ops_of(OpFile::complex, 2, {"add", "sub", "mul", "div", "complex"})));
  return all;
}

// Every operation of a file that is a kernel of its own.
std::vector<PointwiseOp> operations(OpFile file, DType dtype) {
  if (dtype == DType::c64) return complex_operations();
  const Operations& all = operations_of(file);
  return joined(all.for_all, is_float(dtype) ? all.for_floats : all.for_integers);
}

std::string name_of(OpFile file) {
  switch (file) {
    case OpFile::functions:
      return "functions";
    case OpFile::compare:
      return "compare";
    default:
      return "ops";
  }
}

// Whether the body is heavy on a CPU: see Body.
bool is_heavy(const PointwiseOp& op, DType dtype) {
  static const std::vector<std::string> long_on_floats = {"exp", "log", "pow", "sigmoid", "tanh"};
  static const std::vector<std::string> long_on_integers = {"div", "pow", "remainder"};
  static const std::vector<std::string> short_functions = {"sign", "select", "ceil", "floor",
                                                           "round"};
  const auto among = [&op](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), op.name) != names.end();
  };
  if (!is_float(dtype)) return among(long_on_integers);
  return op.file == OpFile::functions ? !among(short_functions) : among(long_on_floats);
}

const Loop& element_loop() {
  static const Loop loop{
      "pointwise", {}, "elementwise/elements_fused_cpu.cl", "elementwise/elements_fused_gpu.cl"};
  return loop;
}

// Builtin functions occupy the plain names, so kernels get a prefix.
std::string entry_of(const PointwiseOp& op) { return "run_" + op.name; }
std::string function_of(const PointwiseOp& op, DType dtype) {
  return text("op_", op.name, "_", to_string(dtype));
}

// The operations of a file on one type. Those of f16 and bf16 are based on those of f32.
Part op_source(OpFile file, DType dtype) {
  if (dtype == DType::c64)
    return {"elementwise/formulas/complex.cl", {{"OP(name)", "op_##name##_c64"}}};
  const DType computed = computed_type(dtype);
  Part ops{"elementwise/formulas/" + name_of(file) + ".cl", element_defines(computed)};
  ops.defines.emplace_back("OP(name)", text("op_##name##_", to_string(computed)));
  return ops;
}

Part narrow_op_source(const PointwiseOp& op, DType dtype) {
  const bool compares = op.file == OpFile::compare;
  return narrow_function(function_of(op, dtype), function_of(op, DType::f32),
                         op.inputs + (compares ? 0 : op.params), compares, dtype);
}

// The output may alias an input whose elements have the output's size, since each element is read
// before it is written. An input of another size in bytes cannot be the same buffer.
bool runs_in_place(const Call& call) {
  return std::all_of(call.inputs.begin(), call.inputs.end(), [&](const TensorType& input) {
    return input.bytes() != call.output.bytes() ||
           size_of(input.dtype) == size_of(call.output.dtype);
  });
}

}  // namespace

std::vector<DType> input_types(const PointwiseOp& op, DType dtype) {
  std::vector<DType> types(static_cast<size_t>(op.inputs), dtype);
  if (op.name == "select") types[0] = DType::u8;
  if (op.name == "complex") types = {DType::f32, DType::f32};
  return types;
}

DType result_type(const PointwiseOp& op, DType dtype) {
  static const std::vector<std::string> parts = {"real", "imag", "complex_abs", "complex_angle"};
  if (std::find(parts.begin(), parts.end(), op.name) != parts.end()) return DType::f32;
  return op.file == OpFile::compare ? DType::u8 : dtype;
}

Part narrow_function(const std::string& name, const std::string& of_floats, int arguments,
                     bool compares, DType dtype) {
  Part part{"elementwise/formulas/narrow_op.cl", element_defines(dtype)};
  part.defines.insert(part.defines.end(), {{"NAME", name},
                                           {"OF_FLOATS", of_floats},
                                           {"N_ARGS", std::to_string(arguments)},
                                           {"COMPARES", compares ? "1" : "0"}});
  return part;
}

Spread spread_out(const Planner& planner, int64_t count) {
  Spread spread;
  if (planner.cpu_class()) {
    const int64_t busy = std::min(planner.busy_groups(), count / kSmallChunk);
    const int64_t groups = std::max({ceil_div(count, kChunk), busy, int64_t{1}});
    // Chunks are multiples of 64 elements, so that groups do not share cache lines.
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

Body op_body(const PointwiseOp& op, DType dtype, const Call& call,
             const std::vector<Value>& values) {
  Body body = pointwise_body(call, function_of(op, dtype), {op_source(op.file, dtype)}, values);
  if (is_narrow_float(dtype)) body.source.push_back(narrow_op_source(op, dtype));
  body.heavy = is_heavy(op, dtype);
  // Its double constants must stay double.
  if (dtype == DType::f64) body.options = "";
  return body;
}

Entry pointwise_entry(Planner& planner, const PointwiseOp& op, DType dtype) {
  const std::string file = dtype == DType::c64 ? "complex" : name_of(op.file);
  const std::string key = text("pointwise ", file, " ", to_string(dtype));
  auto program = planner.program(key, [&] {
    ProgramSource source{{}, {op_source(op.file, dtype)}};
    for (const PointwiseOp& each : operations(op.file, dtype)) {
      if (is_narrow_float(dtype)) source.parts.push_back(narrow_op_source(each, dtype));
      source.parts.push_back(pointwise_part(planner, entry_of(each), function_of(each, dtype),
                                            input_types(each, dtype), result_type(each, dtype),
                                            each.params));
    }
    return source;
  });
  return {std::move(program), entry_of(op)};
}

Launch pointwise_launch(const Planner& planner, const Entry& entry, const Call& call,
                        PointwiseLayout layout, const std::vector<Value>& values) {
  Launch launch;
  launch.in_place = runs_in_place(call);
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
