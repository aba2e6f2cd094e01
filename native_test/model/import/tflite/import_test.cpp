// The TFLite importer: the graphs of valid files, and the errors for invalid ones.
#include "model/import/tflite/import.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "model/hostile.hpp"
#include "model/import/tflite/lite_model.hpp"

namespace dala::test {
namespace {

using model::ElementType;
using model::Graph;

constexpr int kAdd = 0;
constexpr int kConv2d = 3;
constexpr int kDequantize = 6;

FlatTable conv_options() { return FlatTable().byte(0, 0).integer(1, 1).integer(2, 1).byte(3, 3); }

Graph imported(const std::string& file) { return model::tflite::import(as_bytes(file)); }

std::string problem_of(const std::string& file) {
  return failure([&] { imported(file); });
}

// x + a constant that the caller describes.
TfliteWriter sum_with(const std::function<int(TfliteWriter&)>& constant,
                      const std::vector<int32_t>& shape) {
  TfliteWriter writer;
  const int x = writer.tensor("x", shape);
  const int c = constant(writer);
  const int y = writer.tensor("y", shape);
  return writer.op(kAdd, {x, c}, {y}).inputs({x}).outputs({y});
}

// The values of a constant after import.
std::vector<double> values_of(const std::function<int(TfliteWriter&)>& constant,
                              const std::vector<int32_t>& shape) {
  const Graph graph = imported(sum_with(constant, shape).str());
  REQUIRE(graph.constants.size() == 1);
  CHECK(graph.constants.begin()->second->type == ElementType::f32);
  return graph.constants.begin()->second->numbers();
}

// The levels of a sparse tensor: a size if dense, indices if sparse.
FlatTable dense_level(int size) { return FlatTable().byte(0, 0).integer(1, size); }

template <typename T>
FlatTable listed_level(int kind, const std::vector<T>& segments, const std::vector<T>& indices) {
  return FlatTable()
      .byte(0, 1)
      .byte(2, kind)
      .table(3, FlatTable().numbers(0, segments))
      .byte(4, kind)
      .table(5, FlatTable().numbers(0, indices));
}

FlatTable sparse(const std::vector<int32_t>& order, const std::vector<int32_t>& block_map,
                 const std::vector<FlatTable>& levels) {
  return FlatTable().numbers(0, order).numbers(1, block_map).tables(2, levels);
}

// A network with weights of several types, branches, windows and data movement.
std::string varied_model() {
  TfliteWriter writer;
  const int x = writer.tensor("x", {1, 4, 4, 2}, LiteType::u8, {{0.5F}, {10}});
  const int w =
      writer.constant<int8_t>({2, 1, 1, 2}, LiteType::i8, {1, 2, 3, 4}, {{0.5F, 0.25F}, {0, 0}, 0});
  const int b = writer.constant<int32_t>({2}, LiteType::i32, {8, 8}, {{0.25F, 0.125F}, {0, 0}, 0});
  const int c = writer.tensor("c", {1, 4, 4, 2}, LiteType::u8, {{0.25F}, {0}});
  const int half = writer.constant<uint16_t>({2}, LiteType::f16, {0x3c00, 0x4000});
  const int wide = writer.tensor("wide", {2});
  const int s = writer.tensor("s", {1, 4, 4, 2});
  const FlatTable levels =
      sparse({0, 1}, {}, {dense_level(2), listed_level<uint8_t>(3, {0, 1, 2}, {1, 0})});
  FlatTable described = TfliteWriter::described("sparse", {2, 2}, LiteType::f32);
  const int full =
      writer.constant_as(described.table(6, levels), FlatTable().data(0, std::vector<float>{5, 7}));
  const int rows = writer.tensor("rows", {16, 2});
  const int shape = writer.constant<int32_t>({2}, LiteType::i32, {1, 32});
  const int y = writer.tensor("y", {1, 32});
  writer.op(kConv2d, {x, w, b}, {c}, conv_options());
  writer.op(kDequantize, {half}, {wide});
  writer.op(kAdd, {c, wide}, {s});
  writer.op(9, {s, full}, {rows});
  writer.op(22, {rows, shape}, {y});
  return writer.inputs({x}).outputs({y}).str();
}

}  // namespace

TEST_CASE("a TFLite file becomes a graph") {
  TfliteWriter writer;
  const int x = writer.tensor("x", {1, 3});
  const int two = writer.constant<float>({1}, LiteType::f32, {2});
  const int y = writer.tensor("y", {1, 3});
  writer.op(18, {x, two}, {y}).inputs({x}).outputs({y});
  const Graph graph = imported(writer.str());
  CHECK(graph.opset == 19);
  CHECK(graph.producer == "dala tests");
  REQUIRE(graph.inputs.size() == 1);
  CHECK(graph.inputs[0].name == "x");
  CHECK((*graph.inputs[0].shape)[1].size == 3);
  REQUIRE(graph.nodes.size() == 1);
  CHECK(describe(graph.nodes[0]) == "Mul (y)");
}

TEST_CASE("free dimensions stay free") {
  TfliteWriter writer;
  const int x = writer.constant_as(
      TfliteWriter::described("x", {1, 3}, LiteType::f32).numbers(7, std::vector<int32_t>{-1, 3}),
      FlatTable());
  const int y = writer.tensor("y", {1, 3});
  writer.op(101, {x}, {y}).inputs({x}).outputs({y});
  const auto loaded = load_lite(writer.str());
  CHECK_FALSE((*loaded->inputs()[0].shape)[0].size);
  const LiteTensor given{{2, 3}, {-1, 2, -3, 4, -5, 6}};
  check_tensor(loaded->predict_now({lite_buffer(given)})[0], {{2, 3}, {1, 2, 3, 4, 5, 6}}, 0);
}

TEST_CASE("weights of every type become floats") {
  const auto plain = [](auto values, int type, const LiteScales& scales) {
    return [=](TfliteWriter& writer) { return writer.constant({2, 2}, type, values, scales); };
  };
  const std::vector<int32_t> shape{2, 2};
  // 1.5 and the smallest denormal, as halves.
  CHECK(values_of(plain(std::vector<uint16_t>{0x3e00, 1, 0, 0xbc00}, LiteType::f16, {}), shape) ==
        std::vector<double>{1.5, 0x1p-24, 0, -1});
  CHECK(values_of(plain(std::vector<uint8_t>{0, 10, 11, 255}, LiteType::u8, {{0.5F}, {10}}),
                  shape) == std::vector<double>{-5, 0, 0.5, 122.5});
  CHECK(values_of(plain(std::vector<int8_t>{-128, 1, 2, 127}, LiteType::i8, {{2}, {-1}}), shape) ==
        std::vector<double>{-254, 4, 6, 256});
  // One scale per index of an axis.
  const LiteScales rows{{0.5F, 2}, {0, 0}, 0};
  const LiteScales columns{{0.5F, 2}, {0, 1}, 1};
  CHECK(values_of(plain(std::vector<int8_t>{1, 2, 3, 4}, LiteType::i8, rows), shape) ==
        std::vector<double>{0.5, 1, 6, 8});
  CHECK(values_of(plain(std::vector<int8_t>{1, 2, 3, 4}, LiteType::i8, columns), shape) ==
        std::vector<double>{0.5, 2, 1.5, 6});
  CHECK(values_of(plain(std::vector<int32_t>{100, -7, 0, 1}, LiteType::i32, {{0.25F}, {0}}),
                  shape) == std::vector<double>{25, -1.75, 0, 0.25});
  // Two per byte, the first in the low nibble.
  CHECK(values_of(plain(std::vector<uint8_t>{0x7f, 0x81}, LiteType::i4, {{1}, {0}}), shape) ==
        std::vector<double>{-1, 7, 1, -8});
}

TEST_CASE("data after the flatbuffer is found by its offset") {
  const auto writer = [](uint64_t offset) {
    return sum_with(
        [&](TfliteWriter& file) {
          return file.constant_as(TfliteWriter::described("w", {1}, LiteType::f32),
                                  FlatTable().number(1, offset).number(2, uint64_t{4}));
        },
        {1});
  };
  const size_t size = writer(64).str().size();
  const float value = 2.5F;
  std::string file = writer(size).str();
  file.append(reinterpret_cast<const char*>(&value), sizeof(value));
  const Graph graph = imported(file);
  CHECK(graph.constants.begin()->second->numbers() == std::vector<double>{2.5});
  CHECK(problem_of(writer(size).str()).find("invalid_model: the file is truncated or damaged") ==
        0);
}

TEST_CASE("sparse weights become dense") {
  const auto values = [](const std::vector<int32_t>& shape, const FlatTable& sparsity,
                         const std::vector<float>& stored) {
    return values_of(
        [&](TfliteWriter& writer) {
          FlatTable table = TfliteWriter::described("sparse", shape, LiteType::f32);
          return writer.constant_as(table.table(6, sparsity), FlatTable().data(0, stored));
        },
        shape);
  };
  // Dense rows, sparse columns; the third row is empty.
  CHECK(values(
            {3, 3},
            sparse({0, 1}, {}, {dense_level(3), listed_level<uint8_t>(3, {0, 2, 3, 3}, {0, 2, 1})}),
            {1, 2, 3}) == std::vector<double>{1, 0, 2, 0, 3, 0, 0, 0, 0});
  // Columns first, with wider index types.
  CHECK(values({2, 3},
               sparse({1, 0}, {},
                      {dense_level(3), listed_level<uint16_t>(2, {0, 1, 1, 3}, {1, 0, 1})}),
               {1, 2, 3}) == std::vector<double>{0, 0, 2, 1, 0, 3});
  // Blocks of 2 by 2, of which only the bottom left one is stored.
  CHECK(values({4, 4},
               sparse({0, 1, 2, 3}, {0, 1},
                      {dense_level(2), listed_level<int32_t>(1, {0, 0, 1}, {0}), dense_level(2),
                       dense_level(2)}),
               {1, 2, 3, 4}) ==
        std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0, 0});

