// TopK along short and long axes, beside a sort on the host.
#include <numeric>

#include "model/onnx_model.hpp"

namespace dala::test {

using model::ElementType;

TEST_CASE("TopK of long and short axes, the first of equal elements first") {
  for (const int64_t length : {7, 128, 129, 5000}) {
    for (const int64_t axis : {0, 1}) {
      for (const int64_t largest : {0, 1}) {
        CAPTURE(length);
        CAPTURE(axis);
        const int64_t k = 5;
        const int64_t rows = 3;
        OnnxWriter writer;
        const std::vector<Dim> dims =
            axis == 1 ? std::vector<Dim>{rows, length} : std::vector<Dim>{length, rows};
        writer.input("x", dims).output("values").output("places", {}, ElementType::i64);
        writer.constant<int64_t>("k", ElementType::i64, {1}, {k});
        writer.node("TopK", {"x", "k"}, {"values", "places"},
                    {attribute("axis", axis), attribute("largest", largest)});
        // Few different numbers, so that many are equal.
        std::vector<float> x = random_floats(static_cast<size_t>(rows * length), 3, 20);
        for (float& each : x) each = std::nearbyint(each);
        const auto at = [&](int64_t row, int64_t i) {
          return x[static_cast<size_t>(axis == 1 ? row * length + i : i * rows + row)];
        };
        const Shape shape = axis == 1 ? Shape{rows, length} : Shape{length, rows};
        const auto results = load(writer)->predict_now({buffer(x, shape)});
        const auto values = read<float>(results[0]);
        const auto places = read<int64_t>(results[1]);
        for (int64_t row = 0; row < rows; ++row) {
          std::vector<int64_t> order(static_cast<size_t>(length));
          std::iota(order.begin(), order.end(), 0);
          std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
            return largest == 1 ? at(row, a) > at(row, b) : at(row, a) < at(row, b);
          });
          for (int64_t i = 0; i < k; ++i) {
            const auto out = static_cast<size_t>(axis == 1 ? row * k + i : i * rows + row);
            CHECK(places[out] == order[static_cast<size_t>(i)]);
            CHECK(values[out] == at(row, order[static_cast<size_t>(i)]));
          }
        }
      }
    }
  }
}

}  // namespace dala::test
