// Random pipelines compute the same bytes with and without fusion: stages of all kinds, shapes that
// broadcast, element types, aliased and temporary buffers.
#include <doctest/doctest.h>

#include <random>
#include <set>

#include "kernels/elementwise/expression.hpp"
#include "support/host_tensor.hpp"
#include "support/pipeline.hpp"

using namespace dala;
using namespace dala::test;

namespace {

struct Variable {
  TensorType type;
  bool temporary = false;
};

// A stage, by the indices of its variables.
struct Choice {
  std::string kernel;  // or "barrier", or "copy"
  std::vector<size_t> inputs;
  size_t output = 0;
  Params params = {};
};

// A pipeline as data.
struct Script {
  std::vector<Variable> variables;
  std::vector<Choice> stages;
};

const char* expression() {
  static const bool registered = [] {
    engine().registry().add(
        make_pointwise_expression("test_fused_mix", "x * (1 - t) + y * 0.3 * t", 2, {"t"}));
    return true;
  }();
  return registered ? "test_fused_mix" : "";
}

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  Script make(const Shape& shape, size_t stages) {
    shape_ = shape;
    const DType third = pick<DType>({DType::u8, DType::f64, DType::f16, DType::bf16, DType::s16});
    for (DType dtype : {DType::f32, DType::s32, third}) {
      if (dtype == DType::f64 && !engine().planner().fp64()) continue;
      for (int i = 0; i < 3; ++i) script_.variables.push_back({{dtype, shape}, i == 2});
      script_.variables.push_back({{dtype, smaller()}});
    }
    while (script_.stages.size() < stages) add();
    return script_;
  }

 private:
  template <typename T>
  T pick(std::vector<T> choices) {
    return choices[random_() % choices.size()];
  }

  // A shape that broadcasts to the whole one.
  Shape smaller() {
    Shape shape = shape_;
    for (int64_t& extent : shape) extent = random_() % 2 == 0 ? 1 : extent;
    if (random_() % 3 == 0) shape.erase(shape.begin());
    return shape;
  }

  // A variable that has a value; with `whole`, of the full shape.
  std::optional<size_t> readable(DType dtype, bool whole) {
    std::vector<size_t> found;
    for (size_t i = 0; i < script_.variables.size(); ++i) {
      const Variable& variable = script_.variables[i];
      if (variable.type.dtype != dtype || (whole && variable.type.shape != shape_)) continue;
      if (!variable.temporary || written_.count(i) != 0) found.push_back(i);
    }
    return found.empty() ? std::nullopt : std::optional(pick(found));
  }

  void add() {
    const size_t output = random_() % script_.variables.size();
    const TensorType& type = script_.variables[output].type;
    const bool whole = type.shape == shape_;
    // Small outputs are rare, since each ends a group, and only read small inputs.
    if (!whole && random_() % 4 != 0) return;
    const auto source = [&](DType dtype) {
      return whole ? readable(dtype, false) : std::optional<size_t>(output);
    };
    const bool floats = is_float(type.dtype);
    const size_t kind = random_() % 24;
    if (kind == 0) return push({"barrier", {}, 0});
    if (kind == 1 && whole && floats) {
      if (const auto input = readable(type.dtype, true)) push({"softmax", {*input}, output});
      return;
    }
    if (kind == 2 && whole) {
      if (const auto input = readable(type.dtype, true)) push({"copy", {*input}, output});
      return;
    }
    if (kind == 3) return push({"fill", {}, output, {{"value", int64_t(random_() % 5)}}});
    if (kind < 8 && whole) {
      const DType from = pick<DType>(
          {DType::f32, DType::s32, DType::u8, DType::f64, DType::f16, DType::bf16, DType::s16});
      if (const auto input = readable(from, false)) push({"cast", {*input}, output});
      return;
    }
    const auto a = source(type.dtype);
    const auto b = source(type.dtype);
    if (!a || !b) return;
    if (kind < 16) {
      const char* name = pick<const char*>({"add", "sub", "mul", "min", "max"});
      return push({text("elementwise_", name), {*a, *b}, output});
    }
    if (kind < 18 && floats) {
      return push({expression(), {*a, *b}, output, {{"t", 0.7}}});
    }
    const auto number = [&] { return ParamValue(int64_t(random_() % 4)); };
    if (kind < 20) return push({"scalar_mul", {*a}, output, {{"scalar", number()}}});
    if (kind < 21) return push({"clamp", {*a}, output, {{"max", number()}}});
    if (kind < 22) return push({"relu", {*a}, output, {{"slope", number()}}});
    push({pick<const char*>({floats ? "sigmoid" : "abs", "neg", "abs"}), {*a}, output});
  }

