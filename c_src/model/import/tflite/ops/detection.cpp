// The post-processing of detectors: decoding of boxes and non-maximum suppression.
#include <algorithm>

#include "model/import/common/tensorflow.hpp"
#include "model/import/tflite/flexbuffer.hpp"
#include "model/import/tflite/table.hpp"

namespace dala::model::tflite {
namespace {

constexpr double kMaxDetections = 1 << 16;

// An option with a count.
int64_t count_of(const std::map<std::string, double>& options, const char* name) {
  const auto found = options.find(name);
  if (found != options.end() && found->second >= 1 && found->second <= kMaxDetections) {
    return static_cast<int64_t>(found->second);
  }
  if (found == options.end()) reject(text("option ", name, " is missing"));
  reject(text("option ", name, " is ", found->second, ", expected 1 to ", kMaxDetections));
}

double real_of(const std::map<std::string, double>& options, const char* name, double fallback) {
  const auto found = options.find(name);
  return found == options.end() ? fallback : found->second;
}

// Decodes boxes to {top, left, bottom, right} from {y, x, height, width} relative to anchors of the
// same form, in units of the anchor sizes.
TensorId decoded(GraphBuilder& builder, TensorId codes, TensorId anchors,
                 const std::map<std::string, double>& options) {
  const TensorId ones = builder.integers({1, 1, 1, 1});
  const Attributes last{{"axis", attr::integer(-1)}};
  const auto code = builder.add_many("Split", {codes, ones}, 4, last);
  const auto anchor = builder.add_many("Split", {anchors, ones}, 4, last);
  std::vector<TensorId> low;
  std::vector<TensorId> high;
  for (size_t d = 0; d < 2; ++d) {
    const double step = real_of(options, d == 0 ? "y_scale" : "x_scale", 1);
    const double growth = real_of(options, d == 0 ? "h_scale" : "w_scale", 1);
    const TensorId shift =
        builder.add("Mul", {builder.add("Div", {code[d], builder.scalar(step)}), anchor[d + 2]});
    const TensorId centre = builder.add("Add", {shift, anchor[d]});
    const TensorId factor =
        builder.add("Exp", {builder.add("Div", {code[d + 2], builder.scalar(growth)})});
    const TensorId half =
        builder.add("Mul", {builder.add("Mul", {factor, anchor[d + 2]}), builder.scalar(0.5)});
    low.push_back(builder.add("Sub", {centre, half}));
    high.push_back(builder.add("Add", {centre, half}));
  }
  return builder.add("Concat", {low[0], low[1], high[0], high[1]}, last);
}

// Class-agnostic non-maximum suppression. Unused detections are zero: they gather a row of zeros
// that is appended to the boxes.
void detection_post_process(OpCall& call) {
  GraphBuilder& builder = call.builder;
  const auto options = read_flexbuffer(call.op.custom_options);
  const int64_t most = count_of(options, "max_detections");
  const int64_t classes = count_of(options, "num_classes");
  if (real_of(options, "use_regular_nms", 0) != 0) {
    unsupported("per-class suppression");
  }
  if (real_of(options, "max_classes_per_detection", 1) != 1) {
    unsupported("several classes per detection");
  }
  const Shape& shape = call.in_info(0).shape;
  if (shape.size() != 3 || shape[0] != 1) unsupported("a batch size other than 1");

  const TensorId boxes = decoded(builder, call.in(0), call.in(2), options);
  // The background class, if any, comes first and is dropped.
  const TensorId scores =
      builder.add("Slice", {call.in(1), builder.integers({-classes}), builder.integers({INT64_MAX}),
                            builder.integers({2})});
  const TensorId best =
      tensorflow::reduce(builder, "ReduceMax", scores, builder.integers({2}), false);
  const TensorId which =
      tensorflow::arg(builder, "ArgMax", scores, builder.integers({2}), ElementType::f32);
  const TensorId chosen = builder.add(
      "NonMaxSuppression",
      {boxes, builder.add("Unsqueeze", {best, builder.integers({1})}), builder.integers({most}),
       builder.scalar(real_of(options, "nms_iou_threshold", 0.5)),
       builder.scalar(real_of(options, "nms_score_threshold", 0))});
  const TensorId places = builder.reshape(
      builder.add("Gather", {chosen, builder.integers({2})}, {{"axis", attr::integer(1)}}), {-1});
  const TensorId fill = builder.integers(std::vector<int64_t>(static_cast<size_t>(most), shape[1]));
  const TensorId all =
      builder.add("Slice", {builder.add("Concat", {places, fill}, {{"axis", attr::integer(0)}}),
                            builder.integers({0}), builder.integers({most})});
  const auto pick = [&](TensorId rows, const std::vector<int64_t>& pads) {
    const TensorId longer = builder.add("Pad", {rows, builder.integers(pads)});
    return builder.add("Gather", {longer, all}, {{"axis", attr::integer(1)}});
  };
  call.set(0, pick(boxes, {0, 0, 0, 0, 1, 0}));
  call.set(1, pick(which, {0, 0, 0, 1}));
  call.set(2, pick(best, {0, 0, 0, 1}));
  call.set(3, builder.cast(builder.add("Shape", {places}), ElementType::f32));
}

}  // namespace

Operators detection_operators() {
  return {
      {"TFLite_Detection_PostProcess", detection_post_process, Keeps::bounds},
  };
}

}  // namespace dala::model::tflite