  const auto problem = [&](const FlatTable& sparsity) {
    return failure([&] { values({3, 3}, sparsity, {1, 2, 3}); });
  };
  CHECK(problem(sparse({0}, {}, {dense_level(3)})) ==
        "invalid_model: ADD (y): sparse tensor \"sparse\": 1 levels do not fit shape {3, 3}");
  CHECK(problem(sparse({0, 1}, {}, {dense_level(4), dense_level(3)})) ==
        "invalid_model: ADD (y): sparse tensor \"sparse\": a dense level has size 4, expected 3");
  CHECK(problem(sparse({0, 1}, {}, {dense_level(3), dense_level(3)})) ==
        "invalid_model: ADD (y): sparse tensor \"sparse\": value 3 does not exist, there are 3 "
        "values");
  CHECK(problem(sparse({0, 1}, {},
                       {dense_level(3), listed_level<uint8_t>(3, {0, 2, 3, 3}, {0, 3, 1})})) ==
        "invalid_model: ADD (y): sparse tensor \"sparse\": index 3 is out of range for size 3");
  CHECK(problem(sparse({0, 1}, {},
                       {dense_level(3), listed_level<uint8_t>(3, {0, 2, 1, 3}, {0, 2, 1})})) ==
        "invalid_model: ADD (y): sparse tensor \"sparse\": invalid segment from 2 to 1");
}

