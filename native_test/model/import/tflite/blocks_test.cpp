// Convolutions between block operators of TFLite.
#include "model/import/tflite/blocks.hpp"

#include "model/import/tflite/lite_model.hpp"

namespace dala::test {

TEST_CASE("TFLite: a convolution between blocks becomes a dilated convolution") {
  TfliteWriter writer;
  const int x = writer.tensor("x", {1, 4, 4, 1});
  const int block = writer.constant<int32_t>({2}, LiteType::i32, {2, 2});
  const int pads = writer.constant<int32_t>({2, 2}, LiteType::i32, {2, 2, 2, 2});
  const int crops = writer.constant<int32_t>({2, 2}, LiteType::i32, {0, 0, 0, 0});
  const int weights = writer.constant<float>({1, 3, 3, 1}, LiteType::f32, std::vector<float>(9, 1));
  const int cut = writer.tensor("cut", {4, 4, 4, 1});
  const int c = writer.tensor("c", {4, 2, 2, 1});
  const int y = writer.tensor("y", {1, 4, 4, 1});
  writer.op(38, {x, block, pads}, {cut});
  writer.op(3, {cut, weights}, {c}, FlatTable().byte(0, 1).integer(1, 1).integer(2, 1));
  writer.op(37, {c, block, crops}, {y}).inputs({x}).outputs({y});
  // Every second element in both directions: four of them.
  LiteTensor given{{1, 4, 4, 1}, {}};
  LiteTensor expected{{1, 4, 4, 1}, {}};
  for (int i = 0; i < 16; ++i) given.values.push_back(i);
  for (int i = 0; i < 16; ++i) {
    const int row = i / 4 % 2;
    const int column = i % 2;
    expected.values.push_back(4 * (4 * (row + 1) + column + 1));
  }
  check_tensor(run_lite(writer, {given})[0], expected, 1e-5);
  // Two transposes around it, and no block operators.
  CHECK(load_lite(writer.str())->info().nodes <= 3);
}

}  // namespace dala::test
