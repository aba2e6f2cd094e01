// The post-processing of detectors, a custom operator of TFLite.
#include "model/import/tflite/lite_model.hpp"

namespace dala::test {
namespace {

// A flexbuffer map, as for custom operators: keys, key offsets, the map header, values, value
// types, and the root. Offsets point backwards; all values have 4 bytes here.
std::vector<uint8_t> flexbuffer(const std::map<std::string, float>& options) {
  std::string out;
  const auto put = [&](auto value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  const auto back_to = [&](size_t place) { put(static_cast<uint32_t>(out.size() - place)); };
  std::vector<size_t> names;
  for (const auto& [name, value] : options) {
    names.push_back(out.size());
    out += name + '\0';
  }
  const auto count = static_cast<uint32_t>(options.size());
  put(count);
  const size_t keys = out.size();
  for (size_t name : names) back_to(name);
  back_to(keys);
  put(uint32_t{4});
  put(count);
  const size_t map = out.size();
  for (const auto& [name, value] : options) put(value);
  out.append(options.size(), static_cast<char>(3 << 2 | 2));  // floats of 4 bytes
  back_to(map);
  out += {static_cast<char>(9 << 2 | 2), 4};  // a map, and the width of its offset
  return {out.begin(), out.end()};
}

}  // namespace

TEST_CASE("TFLite: detections are the best boxes that do not overlap, then zeros") {
  const auto detector = [](std::map<std::string, float> options) {
    TfliteWriter writer;
    const int codes = writer.tensor("codes", {1, 3, 4});
    const int scores = writer.tensor("scores", {1, 3, 3});
    const int anchors = writer.constant<float>(
        {3, 4}, LiteType::f32, {0.5F, 0.5F, 1, 1, 0.5F, 0.5F, 1, 1, 0.25F, 0.25F, 0.5F, 0.5F});
    std::vector<int32_t> outputs;
    for (const char* name : {"boxes", "classes", "scores", "count"}) {
      outputs.push_back(writer.tensor(name, {}));
    }
    for (const auto& [name, value] : std::map<std::string, float>{{"max_detections", 3},
                                                                  {"num_classes", 2},
                                                                  {"nms_iou_threshold", 0.5F},
                                                                  {"y_scale", 10},
                                                                  {"x_scale", 10},
                                                                  {"h_scale", 5},
                                                                  {"w_scale", 5}}) {
      options.emplace(name, value);
    }
    writer.custom("TFLite_Detection_PostProcess", {codes, scores, anchors}, outputs,
                  flexbuffer(options));
    return writer.inputs({codes, scores}).outputs(outputs);
  };
  // The second box, moved down by a tenth of its anchor, is nearly the first; the third is half as
  // high as its anchor. The first score of each is that of the background.
  const auto half = static_cast<float>(5 * std::log(0.5));
  const std::vector<LiteTensor> given{{{1, 3, 4}, {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, half, 0}},
                                      {{1, 3, 3}, {0.9, 0.1, 0.8, 0, 0.7, 0, 0, 0.6, 0.2}}};
  const auto outputs = run_lite(detector({}), given);
  REQUIRE(outputs.size() == 4);
  check_tensor(outputs[0], {{1, 3, 4}, {0, 0, 1, 1, 0.125, 0, 0.375, 0.5, 0, 0, 0, 0}}, 1e-6);
  check_tensor(outputs[1], {{1, 3}, {1, 0, 0}}, 0);
  check_tensor(outputs[2], {{1, 3}, {0.8, 0.6, 0}}, 1e-6);
  check_tensor(outputs[3], {{1}, {2}}, 0);

  const auto problem = [&](const std::map<std::string, float>& options) {
    return failure([&] { load_lite(detector(options).str()); });
  };
  CHECK(problem({{"use_regular_nms", 1}}).find("with per-class suppression") != std::string::npos);
  CHECK(problem({{"max_classes_per_detection", 2}}).find("with several classes per detection") !=
        std::string::npos);
  CHECK(problem({{"max_detections", -1}}) ==
        "invalid_model: TFLite_Detection_PostProcess (boxes): option max_detections is -1, "
        "expected 1 to 65536");
}

}  // namespace dala::test
