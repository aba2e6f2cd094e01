#include "plan/fused_kernel.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "kernels/elementwise/broadcast.hpp"
#include "kernels/elementwise/pointwise.hpp"
#include "runtime/error.hpp"

namespace dala::plan {
namespace {

constexpr const char* kEntry = "fused";

int64_t places(const Shape& shape) { return TensorType{DType::u8, shape}.count(); }

// Whether an input needs strides: one with as many positions as the outputs has their order, and
// one with a single position needs no index.
bool walked(const Port& port, const Shape& output) {
  const int64_t count = places(port.shape);
  return count != 1 && count != places(output);
}

const Shape& places_of(const Recipe& recipe) {
  return recipe.steps.front().stage->body.output.shape;
}

// The traversal of the outputs' positions, with the strides of the inputs that need them.
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

// The index expression with which PLACE reads each input.
std::vector<std::string> places_read(const Recipe& recipe, const Walk& walk) {
  std::vector<std::string> result;
  size_t walk_index = 0;
  for (const Recipe::Input& input : recipe.inputs) {
    std::string place = places(input.port.shape) == 1 ? "0" : "i";
    if (walked(input.port, places_of(recipe))) {
      const bool repeats = walk.strides[walk_index].front() == 0;
      place = text(repeats ? "REPEATED(" : "ROW(", walk_index++, ")");
    }
    result.push_back(std::move(place));
  }
  return result;
}

// Divides the steps into sections with at most one heavy body each; returns the section of each
// step.
std::vector<size_t> sections_of(const Recipe& recipe) {
  std::vector<size_t> sections;
  size_t current = 0;
  bool heavy = false;
  for (const Recipe::Step& step : recipe.steps) {
    if (step.stage->body.heavy && heavy) ++current;
    heavy = heavy || step.stage->body.heavy;
    sections.push_back(current);
  }
  return sections;
}

// The code of one position. Stores are in the last section and after all its loads, so an output
// may alias an input.
struct PlaceCode {
  std::string keep;   // declares the values that pass between sections
  std::string place;  // the sections, with NEXT between them
  size_t sections = 1;
};

class PlaceWriter {
 public:
  PlaceWriter(const Recipe& recipe, const Walk& walk)
      : recipe_(recipe), sections_(sections_of(recipe)), places_(places_read(recipe, walk)) {
    for (const Recipe::Step& step : recipe.steps) {
      first_param_.push_back(params_);
      params_ += step.stage->body.params.size();
    }
  }

  PlaceCode write() {
    const size_t last = sections_.back();
    for (size_t section = 0; section <= last; ++section) {
      if (section > 0) code_.place += "NEXT ";
      loaded_.clear();
      fetched_.clear();
      for (size_t k = 0; k < recipe_.steps.size(); ++k) {
        if (sections_[k] == section) step(k);
      }
    }
    for (size_t output : recipe_.outputs) fetch(output, last);
    for (size_t i = 0; i < recipe_.outputs.size(); ++i) {
      const size_t k = recipe_.outputs[i];
      code_.place += text("STORE_", slot(k), "(out", i, ", i, v", k, "); ");
    }
    code_.sections = last + 1;
    return std::move(code_);
  }

 private:
  const std::string& slot(size_t k) const { return recipe_.steps[k].stage->body.output.slot; }

  void step(size_t k) {
    const Body& body = recipe_.steps[k].stage->body;
    std::vector<std::string> arguments;
    if (body.takes_place) arguments.emplace_back("i");
    for (const Recipe::Source& source : recipe_.steps[k].inputs) {
      if (source.computed) {
        fetch(source.index, sections_[k]);
      } else {
        load(source.index);
      }
      arguments.push_back(text(source.computed ? "v" : "x", source.index));
    }
    for (size_t n = 0; n < body.params.size(); ++n) {
      arguments.push_back(text("p", first_param_[k] + n));
    }
    code_.place += text("const VALUE_", slot(k), " v", k, " = ", body.function, "(",
                        join(arguments, ", "), "); ");
    if (!outlives_section(k)) return;
    code_.keep += text("KEEP(VALUE_", slot(k), ", k", k, ") ");
    code_.place += text("KEPT(k", k, ") = v", k, "; ");
  }

