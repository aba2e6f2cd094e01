// The ONNX importer: the graphs of valid files, and the errors for invalid ones.
#include "model/import/onnx/import.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "model/import/onnx/weights.hpp"
#include "model/model.hpp"
#include "support/engine_fixture.hpp"
#include "support/onnx_writer.hpp"

namespace dala::test {
namespace {

using model::ElementType;
using model::Graph;

Graph imported(const std::string& file, const std::string& folder = "") {
  return model::onnx::import(as_bytes(file), folder);
}

std::string problem_of(const std::string& file, const std::string& folder = "") {
  return failure([&] { imported(file, folder); });
}

OnnxWriter small_model() {
  OnnxWriter writer;
  writer.input("x", {"batch", 3}).output("y", {"batch", 3});
  writer.constant<float>("two", ElementType::f32, {1}, {2});
  writer.node("Mul", {"x", "two"}, {"y"});
  return writer;
}

// The values of a TensorProto.
std::vector<double> tensor_values(const std::string& proto) {
  return model::onnx::read_tensor(as_bytes(proto), "").tensor->numbers();
}

}  // namespace

TEST_CASE("an ONNX file becomes a graph") {
  const Graph graph = imported(small_model().str());
  CHECK(graph.opset == 17);
  CHECK(graph.producer == "dala tests");
  REQUIRE(graph.inputs.size() == 1);
  CHECK(graph.inputs[0].name == "x");
  REQUIRE(graph.inputs[0].shape->size() == 2);
  CHECK((*graph.inputs[0].shape)[0].name == "batch");
  CHECK((*graph.inputs[0].shape)[1].size == 3);
  REQUIRE(graph.nodes.size() == 1);
  CHECK(describe(graph.nodes[0]) == "Mul (Mul_1)");
  CHECK(graph.constants.size() == 1);
}

TEST_CASE("initializers that are also listed as inputs are not inputs") {
  OnnxWriter writer = small_model();
  writer.input("two", {1});
  CHECK(imported(writer.str()).inputs.size() == 1);
}

TEST_CASE("tensors as raw bytes and as lists of every type") {
  const auto tensor = [](ElementType type, int64_t count) {
    ProtoWriter writer;
    writer.number(1, count).number(2, static_cast<int64_t>(type)).bytes(8, "t");
    return writer;
  };
  CHECK(tensor_values(tensor(ElementType::f32, 2).real(4, 1.5F).real(4, -2.0F).str()) ==
        std::vector<double>{1.5, -2});
  CHECK(tensor_values(tensor(ElementType::i64, 2).number(7, 5).number(7, -7).str()) ==
        std::vector<double>{5, -7});
  CHECK(tensor_values(tensor(ElementType::i8, 2).bytes(9, std::string("\x80\x7f", 2)).str()) ==
        std::vector<double>{-128, 127});
  CHECK(tensor_values(tensor(ElementType::boolean, 2).number(5, 0).number(5, 1).str()) ==
        std::vector<double>{0, 1});
  // 1.5 and the smallest denormal, as halves.
  CHECK(tensor_values(
            tensor(ElementType::f16, 2).bytes(9, std::string("\x00\x3e\x01\x00", 4)).str()) ==
        std::vector<double>{1.5, 0x1p-24});
  CHECK(tensor_values(tensor(ElementType::bf16, 1).bytes(9, std::string("\xc0\x3f", 2)).str()) ==
        std::vector<double>{1.5});
  CHECK(tensor_values(tensor(ElementType::u64, 1).number(11, -1).str()) ==
        std::vector<double>{18446744073709551615.0});
  // Packed: both values in one field.
  CHECK(tensor_values(tensor(ElementType::i32, 2).bytes(5, std::string("\x05\x96\x01", 3)).str()) ==
        std::vector<double>{5, 150});
}

TEST_CASE("nodes are put into topological order, and keep the order that they have") {
  OnnxWriter writer;
  writer.input("x", {2}).output("y");
  writer.node("Neg", {"b"}, {"y"}).node("Abs", {"x"}, {"a"}).node("Add", {"a", "x"}, {"b"});
  writer.node("Exp", {"x"}, {"unused"});
  std::vector<std::string> operators;
  for (const model::Node& node : imported(writer.str()).nodes) operators.push_back(node.op);
  CHECK(operators == std::vector<std::string>{"Abs", "Add", "Neg", "Exp"});
}

TEST_CASE("a Constant may be repeated with the same value only") {
  const auto writer = [](int64_t second) {
    OnnxWriter writer;
    writer.input("x", {2}).output("y");
    writer.node("Constant", {}, {"c"}, {attribute("value_int", int64_t{3})});
    writer.node("Constant", {}, {"c"}, {attribute("value_int", second)});
    writer.node("Add", {"x", "c"}, {"y"});
    return writer;
  };
  CHECK(imported(writer(3).str()).nodes.size() == 2);
  CHECK(problem_of(writer(4).str()) == "invalid_model: \"c\" is computed more than once");
}

TEST_CASE("nested graphs capture values of the graphs around them") {
  OnnxWriter inner;
  inner.output("z").node("Add", {"x", "w"}, {"z"});
  OnnxWriter other;
  other.output("w");
  OnnxWriter writer;
  writer.input("x", {2}).input("c", {1}, ElementType::boolean).output("y");
  writer.constant<float>("w", ElementType::f32, {2}, {1, 2});
  writer.node("If", {"c"}, {"y"},
              {attribute("then_branch", inner), attribute("else_branch", other)});
  const Graph graph = imported(writer.str());
  REQUIRE(graph.nodes.size() == 1);
  const model::Node& node = graph.nodes[0];
  REQUIRE(node.inputs.size() == 3);
  CHECK(graph.name_of(node.inputs[1]) == "x");
  CHECK(graph.name_of(node.inputs[2]) == "w");
  const auto& taken = *node.attributes.at("then_branch").graph;
  CHECK(taken.captures == std::vector<size_t>{1, 2});
  CHECK(taken.passed() == 0);
  CHECK(node.attributes.at("else_branch").graph->captures == std::vector<size_t>{2});
  OnnxWriter unknown;
  unknown.output("z").node("Abs", {"nowhere"}, {"z"});
  OnnxWriter broken;
  broken.input("c", {1}, ElementType::boolean).output("y");
  broken.node("If", {"c"}, {"y"},
              {attribute("then_branch", unknown), attribute("else_branch", unknown)});
  CHECK(problem_of(broken.str()) ==
        "invalid_model: If (If_1) needs \"nowhere\", which no earlier node computes");
}

TEST_CASE("errors of invalid ONNX files") {
  CHECK(problem_of("") == "invalid_model: the file has no graph: it is not an ONNX file");
  CHECK(problem_of("this is text") ==
        "invalid_model: the model has a field of the unknown wire type 4");
  CHECK(problem_of(OnnxWriter(99).output("y").node("Abs", {}, {"y"}).str()) ==
        "unsupported: the model uses operator set 99, supported are 1 to 25");

  OnnxWriter cycle;
  cycle.output("b").node("Abs", {"b"}, {"a"}).node("Abs", {"a"}, {"b"});
  CHECK(problem_of(cycle.str()) ==
        "invalid_model: Abs (Abs_2) needs \"a\", which depends on it: the graph has a cycle");

  CHECK(problem_of(OnnxWriter(5).input("x", {1}).output("y").node("Abs", {"x"}, {"y"}).str()) ==
        "unsupported: the model uses Abs (Abs_1) of operator set 5, which is supported from "
        "operator set 6 on");

  OnnxWriter missing;
  missing.output("b").node("Abs", {"a"}, {"b"});
  CHECK(problem_of(missing.str()) ==
        "invalid_model: Abs (Abs_1) needs \"a\", which no earlier node computes");

  OnnxWriter twice = small_model();
  twice.node("Abs", {"x"}, {"y"});
  CHECK(problem_of(twice.str()) == "invalid_model: \"y\" is computed more than once");

  OnnxWriter absent;
  absent.input("x", {1}).output("z").node("Abs", {"x"}, {"y"});
  CHECK(problem_of(absent.str()) == "invalid_model: no node computes the output \"z\"");

  OnnxWriter few = small_model();
  few.constant<float>("w", ElementType::f32, {1000, 1000}, {1, 2});
  CHECK(problem_of(few.str()) ==
        "invalid_model: tensor \"w\": its shape {1000, 1000} of f32 needs 4000000 bytes, the file "
        "has 8");

  OnnxWriter absurd = small_model();
  absurd.constant<float>("w", ElementType::f32, {int64_t{1} << 40, int64_t{1} << 40}, {1});
  CHECK(problem_of(absurd.str()) ==
        "invalid_model: tensor \"w\": a shape of {1099511627776, 1099511627776} exceeds 2^62 "
        "bytes");
}

TEST_CASE("external data is only read from inside the model's folder") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("dala_external_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder / "inner");
  std::ofstream(folder / "weights.bin", std::ios::binary) << std::string("\0\0\0\0\0\0\x80\x3f", 8);
  std::ofstream(folder.string() + "_outside", std::ios::binary) << std::string(8, 'x');

  const auto external = [](const std::string& location, int64_t offset, int64_t dim) {
    const auto entry = [](const std::string& key, const std::string& value) {
      return ProtoWriter().bytes(1, key).bytes(2, value).str();
    };
    OnnxWriter writer = small_model();
    writer.raw_constant(ProtoWriter()
                            .number(1, dim)
                            .number(2, 1)
                            .bytes(8, "w")
                            .bytes(13, entry("location", location))
                            .bytes(13, entry("offset", std::to_string(offset)))
                            .number(14, 1)
                            .str());
    return writer.str();
  };
  const std::string outside = folder.filename().string() + "_outside";
  const Graph graph = imported(external("weights.bin", 4, 1), folder.string());
  CHECK(graph.constants.size() == 2);
  for (const auto& [id, tensor] : graph.constants) {
    if (graph.name_of(id) == "w") CHECK(tensor->number(0) == 1);
  }
  CHECK(problem_of(external("../" + outside, 0, 1), folder.string()) ==
        "invalid_model: tensor \"w\": external data \"../" + outside +
            "\" is not inside the model's folder");
  CHECK(problem_of(external(folder.string() + "_outside", 0, 1), folder.string())
            .find("is not inside the model's folder") != std::string::npos);
  std::filesystem::create_symlink(folder.string() + "_outside", folder / "inner" / "link");
  CHECK(problem_of(external("inner/link", 0, 1), folder.string())
            .find("is not inside the model's folder") != std::string::npos);
  CHECK(problem_of(external("weights.bin", 0, 4), folder.string()) ==
        "invalid_model: tensor \"w\": external data \"weights.bin\" has 8 bytes, needed are 16 at "
        "offset 0");
  CHECK(problem_of(external("missing.bin", 0, 1), folder.string()) ==
        "invalid_model: tensor \"w\": external data \"missing.bin\" does not exist");
  CHECK(problem_of(external("weights.bin", 0, 1)) ==
        "invalid_model: tensor \"w\": its data is in another file, which a model loaded from bytes "
        "cannot refer to; load the model from its path");
  std::filesystem::remove_all(folder);
  std::filesystem::remove(folder.string() + "_outside");
}

}  // namespace dala::test
