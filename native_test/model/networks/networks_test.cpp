// Whole networks against a reference in double precision, at small shapes, and at several shapes
// for networks with free dimensions.
#include <doctest/doctest.h>

#include <cmath>

#include "model/model.hpp"
#include "model/networks/architectures.hpp"
#include "model/networks/reference.hpp"
#include "support/engine_fixture.hpp"

namespace dala::test {
namespace {

constexpr double kTolerance = 1e-4;
constexpr size_t kBox = 4;  // columns of a box, before those of its scores

Array random_input(const Ints& shape) {
  std::mt19937 random(11);
  Array x(shape);
  for (double& value : x.data) {
    value = static_cast<float>(random() >> 8) / 8388608.0F - 1;
  }
  return x;
}

double root_mean_square(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

// Checks the difference relative to the element or, for small elements, to the typical magnitude.
void check_close(const std::vector<double>& got, const std::vector<double>& expected) {
  const double usual = root_mean_square(expected);
  // A network whose signals vanish or explode would pass any comparison.
  CHECK(usual > 1e-2);
  CHECK(usual < 1e3);
  double apart = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double scale = std::max(std::fabs(expected[i]), usual);
    const double difference = std::fabs(got[i] - expected[i]) / scale;
    apart = difference <= apart ? apart : difference;  // NaN counts as a difference, too
  }
  CHECK(apart <= kTolerance);
}

// Columns of different units, such as pixel coordinates and scores, are compared separately.
void check_output(const BufferPtr& buffer, const Array& expected, size_t first_columns) {
  REQUIRE(buffer->type() == TensorType{DType::f32, expected.shape});
  const std::vector<float> got = read<float>(buffer);
  const auto columns = static_cast<size_t>(expected.shape.back());
  for (const auto& [from, to] :
       {std::pair<size_t, size_t>{0, first_columns}, {first_columns, columns}}) {
    std::vector<double> ours;
    std::vector<double> theirs;
    for (size_t i = 0; i < got.size(); ++i) {
      if (i % columns < from || i % columns >= to) continue;
      ours.push_back(got[i]);
      theirs.push_back(expected.data[i]);
    }
    if (!ours.empty()) check_close(ours, theirs);
  }
}

void check_network(const Net& net, const std::vector<Ints>& shapes, size_t first_columns = 0) {
  const auto model = model::Model::load(engine(), as_bytes(net.onnx()), "");
  for (const Ints& shape : shapes) {
    CAPTURE(to_string(shape));
    const Array x = random_input(shape);
    const std::vector<Array> expected = run_reference(net, x);
    const std::vector<float> elements(x.data.begin(), x.data.end());
    const auto outputs = model->predict_now({buffer(elements, shape)});
    REQUIRE(outputs.size() == expected.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      CAPTURE(i);
      check_output(outputs[i], expected[i], first_columns);
    }
  }
}

}  // namespace

TEST_CASE("MobileNetV2, one picture and three") {
  const MobileNetV2 options = quick() ? MobileNetV2{0.1, 32, 10} : MobileNetV2{1, 64, 1000};
  check_network(mobilenet_v2(options),
                {{1, 3, options.size, options.size}, {3, 3, options.size, options.size}});
}

TEST_CASE("YOLOv5s") {
  YoloV5 options{.height = 64, .width_px = 96};
  if (quick()) options = {.width = 0.125, .height = 32, .width_px = 32, .classes = 2};
  check_network(yolo_v5(options), {{1, 3, options.height, options.width_px}}, kBox);
}

TEST_CASE("YOLOv5n with slices in front") {
  const int64_t side = quick() ? 32 : 64;
  const YoloV5 options{.width = quick() ? 0.125 : 0.25,
                       .height = side,
                       .width_px = side,
                       .focus = true,
                       .classes = 2};
  check_network(yolo_v5(options), {{1, 3, side, side}}, kBox);
}

TEST_CASE("BlazeFace, one picture and two") {
  const BlazeFace options = quick() ? BlazeFace{0.25, 32} : BlazeFace{};
  check_network(blazeface(options),
                {{1, 3, options.size, options.size}, {2, 3, options.size, options.size}});
}

TEST_CASE("PoseNet, portrait and landscape") {
  const PoseNet options{.width = quick() ? 0.1 : 0.5, .height = 33, .width_px = 49};
  check_network(posenet(options), {{1, 33, 49, 3}, {1, 64, 48, 3}});
}

TEST_CASE("DeepLabV3, several sizes") {
  const DeepLabV3 options{
      .width = quick() ? 0.1 : 1, .head = quick() ? 8 : 64, .rates = {1, 2, 4}, .classes = 21};
  check_network(deeplab_v3(options), quick() ? std::vector<Ints>{{1, 3, 33, 33}}
                                             : std::vector<Ints>{{1, 3, 97, 129}, {2, 3, 64, 80}});
}

}  // namespace dala::test