TEST_CASE("quantized models compute in floats between integer inputs and outputs") {
  // 0..6 in 255 steps is the range of relu6; -1..1.55 is not the range of an activation.
  for (bool relu6 : {true, false}) {
    TfliteWriter writer;
    const LiteScales in{{0.5F}, {10}};
    const LiteScales out = relu6 ? LiteScales{{6.0F / 255}, {0}} : LiteScales{{0.01F}, {100}};
    const int x = writer.tensor("x", {1, 1, 4, 1}, LiteType::u8, in);
    const int w = writer.constant<uint8_t>({1, 1, 1, 1}, LiteType::u8, {3}, {{0.5F}, {1}});
    const int b = writer.constant<int32_t>({1}, LiteType::i32, {2}, {{0.25F}, {0}});
    const int y = writer.tensor("y", {1, 1, 4, 1}, LiteType::u8, out);
    const int z = writer.tensor("z", {1, 1, 4, 1}, LiteType::f32);
    writer.op(kConv2d, {x, w, b}, {y}, FlatTable().byte(0, 1).integer(1, 1).integer(2, 1));
    writer.op(kDequantize, {y}, {z}).inputs({x}).outputs({y, z});
    const auto loaded = load_lite(writer.str());
    REQUIRE(loaded->inputs()[0].quantization);
    CHECK(loaded->inputs()[0].quantization->scale == 0.5);
    CHECK(loaded->inputs()[0].quantization->zero_point == 10);
    CHECK(loaded->inputs()[0].type == ElementType::u8);
    CHECK_FALSE(loaded->outputs()[1].quantization);

    const LiteTensor given{{1, 1, 4, 1}, {0, 9, 10, 255}, LiteType::u8};
    const auto outputs = loaded->predict_now({lite_buffer(given)});
    LiteTensor integers{given.shape, {}, LiteType::u8};
    LiteTensor real{given.shape, {}};
    for (double each : given.values) {
      const double sum = 0.5 * (each - 10) * 0.5 * (3 - 1) + 0.25 * 2;
      real.values.push_back(relu6 ? std::clamp(sum, 0.0, 6.0) : std::clamp(sum, -1.0, 1.55));
      const double scale = static_cast<double>(out.scales[0]);
      integers.values.push_back(std::nearbyint(real.values.back() / scale) +
                                static_cast<double>(out.zero_points[0]));
    }
    check_tensor(outputs[0], integers, 0);
    check_tensor(outputs[1], real, 1e-6);
  }
}