  void push(Choice choice) {
    if (choice.kernel != "barrier") written_.insert(choice.output);
    script_.stages.push_back(std::move(choice));
  }

  std::mt19937 random_;
  Shape shape_;
  Script script_;
  std::set<size_t> written_;
};

// The bytes of all buffers after two runs.
std::vector<std::vector<std::byte>> run_twice(const Script& script, bool fuse, size_t* launches) {
  std::mt19937_64 random(7);
  std::vector<BufferPtr> buffers;
  for (const Variable& variable : script.variables) {
    const std::vector<std::byte> content = to_bytes(random_tensor(variable.type, random));
    buffers.push_back(variable.temporary ? temporary(variable.type.dtype, variable.type.shape)
                                         : buffer_of_bytes(variable.type, content));
  }
  TestPipeline pipeline;
  for (const Choice& choice : script.stages) {
    std::vector<BufferPtr> inputs;
    for (size_t input : choice.inputs) inputs.push_back(buffers[input]);
    if (choice.kernel == "barrier") {
      pipeline.barrier();
    } else if (choice.kernel == "copy") {
      pipeline.copy(inputs.front(), buffers[choice.output]);
    } else {
      pipeline.add(choice.kernel, inputs, buffers[choice.output], choice.params);
    }
  }
  const PipelinePlan plan = pipeline.plan(fuse);
  *launches = plan.nodes().size();
  TestPipeline::run(plan);
  std::vector<std::vector<std::byte>> result;
  // A read between the runs makes the second run write to fresh memory.
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (script.variables[i].temporary) continue;
      result.push_back(engine().runtime().read_now(buffers[i]));
    }
    if (round == 0) TestPipeline::run(plan);
  }
  return result;
}

std::string describe(const Script& script) {
  std::string result;
  for (size_t i = 0; i < script.variables.size(); ++i) {
    const Variable& variable = script.variables[i];
    result +=
        text("  ", i, ": ", to_string(variable.type), variable.temporary ? " temporary" : "", "\n");
  }
  for (const Choice& choice : script.stages) {
    result += "  " + choice.kernel;
    for (size_t input : choice.inputs) result += text(" ", input);
    result += text(" -> ", choice.output, "\n");
  }
  return result;
}

}  // namespace

TEST_CASE("random pipelines give the same bytes fused and not") {
  size_t fused_launches = 0;
  size_t all_launches = 0;
  const unsigned rounds = quick() ? 2 : 6;
  for (unsigned seed = 1; seed <= rounds; ++seed) {
    // The second shape takes several work-groups, whose bounds split rows.
    const Shape shape = seed % 2 == 0 && !quick() ? Shape{7, 33, 41} : Shape{2, 3, 5};
    const Script script = Generator(seed).make(shape, 24);
    INFO("seed ", seed, "\n", describe(script));
    size_t launches = 0;
    size_t unfused_launches = 0;
    const auto expected = run_twice(script, false, &unfused_launches);
    const auto got = run_twice(script, true, &launches);
    REQUIRE(got.size() == expected.size());
    for (size_t i = 0; i < got.size(); ++i) CHECK_MESSAGE(got[i] == expected[i], "buffer ", i);
    fused_launches += launches;
    all_launches += unfused_launches;
  }
  CHECK(2 * fused_launches < all_launches + all_launches / 2);
}
