// Loops and branches of TF.js in both generations, against loops on the host.
#include "model/import/tfjs/control_flow.hpp"

#include <doctest/doctest.h>

#include "model/import/tfjs/small_model.hpp"

namespace dala::test::tfjs {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<int32_t>;

std::string outputs(const std::vector<std::string>& names) {
  std::vector<std::string> ports;
  for (const std::string& each : names) {
    ports.push_back(text("\"", each, "\":{\"name\":\"", each, "\"}"));
  }
  return "{\"outputs\":{" + join(ports, ",") + "}}";
}

std::shared_ptr<model::Model> load(const TfjsWriter& writer) {
  const TemporaryFolder folder;
  return model::Model::load_file(engine(), writer.write(folder));
}

const std::string kFrame = word("frame_name", "frame");

// One variable of a loop: `<name>_exit` after it, `<name>_in` in its body, which computes
// `<name>_next`.
void variable(TfjsWriter& writer, const std::string& name, const std::string& initial,
              const std::string& frame = kFrame, const std::string& condition = "cond") {
  writer.node("Enter", name + "_enter", {initial}, {frame});
  writer.node("Merge", name + "_merge", {name + "_enter", name + "_back"});
  writer.node("Switch", name + "_switch", {name + "_merge", condition});
  writer.node("Identity", name + "_in", {name + "_switch:1"});
  writer.node("NextIteration", name + "_back", {name + "_next"});
  writer.node("Exit", name + "_exit", {name + "_switch"});
}

// x = x * step + i for i from 0 below n.
TfjsWriter counting(bool known) {
  TfjsWriter writer;
  writer.placeholder("x", {2});
  if (known) {
    writer.weight<int32_t>("n", {}, {4});
  } else {
    writer.placeholder("n", {}, "DT_INT32");
  }
  writer.weight<int32_t>("zero", {}, {0}).weight<int32_t>("one", {}, {1});
  writer.weight<float>("two", {}, {2});
  writer.node("Enter", "n_in", {"n"}, {kFrame, truth("is_constant", true)});
  writer.node("Enter", "step", {"two"}, {kFrame, truth("is_constant", true)});
  variable(writer, "i", "zero");
  variable(writer, "x", "x");
  writer.node("Less", "less", {"i_merge", "n_in"}).node("LoopCond", "cond", {"less"});
  writer.node("AddV2", "i_next", {"i_in", "one"});
  writer.node("Cast", "i_real", {"i_in"}, {kind("DstT", "DT_FLOAT")});
  writer.node("Mul", "twice", {"x_in", "step"}).node("AddV2", "x_next", {"twice", "i_real"});
  return writer.signature(outputs({"x_exit", "i_exit"}));
}

Floats counted(Floats x, int n) {
  for (int i = 0; i < n; ++i) {
    for (float& each : x) each = 2 * each + static_cast<float>(i);
  }
  return x;
}

}  // namespace

TEST_CASE("TF.js: a loop of Enter, Merge, Switch, NextIteration and Exit") {
  const auto unrolled = load(counting(true));
  const auto results = unrolled->predict_now({buffer<float>({1, -3}, {2})});
  CHECK(read<float>(results[0]) == counted({1, -3}, 4));
  CHECK(read<int32_t>(results[1]) == Integers{4});
  const auto stepwise = load(counting(false));
  for (int n : {0, 1, 7}) {
    const auto some =
        stepwise->predict_now({buffer<float>({1, -3}, {2}), buffer<int32_t>({n}, {})});
    CHECK(read<float>(some[0]) == counted({1, -3}, n));
    CHECK(read<int32_t>(some[1]) == Integers{n});
  }
}