TEST_CASE("results are only clamped if they can be out of range") {
  const auto nodes = [](const LiteScales& in, const LiteScales& out) {
    TfliteWriter writer;
    const int x = writer.tensor("x", {1, 2}, LiteType::i8, in);
    const int y = writer.tensor("y", {2}, LiteType::i8, out);
    const int shape = writer.constant<int32_t>({1}, LiteType::i32, {2});
    std::vector<std::string> ops;
    writer.op(22, {x, shape}, {y}).inputs({x}).outputs({y});
    for (const auto& node : imported(writer.str()).nodes) ops.push_back(node.op);
    return ops;
  };
  using Ops = std::vector<std::string>;
  CHECK(nodes({{0.5F}, {0}}, {{0.5F}, {0}}) ==
        Ops{"DequantizeLinear", "Reshape", "QuantizeLinear"});
  CHECK(nodes({{0.5F}, {0}}, {{0.25F}, {0}}) ==
        Ops{"DequantizeLinear", "Reshape", "Clip", "QuantizeLinear"});
}

TEST_CASE("f16 inputs and outputs are computed as f32") {
  TfliteWriter writer;
  const int x = writer.tensor("x", {2}, LiteType::f16);
  const int y = writer.tensor("y", {2}, LiteType::f16);
  writer.op(101, {x}, {y}).inputs({x}).outputs({y});
  const auto loaded = load_lite(writer.str());
  CHECK(loaded->inputs()[0].type == ElementType::f16);
  check_tensor(loaded->predict_now({lite_buffer({{2}, {-1.5, 2}})})[0], {{2}, {1.5, 2}}, 0);
}

