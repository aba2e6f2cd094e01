// Weights of TF.js models: types, files, and errors.
#include "model/import/tfjs/weights.hpp"

#include "model/import/tfjs/cases.hpp"
#include "model/import/tfjs/import.hpp"
#include "model/import/tfjs/small_model.hpp"

namespace dala::test::tfjs {
namespace {

using model::ElementType;
using model::Graph;
using model::Model;

// The values of a weight after import.
std::vector<double> weight_values(const TfjsWriter& writer, ElementType type) {
  const TemporaryFolder folder;
  writer.write(folder);
  const Graph graph = model::tfjs::import(bytes_of(writer.json()), folder.str());
  for (const auto& [id, tensor] : graph.constants) {
    if (graph.name_of(id) != "w") continue;
    CHECK(tensor->type == type);
    return tensor->numbers();
  }
  return {};
}

TfjsWriter with_weight(const std::string& dtype, const std::string& bytes, int64_t count,
                       const std::string& quantization = "") {
  TfjsWriter writer;
  writer.weight("w", {count}, dtype, bytes, quantization);
  return writer.node("Identity", "y", {"w"});
}

}  // namespace

TEST_CASE("TF.js weights of every type") {
  const auto halves = std::string("\x00\x3e\x00\xc0", 4);
  CHECK(weight_values(with_weight("float32", std::string("\0\0\x80\x3f\0\0\0\xc0", 8), 2),
                      ElementType::f32) == std::vector<double>{1, -2});
  CHECK(weight_values(with_weight("int32", std::string("\5\0\0\0\xff\xff\xff\xff", 8), 2),
                      ElementType::i32) == std::vector<double>{5, -1});
  CHECK(weight_values(with_weight("uint8", "\x01\xff", 2), ElementType::u8) ==
        std::vector<double>{1, 255});
  CHECK(weight_values(with_weight("bool", std::string("\0\x02", 2), 2), ElementType::boolean) ==
        std::vector<double>{0, 1});
  CHECK(weight_values(with_weight("float16", halves, 2), ElementType::f32) ==
        std::vector<double>{1.5, -2});
  CHECK(weight_values(with_weight("float32", halves, 2, "{\"dtype\":\"float16\"}"),
                      ElementType::f32) == std::vector<double>{1.5, -2});
  CHECK(weight_values(with_weight("float32", std::string("\0\xff", 2), 2,
                                  "{\"dtype\":\"uint8\",\"scale\":0.5,\"min\":-2}"),
                      ElementType::f32) == std::vector<double>{-2, 125.5});
  CHECK(weight_values(with_weight("float32", std::string("\1\0\0\1", 4), 2,
                                  "{\"dtype\":\"uint16\",\"scale\":0.25,\"min\":1}"),
                      ElementType::f32) == std::vector<double>{1.25, 65});
  CHECK(weight_values(with_weight("int32", std::string("\0\3", 2), 2,
                                  "{\"dtype\":\"uint8\",\"scale\":0.5,\"min\":-2}"),
                      ElementType::i32) == std::vector<double>{-2, 0});
}

TEST_CASE("weights span files, groups and subfolders") {
  TfjsWriter writer;
  writer.weight<float>("w", {3}, {1.5F, 2.5F, 3.5F}).node("Identity", "y", {"w"});
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "inner");
  folder.write("group1-shard1of3", writer.bytes().substr(0, 5));
  folder.write("inner/empty", "");
  folder.write("inner/rest", writer.bytes().substr(5));
  const std::string json = writer.json("\"group1-shard1of3\",\"inner/empty\",\"./inner/rest\"");
  const auto model = Model::load(engine(), bytes_of(json), folder.str());
  CHECK(read<float>(model->predict_now({})[0]) == std::vector<float>{1.5F, 2.5F, 3.5F});
}

TEST_CASE("errors of invalid TF.js weights") {
  const TemporaryFolder folder;
  const TfjsWriter writer = small_model();
  CHECK(problem_of(writer.json(), "") ==
        "invalid_model: a TF.js model with weight files cannot be loaded from bytes; pass the path "
        "of its model.json");
  CHECK(problem_of(writer.json(), folder.str()) ==
        "invalid_model: the weight file \"weights.bin\" does not exist in " + folder.str());
  folder.write("weights.bin", "12345");
  CHECK(problem_of(writer.json(), folder.str()) ==
        "invalid_model: the model needs 4 bytes of weights, weights.bin has 5");
  folder.write("weights.bin", "123");
  CHECK(problem_of(writer.json("\"weights.bin\",\"weights.bin\",\"weights.bin\""), folder.str()) ==
        "invalid_model: the model needs 4 bytes of weights, weights.bin, weights.bin, weights.bin "
        "have 9");
  CHECK(problem_of(writer.json("\".\""), folder.str()).find("does not exist") != std::string::npos);

  const std::string outside = folder.str() + "_outside";
  std::ofstream(outside, std::ios::binary) << "1234";
  const std::string name = std::filesystem::path(outside).filename().string();
  std::filesystem::create_symlink(outside, folder / "link");
  for (const std::string& path :
       {"../" + name, outside, std::string("link"), "inner/../../" + name, std::string()}) {
    CHECK(problem_of(writer.json("\"" + path + "\""), folder.str()) ==
          "invalid_model: the weight file \"" + path + "\" is not inside the model's folder");
  }
  std::filesystem::remove(outside);

  CHECK(problem_of(with_weight("string", "abcd", 1)) ==
        "unsupported_op: weight \"w\" has the type \"string\", which is not supported");
  CHECK(problem_of(with_weight("float32", "a", 1, "{\"dtype\":\"int4\"}")) ==
        "invalid_model: weight \"w\" is quantized as \"int4\", expected uint8, uint16 or float16");
  CHECK(problem_of(with_weight("float32", "a", 1, "{\"dtype\":\"uint8\",\"min\":0}")) ==
        "invalid_model: weight \"w\"'s quantization has no \"scale\"");
  CHECK(problem_of(with_weight("bool", "a", 1, "{\"dtype\":\"uint8\"}")) ==
        "invalid_model: weight \"w\" is quantized, but its type is neither float32 nor int32");
  TfjsWriter absurd;
  absurd.weight("w", {int64_t{1} << 40, int64_t{1} << 40}, "float32", "abcd");
  CHECK(problem_of(absurd.node("Identity", "y", {"w"})) ==
        "invalid_model: weight \"w\": a shape of {1099511627776, 1099511627776} exceeds 2^62 "
        "bytes");
  CHECK(problem_of(with_weight("float32", "abcd", -1)) ==
        "invalid_model: weight \"w\": a shape has dimensions of 0 or more, got {-1}");
  CHECK(problem_of(with_weight("float32", "abcd", int64_t{1} << 40)) ==
        "invalid_model: the model needs 4398046511104 bytes of weights, weights.bin has 4");
  TfjsWriter twice = with_weight("float32", "abcd", 1);
  twice.weight("w", {1}, "float32", "abcd");
  CHECK(problem_of(twice) == "invalid_model: two nodes have the name \"w\"");
}

}  // namespace dala::test::tfjs