// sum over i < 3 of the sum over j < i of x: the inner loop captures from the outer one.
TEST_CASE("TF.js: a loop inside of a loop") {
  TfjsWriter writer;
  writer.placeholder("x", {2});
  writer.weight<int32_t>("zero", {}, {0}).weight<int32_t>("one", {}, {1});
  writer.weight<int32_t>("three", {}, {3}).weight<float>("none", {2}, {0, 0});
  variable(writer, "i", "zero");
  variable(writer, "sum", "none");
  writer.node("Less", "less", {"i_merge", "three"}).node("LoopCond", "cond", {"less"});
  writer.node("AddV2", "i_next", {"i_in", "one"});
  const std::string inner = word("frame_name", "inner");
  writer.node("Enter", "x_outer", {"x"}, {kFrame, truth("is_constant", true)});
  writer.node("Enter", "x_inner", {"x_outer"}, {inner, truth("is_constant", true)});
  writer.node("Enter", "i_limit", {"i_in"}, {inner, truth("is_constant", true)});
  variable(writer, "j", "zero", inner, "inner_cond");
  variable(writer, "part", "sum_in", inner, "inner_cond");
  writer.node("Less", "inner_less", {"j_merge", "i_limit"});
  writer.node("LoopCond", "inner_cond", {"inner_less"});
  writer.node("AddV2", "j_next", {"j_in", "one"});
  writer.node("AddV2", "part_next", {"part_in", "x_inner"});
  writer.node("Identity", "sum_next", {"part_exit"});
  writer.signature(outputs({"sum_exit"}));
  const auto results = load(writer)->predict_now({buffer<float>({1, 5}, {2})});
  CHECK(read<float>(results[0]) == Floats{3, 15});
}

TEST_CASE(
    "TF.js: branches of Switch and Merge, with a constant, a captured value and two results") {
  TfjsWriter writer;
  writer.placeholder("x", {2}).placeholder("yes", {}, "DT_BOOL");
  writer.weight<float>("nine", {2}, {9, 9});
  writer.node("Neg", "outer", {"x"});
  writer.node("Switch", "fork", {"x", "yes"}).node("Switch", "outer_fork", {"outer", "yes"});
  writer.node("Mul", "square", {"fork:1", "fork:1"});
  writer.node("AddV2", "moved", {"fork", "outer_fork"});
  writer.node("Merge", "first", {"moved", "square"});
  // The true side first, and a constant on the other.
  writer.node("AddV2", "both", {"square", "outer_fork:1"});
  writer.node("Merge", "second", {"both", "nine"});
  writer.node("AddV2", "third", {"first", "second"});
  // A branch of the same condition after it.
  writer.node("Switch", "again", {"third", "yes"});
  writer.node("Neg", "negative", {"again"}).node("Merge", "fourth", {"negative", "again:1"});
  writer.signature(outputs({"first", "second", "fourth"}));
  const auto model = load(writer);
  const auto yes = model->predict_now({buffer<float>({2, 3}, {2}), buffer<uint8_t>({1}, {})});
  CHECK(read<float>(yes[0]) == Floats{4, 9});
  CHECK(read<float>(yes[1]) == Floats{2, 6});
  CHECK(read<float>(yes[2]) == Floats{6, 15});
  const auto no = model->predict_now({buffer<float>({2, 3}, {2}), buffer<uint8_t>({0}, {})});
  CHECK(read<float>(no[0]) == Floats{0, 0});
  CHECK(read<float>(no[1]) == Floats{9, 9});
  CHECK(read<float>(no[2]) == Floats{-9, -9});
}

TEST_CASE("TF.js: branches inside of branches") {
  TfjsWriter writer;
  writer.placeholder("x", {1}).placeholder("a", {}, "DT_BOOL").placeholder("b", {}, "DT_BOOL");
  writer.weight<float>("ten", {1}, {10}).weight<float>("one", {1}, {1});
  writer.node("Switch", "x_a", {"x", "a"}).node("Switch", "b_a", {"b", "a"});
  writer.node("Switch", "x_ab", {"x_a:1", "b_a:1"});
  writer.node("Mul", "both", {"x_ab:1", "ten"}).node("AddV2", "only_a", {"x_ab", "one"});
  writer.node("Merge", "inner", {"only_a", "both"});
  writer.node("Neg", "neither", {"x_a"}).node("Merge", "y", {"neither", "inner"});
  writer.signature(outputs({"y"}));
  const auto model = load(writer);
  for (uint8_t a : {0, 1}) {
    for (uint8_t b : {0, 1}) {
      const auto results = model->predict_now(
          {buffer<float>({3}, {1}), buffer<uint8_t>({a}, {}), buffer<uint8_t>({b}, {})});
      CHECK(read<float>(results[0])[0] == (a == 0 ? -3.0F : b == 0 ? 4.0F : 30.0F));
    }
  }
}

