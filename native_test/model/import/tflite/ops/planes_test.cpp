// Spatial TFLite operators.
#include "model/import/tflite/operator_cases.hpp"

namespace dala::test {

TEST_CASE("TFLite: convolutions, pools and resizing") {
  LiteTensor x{{1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
  const auto window = [](int padding, int stride) {
    return FlatTable().byte(0, padding).integer(1, stride).integer(2, stride);
  };
  const auto pool = [&](int padding) { return window(padding, 2).integer(3, 2).integer(4, 2); };
  check("MAX_POOL_2D", pool(0), {x}, {{{1, 2, 2, 1}, {5, 6, 8, 9}}});
  check("AVERAGE_POOL_2D", pool(0), {x}, {{{1, 2, 2, 1}, {3, 4.5, 7.5, 9}}});
  check("AVERAGE_POOL_2D", pool(1), {x}, {{{1, 1, 1, 1}, {3}}});
  check("L2_POOL_2D", pool(1), {x}, {{{1, 1, 1, 1}, {std::sqrt(46.0 / 4)}}});
  // Of two outputs, the second is the sum of the corners of its window.
  const LiteTensor weights = constant_of({2, 2, 2, 1}, {1, 0, 0, 0, 1, 1, 1, 1}, LiteType::f32);
  const LiteTensor bias = constant_of({2}, {0.5, -20}, LiteType::f32);
  check("CONV_2D", window(1, 1).byte(3, 1), {x, weights, bias},
        {{{1, 2, 2, 2}, {1.5, 0, 2.5, 0, 4.5, 4, 5.5, 8}}});
  check("CONV_2D", window(0, 2), {x, weights, bias},
        {{{1, 2, 2, 2}, {1.5, -8, 3.5, -11, 7.5, -5, 9.5, -11}}});
  check("CONV_2D", window(1, 1).integer(4, 2).integer(5, 2), {x, weights, bias},
        {{{1, 1, 1, 2}, {1.5, 0}}});
  check("DEPTHWISE_CONV_2D", window(1, 1).integer(3, 2),
        {x, constant_of({1, 2, 2, 2}, {1, 2, 0, 0, 0, 0, 1, 2}, LiteType::f32)},
        {{{1, 2, 2, 2}, {6, 12, 8, 16, 12, 24, 14, 28}}});
  check("TRANSPOSE_CONV", window(1, 2),
        {constant_of({4}, {1, 2, 4, 1}),
         constant_of({1, 2, 2, 1}, {1, 2, 3, 4}, LiteType::f32),
         {{1, 1, 2, 1}, {1, 10}}},
        {{{1, 2, 4, 1}, {1, 2, 10, 20, 3, 4, 30, 40}}});
  check("RESIZE_NEAREST_NEIGHBOR", {}, {{{1, 1, 2, 1}, {1, 2}}, constant_of({2}, {2, 4})},
        {{{1, 2, 4, 1}, {1, 1, 2, 2, 1, 1, 2, 2}}});
  check("RESIZE_NEAREST_NEIGHBOR", FlatTable().flag(0),
        {{{1, 1, 3, 1}, {1, 2, 3}}, constant_of({2}, {1, 5})}, {{{1, 1, 5, 1}, {1, 2, 2, 3, 3}}});
  check("RESIZE_NEAREST_NEIGHBOR", FlatTable().flag(1),
        {{{1, 1, 3, 1}, {1, 2, 3}}, constant_of({2}, {1, 2})}, {{{1, 1, 2, 1}, {1, 3}}});
  const LiteTensor row{{1, 1, 2, 1}, {1, 3}};
  check("RESIZE_BILINEAR", {}, {row, constant_of({2}, {1, 4})}, {{{1, 1, 4, 1}, {1, 2, 3, 3}}});
  check("RESIZE_BILINEAR", FlatTable().flag(2), {row, constant_of({2}, {1, 3})},
        {{{1, 1, 3, 1}, {1, 2, 3}}});
  check("RESIZE_BILINEAR", FlatTable().flag(3), {row, constant_of({2}, {1, 4})},
        {{{1, 1, 4, 1}, {1, 1.5, 2.5, 3}}});
  check("LOCAL_RESPONSE_NORMALIZATION",
        FlatTable().integer(0, 1).real(1, 1).real(2, 0.5F).real(3, 0.5F),
        {{{1, 1, 1, 3}, {1, 2, 3}}},
        {{{1, 1, 1, 3}, {1 / std::sqrt(3.5), 2 / std::sqrt(8.0), 3 / std::sqrt(7.5)}}});
  check_complete(model::tflite::plane_operators(), {"Convolution2DTransposeBias"});
}

TEST_CASE("TFLite: MediaPipe's transposed convolution with bias") {
  TfliteWriter writer;
  const int x = writer.tensor("x", {1, 1, 2, 1});
  const int weights = writer.constant<float>({1, 2, 2, 1}, LiteType::f32, {1, 2, 3, 4});
  const int bias = writer.constant<float>({1}, LiteType::f32, {0.5F});
  const int y = writer.tensor("y", {1, 2, 4, 1});
  writer.custom("Convolution2DTransposeBias", {x, weights, bias}, {y},
                {1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0});
  writer.inputs({x}).outputs({y});
  check_tensor(run_lite(writer, {{{1, 1, 2, 1}, {1, 10}}})[0],
               {{1, 2, 4, 1}, {1.5, 2.5, 10.5, 20.5, 3.5, 4.5, 30.5, 40.5}}, 1e-5);
}

}  // namespace dala::test
