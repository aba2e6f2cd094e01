#include "kernels/fusion/fused_kernel.hpp"

#include <algorithm>
#include <utility>

#include "kernels/elementwise/broadcast.hpp"
#include "kernels/elementwise/pointwise.hpp"
#include "runtime/error.hpp"

namespace dala {
namespace {

constexpr const char* kEntry = "fused";

int64_t places(const Shape& shape) { return TensorType{DType::u8, shape}.count(); }

// An input with as many places as the outputs has their order; one with a single place needs none.
bool walked(const Port& port, const Shape& output) {
  const int64_t count = places(port.shape);
  return count != 1 && count != places(output);
}

const Shape& places_of(const Recipe& recipe) {
  return recipe.steps.front().stage->body.output.shape;
}

// The walk through the outputs' places and, in order, the inputs that need one.
Walk walk_of(const Recipe& recipe) {
  std::vector<Shape> shapes;
  for (const Recipe::Input& input : recipe.inputs) {
    if (walked(input.port, places_of(recipe))) shapes.push_back(input.port.shape);
  }
  return broadcast_walk(shapes, places_of(recipe));
}

std::string arguments_of(const Recipe& recipe) {
  std::string arguments;
  for (size_t i = 0; i < recipe.inputs.size(); ++i) {
    arguments += text("__global const ", cl_name(recipe.inputs[i].type.dtype), " *in", i, ", ");
  }
  for (size_t i = 0; i < recipe.outputs.size(); ++i) {
    const TensorType& type = recipe.steps[recipe.outputs[i]].stage->output;
    arguments += text("__global ", cl_name(type.dtype), " *out", i, ", ");
  }
  size_t param = 0;
  for (const Recipe::Step& step : recipe.steps) {
    for (const BodyParam& each : step.stage->body.params) {
      arguments += text("const ", each.type, " p", param++, ", ");
    }
  }
  return arguments;
}

// All loads come before all stores, so an output may be an input as well.
std::string place_of(const Recipe& recipe, const Walk& walk) {
  std::string code;
  size_t walk_index = 0;
  for (size_t i = 0; i < recipe.inputs.size(); ++i) {
    const Port& port = recipe.inputs[i].port;
    std::string place = places(port.shape) == 1 ? "0" : "i";
    if (walked(port, places_of(recipe))) {
      const bool repeats = walk.strides[walk_index].front() == 0;
      place = text(repeats ? "REPEATED(" : "ROW(", walk_index++, ")");
    }
    code += text("const VALUE_", port.slot, " x", i, " = LOAD_", port.slot, "(in", i, ", ", place,
                 "); ");
  }
  size_t param = 0;
  for (size_t k = 0; k < recipe.steps.size(); ++k) {
    const Body& body = recipe.steps[k].stage->body;
    std::vector<std::string> arguments;
    if (body.takes_place) arguments.emplace_back("i");
    for (const Recipe::Source& source : recipe.steps[k].inputs) {
      arguments.push_back(text(source.computed ? "v" : "x", source.index));
    }
    for (size_t n = 0; n < body.params.size(); ++n) arguments.push_back(text("p", param++));
    code += text("const VALUE_", body.output.slot, " v", k, " = ", body.function, "(",
                 join(arguments, ", "), "); ");
  }
  for (size_t i = 0; i < recipe.outputs.size(); ++i) {
    const size_t step = recipe.outputs[i];
    code += text("STORE_", recipe.steps[step].stage->body.output.slot, "(out", i, ", i, v", step,
                 "); ");
  }
  return code;
}

std::vector<Part> parts_of(const Recipe& recipe, const Walk& walk, const Planner& planner) {
  const Loop& loop = *recipe.steps.front().stage->body.loop;
  std::vector<Part> parts{{"fusion/fused_layout.cl"}};
  for (const std::string& file : loop.files) parts.push_back({file});
  for (const Recipe::Step& step : recipe.steps) {
    for (const Part& part : step.stage->body.source) {
      if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
    }
  }
  parts.push_back({planner.cpu_class() ? loop.cpu_template : loop.gpu_template,
                   {{"ENTRY", kEntry},
                    {"ARGUMENTS", arguments_of(recipe)},
                    {"PLACE", place_of(recipe, walk)},
                    {"N_WALKED", std::to_string(walk.strides.size())}}});
  return parts;
}

std::string key_of(const std::vector<Part>& parts, const std::string& options) {
  std::string key = "fused " + options + "\n";
  for (const Part& part : parts) key += part.file + "\n" + lines(part.defines) + part.code + "\n";
  return key;
}

// The bytes of the struct `layout` in the templates.
Value layout_value(const Walk& walk, int64_t chunk) {
  std::vector<int64_t> numbers{walk.count, chunk};
  const auto append = [&numbers](const std::vector<int64_t>& row) {
    for (size_t d = 0; d < kMaxRank; ++d) numbers.push_back(d < row.size() ? row[d] : 0);
  };
  if (!walk.strides.empty()) {
    numbers.push_back(static_cast<int64_t>(walk.dims.size()));
    append(walk.dims);
    for (const auto& strides : walk.strides) append(strides);
  }
  Value result{std::vector<std::byte>(numbers.size() * sizeof(int64_t))};
  std::memcpy(result.bytes.data(), numbers.data(), result.bytes.size());
  return result;
}

}  // namespace

Launch fused_launch(const Recipe& recipe, const std::string& options, Planner& planner) {
  const Walk walk = walk_of(recipe);
  const std::vector<Part> parts = parts_of(recipe, walk, planner);
  const Spread spread = spread_out(planner, walk.count);
  KernelStep step{planner.program(
                      key_of(parts, options), [&] { return parts; }, options),
                  kEntry,
                  {},
                  spread.range};
  Launch launch;
  launch.in_place = true;
  for (size_t i = 0; i < recipe.inputs.size(); ++i) {
    step.arguments.push_back(input(static_cast<int>(i)));
    launch.bytes += static_cast<double>(recipe.inputs[i].type.bytes());
  }
  for (size_t i = 0; i < recipe.outputs.size(); ++i) {
    step.arguments.push_back(output(static_cast<int>(i)));
    launch.bytes += static_cast<double>(recipe.steps[recipe.outputs[i]].stage->output.bytes());
  }
  for (const Recipe::Step& each : recipe.steps) {
    for (const BodyParam& param : each.stage->body.params) step.arguments.push_back(param.value);
  }
  step.arguments.push_back(layout_value(walk, spread.chunk));
  launch.steps.push_back(std::move(step));
  launch.work = launch.bytes;
  return launch;
}

}  // namespace dala