TEST_CASE("TF.js: While and If with functions, whose outputs have names") {
  for (const char* stateless : {"", "Stateless"}) {
    TfjsWriter less;
    less.node("Less", "less", {"i", "n"});
    TfjsWriter body;
    body.weight<int32_t>("body/one", {}, {1}).weight<int32_t>("body/k", {}, {2});
    body.node("AddV2", "add", {"i", "body/one:output:0"});
    body.node("TopKV2", "top", {"x", "body/k:output:0"}, {truth("sorted", true)});
    body.node("Cast", "cast", {"top:indices:0"}, {kind("DstT", "DT_FLOAT")});
    body.node("AddV2", "sum", {"top:values:0", "cast:y:0"});
    TfjsWriter keep;
    keep.node("Identity", "same", {"x"});
    TfjsWriter negate;
    negate.node("Neg", "neg", {"x"});
    TfjsWriter writer;
    writer.placeholder("x", {2}).placeholder("n", {}, "DT_INT32");
    writer.weight<int32_t>("zero", {}, {0}).weight<int32_t>("two", {}, {2});
    writer.function("less_fn", {"i", "n", "x"}, {{"out", "less:z:0"}}, less);
    writer.function("body_fn", {"i", "n", "x"}, {{"a", "add:z:0"}, {"b", "n"}, {"c", "sum:z:0"}},
                    body);
    writer.function("keep_fn", {"x"}, {{"out", "same:output:0"}}, keep);
    writer.function("negate_fn", {"x"}, {{"out", "neg:y:0"}}, negate);
    writer.node(text(stateless, "While"), "loop", {"zero", "n", "x"},
                {called("cond", "less_fn"), called("body", "body_fn")});
    writer.node("Less", "few", {"n", "two"});
    writer.node(text(stateless, "If"), "branch", {"few", "loop:2"},
                {called("then_branch", "keep_fn"), called("else_branch", "negate_fn")});
    writer.signature(outputs({"branch"}));
    const auto model = load(writer);
    for (int n : {0, 1, 2, 3}) {
      Floats x{5, 7.5F};
      for (int i = 0; i < n; ++i) {
        const bool first = x[0] >= x[1];
        const Floats next{first ? x[0] : x[1] + 1, first ? x[1] + 1 : x[0]};
        x = next;
      }
      if (n >= 2) x = {-x[0], -x[1]};
      const auto results =
          model->predict_now({buffer<float>({5, 7.5F}, {2}), buffer<int32_t>({n}, {})});
      CHECK(read<float>(results[0]) == x);
    }
  }
}

