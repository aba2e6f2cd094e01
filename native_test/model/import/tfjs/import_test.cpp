// The TF.js importer: inputs and outputs, and errors for invalid models.
#include "model/import/tfjs/import.hpp"

#include <random>

#include "model/import/tfjs/cases.hpp"
#include "model/import/tfjs/small_model.hpp"

namespace dala::test::tfjs {
namespace {

using model::ElementType;
using model::Graph;
using model::Model;

}  // namespace

TEST_CASE("without a signature, inputs are placeholders and outputs are unused nodes") {
  TfjsWriter writer = small_model();
  writer.node("Shape", "shape", {"y"}).node("NoOp", "init", {"^y"});
  const TemporaryFolder folder;
  writer.write(folder);
  const Graph graph = model::tfjs::import(bytes_of(writer.json()), folder.str());
  CHECK(graph.producer == "dala tests");
  REQUIRE(graph.inputs.size() == 1);
  CHECK(graph.inputs[0].name == "x");
  REQUIRE(graph.inputs[0].shape->size() == 2);
  CHECK_FALSE((*graph.inputs[0].shape)[0].size.has_value());
  CHECK((*graph.inputs[0].shape)[1].size == 3);
  REQUIRE(graph.outputs.size() == 1);
  CHECK(graph.outputs[0].name == "shape");
  CHECK(graph.outputs[0].type == ElementType::i32);
  CHECK_FALSE(graph.outputs[0].shape.has_value());
}

TEST_CASE("outputs without a signature have the types of their nodes") {
  TfjsWriter writer;
  writer.placeholder("x", {4}).weight<int32_t>("k", {}, {2});
  writer.node("TopKV2", "top", {"x", "k"}, {kind("T", "DT_FLOAT")})
      .node("Greater", "more", {"x", "top"}, {kind("T", "DT_FLOAT")})
      .node("Cast", "cast", {"x"}, {kind("SrcT", "DT_FLOAT"), kind("DstT", "DT_INT64")})
      .node("Range", "range", {"k", "k", "k"}, {kind("Tidx", "DT_INT32")});
  writer.signature(
      "{\"outputs\":{\"top\":{\"name\":\"top\"},\"places\":{\"name\":\"top:1\"},\"more\":{"
      "\"name\":\"more\"},\"cast\":{\"name\":\"cast\"},\"range\":{\"name\":\"range\"}}}");
  const TemporaryFolder folder;
  writer.write(folder);
  const Graph graph = model::tfjs::import(bytes_of(writer.json()), folder.str());
  std::vector<ElementType> types;
  for (const model::Port& port : graph.outputs) types.push_back(port.type);
  CHECK(types == std::vector<ElementType>{ElementType::f32, ElementType::i32, ElementType::boolean,
                                          ElementType::i32, ElementType::i32});
}

TEST_CASE("a signature names inputs and outputs, in its order") {
  TfjsWriter writer;
  // Nodes come in any order, and nodes that no output needs may be of any type.
  writer.node("Sub", "difference", {"parts:1", "parts"})
      .node("Unpack", "parts", {"sum"}, {whole("num", 2), whole("axis", 0)})
      .node("AddV2", "sum", {"a", "b:0", "^difference"})
      .node("Mystery", "unused", {"a"})
      .placeholder("a", {2, 1}, "DT_INT32")
      .placeholder("b", {2, 1}, "DT_INT32");
  writer.signature(
      "{\"inputs\":{\"second\":{\"name\":\"b:0\",\"dtype\":\"DT_INT32\"},"
      "\"first\":{\"name\":\"a:0\"}},\"outputs\":{\"part:1\":{\"name\":\"parts:1\",\"dtype\":"
      "\"DT_INT32\",\"tensorShape\":{\"dim\":[{\"size\":\"1\"}]}},"
      "\"minus\":{\"name\":\"difference\",\"tensorShape\":{\"unknownRank\":true}}}}");
  const TemporaryFolder folder;
  const auto model = Model::load_file(engine(), writer.write(folder));
  REQUIRE(model->inputs().size() == 2);
  CHECK(model->inputs()[0].name == "second");
  CHECK(model->inputs()[1].name == "first");
  CHECK(model->inputs()[0].type == ElementType::i32);
  REQUIRE(model->outputs().size() == 2);
  CHECK(model->outputs()[0].name == "part:1");
  CHECK((*model->outputs()[0].shape)[0].size == 1);
  CHECK(model->outputs()[1].name == "minus");
  // Unknown rank in the file, inferred here.
  CHECK((*model->outputs()[1].shape)[0].size == 1);
  const auto outputs =
      model->predict_now({buffer<int32_t>({1, 2}, {2, 1}), buffer<int32_t>({30, 40}, {2, 1})});
  CHECK(read<int32_t>(outputs[0]) == std::vector<int32_t>{42});
  CHECK(read<int32_t>(outputs[1]) == std::vector<int32_t>{11});
}

TEST_CASE("older files have the signature in the metadata") {
  std::string json = small_model().json();
  json.insert(
      1, "\"userDefinedMetadata\":{\"signature\":{\"outputs\":{\"double\":{\"name\":\"y:0\"}}}},");
  const TemporaryFolder folder;
  folder.write("weights.bin", small_model().bytes());
  CHECK(model::tfjs::import(bytes_of(json), folder.str()).outputs[0].name == "double");
}

TEST_CASE("u8 inputs stay u8") {
  TfjsWriter writer;
  writer.placeholder("picture", {1, 1, 2, 3}, "DT_UINT8")
      .node("Cast", "y", {"picture"}, {kind("SrcT", "DT_UINT8"), kind("DstT", "DT_FLOAT")});
  const TemporaryFolder folder;
  const auto model = Model::load_file(engine(), writer.write(folder));
  const auto outputs =
      model->predict_now({buffer<uint8_t>({0, 1, 2, 253, 254, 255}, {1, 1, 2, 3})});
  CHECK(read<float>(outputs[0]) == std::vector<float>{0, 1, 2, 253, 254, 255});
}

TEST_CASE("errors of invalid TF.js graphs") {
  CHECK(problem_of("{}", "") ==
        "invalid_model: the file has no nodes: it is not a TF.js graph model");
  CHECK(problem_of("{\"modelTopology\":{\"node\":3}}", "") ==
        "invalid_model: the list of nodes is not a list");
  CHECK(problem_of("{\"modelTopology\":{\"node\":[{\"op\":\"Abs\"}]}}", "") ==
        "invalid_model: a node has no name or no operator");
  CHECK(problem_of("{\"modelTopology\":{\"node\":[]}}", "") ==
        "invalid_model: the graph has no outputs");
  CHECK(problem_of("{\"modelTopology\":{\"node\":[{\"name\":\"a\",\"op\":\"Range\"}]}}", "") ==
        "invalid_model: the file has no \"weightsManifest\"");
  CHECK(problem_of("{\"format\":\"layers-model\",\"modelTopology\":{}}", "") ==
        "invalid_model: the file has no nodes: it is not a TF.js graph model");
  CHECK(problem_of("{\"modelTopology\":{\"model_config\":{}}}", "") ==
        "invalid_model: the file has no \"weightsManifest\"");

  TfjsWriter cycle;
  cycle.node("Abs", "a", {"b"}).node("Abs", "b", {"a"}).node("Abs", "c", {"b"});
  CHECK(problem_of(cycle) ==
        "invalid_model: Abs (a) needs \"b\", which depends on it: the graph has a cycle");
  TfjsWriter absent;
  absent.node("Abs", "a", {"b"});
  CHECK(problem_of(absent) == "invalid_model: Abs (a) needs \"b\", which does not exist");
  TfjsWriter second = small_model();
  second.node("Abs", "a", {"y:1"});
  CHECK(problem_of(second) == "invalid_model: Abs (a) needs output 1 of Mul (y), which has 1");
  CHECK(problem_of(small_model().signature("{\"outputs\":{\"z\":{\"name\":\"zz:0\"}}}")) ==
        "invalid_model: node \"zz\" does not exist");
  CHECK(problem_of(small_model().signature("{\"inputs\":{\"z\":{\"name\":\"y:0\"}}}")) ==
        "invalid_model: the input \"z\" is not a placeholder");
  CHECK(problem_of(small_model().signature(
            "{\"inputs\":{\"p\":{\"name\":\"x\"},\"q\":{\"name\":\"x\"}}}")) ==
        "invalid_model: \"q\" is an input more than once");
  CHECK(problem_of(small_model().node("Const", "lost", {}).node("Abs", "a", {"lost"})) ==
        "invalid_model: weight \"lost\" does not exist");
  CHECK(problem_of(small_model().node("Conv2D", "c", {"x", "two"}, {word("padding", "ODD")})) ==
        "invalid_model: Conv2D (c): attribute padding is \"ODD\", expected SAME, VALID or "
        "EXPLICIT");
  CHECK(problem_of(small_model().node("Unpack", "u", {"x"}, {whole("num", 1 << 30)})) ==
        "invalid_model: Unpack (u): attribute num is 1073741824, expected 1 to 1024");
  CHECK(problem_of(small_model().node("Mul", "m", {"x"})) ==
        "invalid_model: Mul (m): input 1 is missing");
}

TEST_CASE("unsupported TF.js operators are reported together") {
  // A cycle has no topological order.
  TfjsWriter loop = small_model();
  loop.node("Fancy", "a", {"y", "b"}).node("Odd", "b", {"a"}).node("Abs", "c", {"b"});
  CHECK(problem_of(loop) ==
        "unsupported_op: the model uses operators that are not supported: tfjs.Fancy (a); tfjs.Odd "
        "(b)");

  TfjsWriter ways = small_model();
  ways.node("Transpose", "t", {"y", "shape"})
      .node("Shape", "shape", {"y"})
      .node("Unpack", "u", {"t"}, {whole("num", 2)})
      .node("MatMul", "m", {"u:1", "two"}, {words("fused_ops", {"Gelu"})});
  CHECK(problem_of(ways) ==
        "unsupported_op: the model uses operators that are not supported: tfjs.MatMul with a fused "
        "Gelu (m); tfjs.Transpose with a permutation that is not a constant (t)");
}

TEST_CASE("a corrupted model.json is a model or an error") {
  TfjsWriter writer = small_model();
  writer.weight<int32_t>("shape", {2}, {-1, 1})
      .node("Reshape", "r", {"y", "shape"})
      .node("Unpack", "u", {"r"}, {whole("num", 1), whole("axis", 1)})
      .node("Softmax", "s", {"u:0"});
  writer.signature("{\"outputs\":{\"s\":{\"name\":\"s:0\"}}}");
  const TemporaryFolder folder;
  Model::load_file(engine(), writer.write(folder));
  const std::string json = writer.json();
  const auto outcome = [&](const std::string& text) {
    const auto error = error_of([&] { Model::load(engine(), bytes_of(text), folder.str()); });
    return error ? to_string(error->reason) : "";
  };
  for (size_t size = 0; size < json.size(); ++size) {
    CAPTURE(size);
    CHECK(std::string(outcome(json.substr(0, size))) == "invalid_model");
  }
  std::mt19937 random(7);
  int models = 0;
  for (int round = 0; round < (quick() ? 300 : 5000); ++round) {
    std::string changed = json;
    changed[random() % changed.size()] = static_cast<char>(random());
    models += outcome(changed)[0] == '\0' ? 1 : 0;
  }
  CHECK(models > 0);
}

}  // namespace dala::test::tfjs