  void load(size_t i) {
    if (!loaded_.insert(i).second) return;
    const std::string& name = recipe_.inputs[i].port.slot;
    code_.place +=
        text("const VALUE_", name, " x", i, " = LOAD_", name, "(in", i, ", ", places_[i], "); ");
  }

  // Loads a value of an earlier section.
  void fetch(size_t k, size_t section) {
    if (sections_[k] == section || !fetched_.insert(k).second) return;
    code_.place += text("const VALUE_", slot(k), " v", k, " = KEPT(k", k, "); ");
  }

  bool outlives_section(size_t k) const {
    bool outlives = std::count(recipe_.outputs.begin(), recipe_.outputs.end(), k) != 0 &&
                    sections_[k] != sections_.back();
    for (size_t later = k + 1; later < recipe_.steps.size(); ++later) {
      for (const Recipe::Source& source : recipe_.steps[later].inputs) {
        outlives =
            outlives || (source.computed && source.index == k && sections_[later] != sections_[k]);
      }
    }
    return outlives;
  }

  const Recipe& recipe_;
  const std::vector<size_t> sections_;
  const std::vector<std::string> places_;
  std::vector<size_t> first_param_;
  size_t params_ = 0;
  std::set<size_t> loaded_;
  std::set<size_t> fetched_;
  PlaceCode code_;
};

std::vector<Part> parts_of(const Recipe& recipe, const Walk& walk, const Planner& planner) {
  const Loop& loop = *recipe.steps.front().stage->body.loop;
  std::vector<Part> parts{{"common/fp_contract_off.h"}};
  for (const Recipe::Step& step : recipe.steps) {
    for (const Part& part : step.stage->body.source) {
      if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
    }
  }
  const PlaceCode code = PlaceWriter(recipe, walk).write();
  parts.push_back({planner.cpu_class() ? loop.cpu_template : loop.gpu_template,
                   {{"ENTRY", kEntry},
                    {"ARGUMENTS", arguments_of(recipe)},
                    {"KEEP_VALUES", code.keep},
                    {"PLACE", code.place},
                    {"N_SECTIONS", std::to_string(code.sections)},
                    {"N_WALKED", std::to_string(walk.strides.size())}}});
  return parts;
}

std::string key_of(const Loop& loop, const std::vector<Part>& parts, const std::string& options) {
  std::string key = text("fused ", loop.name, " ", options, "\n");
  for (const Part& part : parts) key += part.file + "\n" + lines(part.defines) + part.code + "\n";
  return key;
}

// The `layout` argument of the templates.
dala::Value layout_value(const Walk& walk, int64_t chunk) {
  std::vector<int64_t> numbers{walk.count, chunk};
  const auto append = [&numbers](const std::vector<int64_t>& row) {
    for (size_t d = 0; d < kMaxRank; ++d) numbers.push_back(d < row.size() ? row[d] : 0);
  };
  if (!walk.strides.empty()) {
    numbers.push_back(static_cast<int64_t>(walk.dims.size()));
    append(walk.dims);
    for (const auto& strides : walk.strides) append(strides);
  }
  dala::Value result{std::vector<std::byte>(numbers.size() * sizeof(int64_t))};
  std::memcpy(result.bytes.data(), numbers.data(), result.bytes.size());
  return result;
}

}  // namespace

Launch fused_launch(const Recipe& recipe, const std::string& options, Planner& planner) {
  const Walk walk = walk_of(recipe);
  const Loop& loop = *recipe.steps.front().stage->body.loop;
  const std::vector<Part> parts = parts_of(recipe, walk, planner);
  const Spread spread = spread_out(planner, walk.count);
  KernelStep step{planner.program(
                      key_of(loop, parts, options),
                      [&] {
                        return ProgramSource{loop.defines, parts};
                      },
                      options),
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

}  // namespace dala::plan