// y[i] = x[n - 1 - i], written one by one.
TEST_CASE("TF.js: arrays in a loop") {
  TfjsWriter writer;
  writer.placeholder("x", {-1, 2});
  writer.weight<int32_t>("zero", {}, {0}).weight<int32_t>("one", {}, {1});
  writer.node("Shape", "shape", {"x"}, {kind("T", "DT_FLOAT")});
  writer.weight<int32_t>("first", {1}, {0}).weight<int32_t>("second", {1}, {1});
  writer.node("StridedSlice", "n", {"shape", "first", "second", "second"},
              {whole("shrink_axis_mask", 1)});
  writer.node("Range", "all", {"zero", "n", "one"}, {kind("Tidx", "DT_INT32")});
  writer.node("TensorArrayV3", "from", {"n"}, {kind("dtype", "DT_FLOAT")});
  writer.node("TensorArrayScatterV3", "filled", {"from", "all", "x", "from:1"});
  writer.node("TensorArrayV3", "to", {"n"}, {kind("dtype", "DT_FLOAT")});
  writer.node("Enter", "n_in", {"n"}, {kFrame, truth("is_constant", true)});
  writer.node("Enter", "from_in", {"from"}, {kFrame, truth("is_constant", true)});
  writer.node("Enter", "filled_in", {"filled"}, {kFrame, truth("is_constant", true)});
  writer.node("Enter", "to_in", {"to"}, {kFrame, truth("is_constant", true)});
  variable(writer, "i", "zero");
  variable(writer, "flow", "to:1");
  writer.node("Less", "less", {"i_merge", "n_in"}).node("LoopCond", "cond", {"less"});
  writer.node("AddV2", "i_next", {"i_in", "one"});
  writer.node("Sub", "back", {"n_in", "i_next"});
  writer.node("TensorArrayReadV3", "item", {"from_in", "back", "filled_in"});
  writer.node("TensorArrayWriteV3", "flow_next", {"to_in", "i_in", "item", "flow_in"});
  writer.node("TensorArraySizeV3", "size", {"to", "flow_exit"});
  writer.node("TensorArrayGatherV3", "y", {"to", "all", "flow_exit"});
  writer.node("TensorArrayConcatV3", "flat", {"to", "flow_exit"});
  writer.signature(outputs({"y", "size", "flat", "flat:1"}));
  const auto results = load(writer)->predict_now({buffer<float>({1, 2, 3, 4, 5, 6}, {3, 2})});
  CHECK(results[0]->type().shape == Shape{3, 2});
  CHECK(read<float>(results[0]) == Floats{5, 6, 3, 4, 1, 2});
  CHECK(read<int32_t>(results[1]) == Integers{3});
  CHECK(results[2]->type().shape == Shape{6});
  CHECK(read<int32_t>(results[3]) == Integers{2, 2, 2});
}

TEST_CASE("TF.js: control flow that makes no sense is refused") {
  TfjsWriter alone;
  alone.placeholder("x", {2}).placeholder("c", {}, "DT_BOOL");
  alone.node("Switch", "fork", {"x", "c"}).node("Abs", "y", {"fork:1"});
  CHECK(problem_of(alone) ==
        "unsupported_op: the model uses an operator that is not supported: tfjs.Switch with no "
        "loop or branch around it (fork)");
  TfjsWriter apart;
  apart.placeholder("x", {2}).placeholder("z", {2}).node("Merge", "y", {"x", "z"});
  CHECK(problem_of(apart) ==
        "unsupported_op: the model uses an operator that is not supported: tfjs.Merge with inputs "
        "that no condition tells apart (y)");
  TfjsWriter open;
  open.placeholder("x", {2}).node("Exit", "y", {"x"});
  CHECK(problem_of(open) == "invalid_model: input 0 of Exit (y) is Placeholder, expected Switch");
  TfjsWriter missing;
  missing.placeholder("x", {2}).placeholder("c", {}, "DT_BOOL");
  missing.node("If", "y", {"c", "x"}, {called("then_branch", "f"), called("else_branch", "f")});
  CHECK(problem_of(missing) == "invalid_model: function \"f\" does not exist");
  TfjsWriter endless;
  TfjsWriter body;
  body.node("If", "again", {"c", "x"}, {called("then_branch", "f"), called("else_branch", "f")});
  endless.placeholder("x", {2}).placeholder("c", {}, "DT_BOOL");
  endless.function("f", {"x"}, {{"out", "again:output:0"}},
                   TfjsWriter(body).node("Abs", "c", {"x"}));
  endless.node("If", "y", {"c", "x"}, {called("then_branch", "f"), called("else_branch", "f")});
  const std::string problem = problem_of(endless);
  CHECK(problem.find("loops and branches are nested more than 64 deep") != std::string::npos);
}

}  // namespace dala::test::tfjs
