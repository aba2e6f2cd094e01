// Det beside an expansion by minors on the host.
#include "model/onnx_model.hpp"

namespace dala::test {
namespace {

double minors(const std::vector<double>& a, size_t n) {
  if (n == 1) return a[0];
  double sum = 0;
  for (size_t column = 0; column < n; ++column) {
    std::vector<double> rest;
    for (size_t i = 1; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        if (j != column) rest.push_back(a[i * n + j]);
      }
    }
    sum += (column % 2 == 0 ? 1 : -1) * a[column] * minors(rest, n - 1);
  }
  return sum;
}

}  // namespace

TEST_CASE("Det is the determinant of each matrix") {
  for (const size_t n : {1, 2, 3, 6}) {
    CAPTURE(n);
    const auto size = static_cast<int64_t>(n);
    std::vector<float> x = random_floats(5 * n * n, 7);
    std::fill_n(x.begin() + static_cast<ptrdiff_t>(n * n), n * n, 0.0F);  // singular
    if (n > 1) x[2 * n * n] = 0;                                          // rows are exchanged
    OnnxWriter writer;
    writer.input("x", {5, 1, size, size}).output("y");
    writer.node("Det", {"x"}, {"y"});
    const auto results = load(writer)->predict_now({buffer(x, {5, 1, size, size})});
    CHECK(results[0]->type().shape == Shape{5, 1});
    std::vector<double> expected;
    for (size_t m = 0; m < 5; ++m) {
      expected.push_back(minors({x.data() + m * n * n, x.data() + (m + 1) * n * n}, n));
    }
    check_close(read<float>(results[0]), expected);
  }
}

TEST_CASE("Det takes no other matrices than square ones") {
  OnnxWriter writer;
  writer.input("x", {2, 3}).output("y");
  writer.node("Det", {"x"}, {"y"});
  try {
    load(writer)->predict_now({buffer(std::vector<float>(6), {2, 3})});
    FAIL("it ran");
  } catch (const Error& error) {
    CHECK(error.message.find("expected square matrices of floats") != std::string::npos);
  }
}

}  // namespace dala::test