TEST_CASE("errors of invalid TFLite files") {
  CHECK(problem_of("this is text") == "invalid_model: this is not a TFLite file");
  const auto plain = [](TfliteWriter& writer) {
    return writer.constant<float>({1}, LiteType::f32, {1});
  };
  CHECK(problem_of(sum_with(plain, {1}).str(2)) ==
        "unsupported: the model has schema version 2, supported is version 3");
  CHECK(problem_of(sum_with(plain, {1}).str().substr(0, 40))
            .find("invalid_model: the file is truncated or damaged: invalid offset ") == 0);

  TfliteWriter absent;
  const int a = absent.tensor("a", {1});
  const int b = absent.tensor("b", {1});
  absent.op(101, {a}, {b}).outputs({b});
  CHECK(problem_of(absent.str()) ==
        "invalid_model: ABS (b): b needs \"a\", which no earlier node computes");

  TfliteWriter twice;
  const int x = twice.tensor("x", {1});
  const int y = twice.tensor("y", {1});
  twice.op(101, {x}, {y}).op(101, {x}, {y}).inputs({x}).outputs({y});
  CHECK(problem_of(twice.str()) == "invalid_model: \"y\" is computed more than once");

  CHECK(problem_of(TfliteWriter().inputs({3}).str()) ==
        "invalid_model: tensor 3 does not exist, the graph has 0 tensors");
  CHECK(problem_of(sum_with(
                       [](TfliteWriter& writer) {
                         return writer.constant<float>({1000, 1000}, LiteType::f32, {1, 2});
                       },
                       {1})
                       .str()) ==
        "invalid_model: ADD (y): tensor \"constant\": its shape {1000, 1000} of f32 needs 4000000 "
        "bytes, the file has 8");
  CHECK(problem_of(
            sum_with(
                [](TfliteWriter& writer) {
                  return writer.constant<int8_t>({2}, LiteType::i8, {1, 2}, {{1, 2, 3}, {}, 0});
                },
                {2})
                .str()) ==
        "invalid_model: tensor \"constant\": 3 scales do not fit shape {2} with "
        "quantized_dimension 0");
  CHECK(problem_of(
            sum_with(
                [](TfliteWriter& writer) {
                  FlatTable table = TfliteWriter::described("w", {30000, 30000}, LiteType::f32);
                  return writer.constant_as(
                      table.table(6, sparse({0, 1}, {}, {dense_level(30000), dense_level(30000)})),
                      FlatTable().data(0, std::vector<float>{1}));
                },
                {1})
                .str()) ==
        "invalid_model: ADD (y): tensor \"w\": the weights exceed 67108864 bytes plus 64 times the "
        "size of the file");
}

TEST_CASE("the format is detected by content, then by extension") {
  const auto path =
      std::filesystem::temp_directory_path() / ("dala_" + std::to_string(getpid()) + ".tflite");
  const auto loaded = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
    return failure([&] { model::Model::load_file(engine(), path.string()); });
  };
  CHECK(loaded(varied_model()) == "no error");
  CHECK(loaded("text") == "invalid_model: this is not a TFLite file");
  std::filesystem::remove(path);
}

TEST_CASE("unsupported operators are reported together, with their nodes") {
  TfliteWriter writer;
  const int x = writer.tensor("x", {1, 2});
  const int a = writer.tensor("first", {1, 2});
  const int b = writer.tensor("second", {1, 2});
  const int c = writer.tensor("third", {1, 2});
  const int y = writer.tensor("fourth", {1, 2});
  writer.op(16, {x}, {a}).op(9, {a, x}, {b}, FlatTable().byte(1, 1));
  writer.custom("MyOwn", {b}, {c}, {}).op(900, {c}, {y}).inputs({x}).outputs({y});
  CHECK(failure([&] { load_lite(writer.str()); }) ==
        "unsupported_op: the model uses operators that are not supported: tflite.BUILTIN_900 "
        "(fourth); tflite.FULLY_CONNECTED with shuffled weights (second); tflite.LSTM "
        "(first); tflite.MyOwn (third)");
}

TEST_CASE("unsupported element types are reported with the operator that computes them") {
  TfliteWriter writer;
  const int x = writer.tensor("x", {2});
  const int z = writer.tensor("z", {2}, 8);  // complex numbers
  const int y = writer.tensor("y", {2});
  writer.op(53, {x}, {z}).op(135, {z}, {y}).inputs({x}).outputs({y});
  CHECK(
      failure([&] { load_lite(writer.str()); }) ==
      "unsupported_op: the model uses operators that are not supported: tflite.CAST with elements "
      "of type 8 in \"z\" (z); tflite.COMPLEX_ABS (y)");
}

TEST_CASE("a TFLite file truncated at any byte is rejected") {
  const std::string file = varied_model();
  REQUIRE(load_hostile(as_bytes(file)));
  for (size_t size = 0; size + 8 < file.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(load_hostile(as_bytes(file.substr(0, size))));
  }
}

TEST_CASE("a corrupted TFLite file is a model or an error") {
  const std::string file = varied_model();
  int models = 0;
  for (size_t at = 0; at < file.size(); ++at) {
    for (int change : {0x01, 0x80, 0xff}) {
      if (quick() && change != 0xff) continue;
      std::string changed = file;
      changed[at] = static_cast<char>(changed[at] ^ change);
      models += load_hostile(as_bytes(changed)) ? 1 : 0;
    }
  }
  CHECK(models > 0);
}

}  // namespace dala::test
