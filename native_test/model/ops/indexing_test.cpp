// Indices out of range.
#include "model/onnx_model.hpp"

namespace dala::test {

using model::ElementType;

TEST_CASE("an index out of range is an error if it is known, and NaN otherwise") {
  OnnxWriter known;
  known.input("x", {3, 2}).output("y");
  known.constant<int64_t>("i", ElementType::i64, {2}, {0, 3}).node("Gather", {"x", "i"}, {"y"});
  CHECK(failure([&] { load(known); }) ==
        "invalid_model: Gather (Gather_1): index 3 is out of range for an axis of 3 elements");
  OnnxWriter given;
  given.input("x", {3, 2}).input("i", {2}, ElementType::i64).output("y");
  given.node("Gather", {"x", "i"}, {"y"});
  const auto outputs = load(given)->predict_now(
      {buffer<float>({1, 2, 3, 4, 5, 6}, {3, 2}), buffer<int64_t>({-1, 3}, {2})});
  const std::vector<float> got = read<float>(outputs[0]);
  CHECK(got[0] == 5);
  CHECK(got[1] == 6);
  CHECK(std::isnan(got[2]));
  CHECK(std::isnan(got[3]));
}

}  // namespace dala::test
