// Damaged files: truncated at any byte, with changed bytes, and interesting inputs of the fuzzer.
// The loader must return a model or throw an Error.
#include "model/load.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "model/hostile.hpp"
#include "model/networks/architectures.hpp"
#include "support/onnx_writer.hpp"

namespace dala::test {
namespace {

using model::ElementType;

// A file with weights, shapes computed in the graph, windows and data movement.
std::string varied_model() {
  OnnxWriter writer;
  writer.input("x", {1, 4, 8, 8}).output("y").output("top").output("where", {}, ElementType::i64);
  writer.constant("w", ElementType::f32, {4, 4, 3, 3}, std::vector<float>(144, 0.5F));
  writer.constant("b", ElementType::f32, {4}, std::vector<float>(4, 0.25F));
  writer.constant<int64_t>("target", ElementType::i64, {2}, {0, -1});
  writer.constant<int64_t>("k", ElementType::i64, {1}, {3});
  writer.constant<int64_t>("pads", ElementType::i64, {8}, {0, 0, 1, 1, 0, 0, 1, 1});
  writer.constant<float>("scales", ElementType::f32, {4}, {1, 1, 2, 2});
  writer.constant<int64_t>("starts", ElementType::i64, {1}, {1});
  writer.constant<int64_t>("ends", ElementType::i64, {1}, {1000});
  writer.constant<int64_t>("axes", ElementType::i64, {1}, {3});
  writer.constant<int64_t>("steps", ElementType::i64, {1}, {2});
  writer.constant<int64_t>("repeats", ElementType::i64, {4}, {1, 1, 1, 2});
  writer.node("Conv", {"x", "w", "b"}, {"c"},
              {attribute("pads", std::vector<int64_t>{1, 1, 1, 1}),
               attribute("strides", std::vector<int64_t>{1, 1})});
  writer.node("Relu", {"c"}, {"r"});
  writer.node("MaxPool", {"r"}, {"p"},
              {attribute("kernel_shape", std::vector<int64_t>{2, 2}),
               attribute("strides", std::vector<int64_t>{2, 2})});
  writer.node("Resize", {"p", "", "scales"}, {"u"}, {attribute("mode", std::string("linear"))});
  writer.node("Pad", {"u", "pads"}, {"q"});
  writer.node("Slice", {"q", "starts", "ends", "axes", "steps"}, {"s"});
  writer.node("Tile", {"s", "repeats"}, {"t"});
  writer.node("Transpose", {"t"}, {"m"}, {attribute("perm", std::vector<int64_t>{0, 2, 3, 1})});
  writer.node("Reshape", {"m", "target"}, {"f"});
  writer.node("Softmax", {"f"}, {"y"}, {attribute("axis", int64_t{-1})});
  writer.node("TopK", {"f", "k"}, {"top", "where"}, {attribute("axis", int64_t{-1})});
  return writer.str();
}

}  // namespace

TEST_CASE("a file truncated at any byte is rejected") {
  const std::string file = varied_model();
  REQUIRE(load_hostile(as_bytes(file)));
  for (size_t size = 0; size < file.size(); size += 7) {
    CAPTURE(size);
    CHECK_FALSE(load_hostile(as_bytes(file.substr(0, size))));
  }
}

TEST_CASE("a network of realistic size, truncated at every kilobyte") {
  const std::string file = mobilenet_v2({}).onnx();
  REQUIRE(file.size() > 13'000'000);
  size_t models = 0;
  for (size_t size = 0; size < file.size(); size += 1024) {
    models += load_hostile(as_bytes(file).first(size)) ? 1 : 0;
  }
  CHECK(models == 0);
}

TEST_CASE("a file that is too large is rejected before it is read") {
  namespace fs = std::filesystem;
  const fs::path path = fs::temp_directory_path() / text("dala_large_", getpid(), ".onnx");
  std::ofstream(path) << varied_model();
  // A sparse file, which takes no disk space.
  fs::resize_file(path, uintmax_t{1} << 40);
  const std::string problem = failure([&] { model::Model::load_file(engine(), path.string()); });
  fs::remove(path);
  CHECK(problem == text("invalid_model: ", path.string(),
                        " has 1099511627776 bytes, a model file can have at most 4294967296"));
}

TEST_CASE("dimensions that exceed any memory are rejected while planning") {
  OnnxWriter writer;
  writer.input("x", {"rows", "columns"}).output("y");
  writer.node("Relu", {"x"}, {"y"});
  const auto model = model::Model::load(engine(), as_bytes(writer.str()), "");
  constexpr int64_t kRows = int64_t{1} << 50;
  CHECK(failure([&] {
          model->get_ready({{kRows, 4}});
        }).find("out_of_memory: input \"x\" has shape {1125899906842624, 4}, too large for the ") ==
        0);
  // No elements, but as many rows.
  const BufferPtr empty = buffer_of_bytes({DType::f32, {kRows, 0}}, {});
  CHECK(failure([&] {
          model->predict_now({empty});
        }).find("out_of_memory: input \"x\" has shape {1125899906842624, 0}, too large for the ") ==
        0);
  model->get_ready({{0, 0}});
}

TEST_CASE("a layer that exceeds any memory is rejected before memory is allocated") {
  OnnxWriter writer;
  writer.input("x", {4}).output("y");
  writer.constant<int64_t>("shape", model::ElementType::i64, {2}, {int64_t{1} << 55, 4});
  writer.node("Expand", {"x", "shape"}, {"a"}).node("Relu", {"a"}, {"b"});
  writer.node("ReduceMax", {"b"}, {"y"});
  CHECK(failure([&] {
          model::Model::load(engine(), as_bytes(writer.str()), "");
        }).find("out_of_memory: a tensor of 576460752303423488 bytes, where there is memory of ") ==
        0);
}

TEST_CASE("a corrupted network is a model or an error") {
  const std::string file = mobilenet_v2({0.01, 32, 2}).onnx();
  std::mt19937 random(6);
  int refused = 0;
  for (int round = 0; round < (quick() ? 50 : 300); ++round) {
    std::string changed = file;
    changed[random() % changed.size()] = static_cast<char>(random());
    refused += load_hostile(as_bytes(changed)) ? 0 : 1;
  }
  CHECK(refused > 0);
}

TEST_CASE("a corrupted file is a model or an error") {
  const std::string file = varied_model();
  std::mt19937 random(5);
  int models = 0;
  for (int round = 0; round < (quick() ? 500 : 10000); ++round) {
    std::string changed = file;
    const size_t flips = 1 + random() % 3;
    for (size_t i = 0; i < flips; ++i) {
      changed[random() % changed.size()] = static_cast<char>(random());
    }
    models += load_hostile(as_bytes(changed)) ? 1 : 0;
  }
  // Most of the bytes are weights, so most files are still models.
  CHECK(models > 0);
}

TEST_CASE("excessive attributes and constants") {
  const auto pool = [](int64_t size, int64_t pad) {
    OnnxWriter writer;
    writer.input("x", {1, 1, 8, 8}).output("y");
    writer.node("MaxPool", {"x"}, {"y"},
                {attribute("kernel_shape", std::vector<int64_t>{size, size}),
                 attribute("pads", std::vector<int64_t>{pad, pad, pad, pad})});
    return failure([&] { model::Model::load(engine(), as_bytes(writer.str()), ""); });
  };
  CHECK(pool(int64_t{1} << 40, 0) ==
        "invalid_model: MaxPool (MaxPool_1): kernel_shape {1099511627776, 1099511627776} does not "
        "fit 2 dimensions");
  CHECK(pool(0, 0) ==
        "invalid_model: MaxPool (MaxPool_1): kernel_shape {0, 0} does not fit 2 dimensions");
  CHECK(pool(9, 0) ==
        "invalid_model: MaxPool (MaxPool_1): a window of 9 over 8 elements and 0 of padding");

  const auto with_shape = [](const std::string& op, const std::vector<int64_t>& values) {
    OnnxWriter writer;
    writer.input("x", {2, 2}).output("y");
    writer.constant("v", ElementType::i64, {static_cast<int64_t>(values.size())}, values);
    writer.node(op, {"x", "v"}, {"y"});
    return failure([&] { model::Model::load(engine(), as_bytes(writer.str()), ""); });
  };
  CHECK(with_shape("Tile", {int64_t{1} << 62, 4}).find("invalid_model: Tile") == 0);
  CHECK(with_shape("Expand", {int64_t{1} << 62, 4, 2, 2}).find("invalid_model: Expand") == 0);
  CHECK(with_shape("Reshape", {int64_t{1} << 62, 4}).find("invalid_model: Reshape") == 0);
  CHECK(with_shape("Reshape", {-5, 4}).find("invalid_model: Reshape") == 0);
  CHECK(with_shape("Pad", {INT64_MIN, 0, 0, 0}).find("invalid_model: Pad") == 0);
  CHECK(with_shape("Pad", {INT64_MAX, 0, INT64_MAX, 0}).find("invalid_model: Pad") == 0);
}

}  // namespace dala::test
