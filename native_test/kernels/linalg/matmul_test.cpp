// The reference of matmul, and what it says about operands that do not fit.
#include <doctest/doctest.h>

#include "kernels/linalg/clblast.hpp"
#include "support/subject.hpp"

namespace dala::test {
namespace {

Case product(DType dtype, const Shape& batch, int64_t m, int64_t k, int64_t n) {
  Case example{{{dtype, batch}, {dtype, batch}}, {dtype, batch}};
  for (int64_t extent : {m, k}) example.inputs[0].shape.push_back(extent);
  for (int64_t extent : {k, n}) example.inputs[1].shape.push_back(extent);
  for (int64_t extent : {m, n}) example.output.shape.push_back(extent);
  return example;
}

// Around the edges of tiles (6 rows, 16 or 32 columns), strips (128) and blocks (256).
std::vector<Case> matmul_cases(DType dtype) {
  std::vector<Case> cases = {
      product(dtype, {}, 0, 3, 2),   product(dtype, {}, 2, 0, 3),
      product(dtype, {}, 2, 3, 0),   product(dtype, {}, 1, 1, 1),
      product(dtype, {}, 2, 3, 4),   product(dtype, {}, 6, 5, 16),
      product(dtype, {}, 7, 17, 17), product(dtype, {}, 16, 16, 16),
      product(dtype, {}, 12, 8, 32), product(dtype, {}, 13, 9, 33),
      product(dtype, {3}, 4, 5, 6),  product(dtype, {2, 3}, 2, 7, 9),
      product(dtype, {0}, 2, 2, 2),  product(dtype, {4}, 3, 3, 3),
  };
  if (quick()) return cases;
  for (const Case& large : {product(dtype, {}, 1, 300, 300), product(dtype, {}, 300, 300, 1),
                            product(dtype, {}, 73, 257, 129), product(dtype, {}, 100, 100, 100),
                            product(dtype, {}, 200, 513, 140), product(dtype, {}, 145, 64, 260),
                            product(dtype, {5}, 64, 64, 64), product(dtype, {}, 192, 192, 192)}) {
    cases.push_back(large);
  }
  std::mt19937_64 random(17);
  for (int i = 0; i < 6; ++i) {
    const auto extent = [&] { return 1 + static_cast<int64_t>(random() % 90); };
    const int64_t m = extent();
    const int64_t k = extent();
    cases.push_back(product(dtype, {}, m, k, extent()));
  }
  return cases;
}

Tensor multiplied(const Case& example, const std::vector<Tensor>& inputs) {
  const Shape& shape = example.inputs[0].shape;
  const auto m = static_cast<size_t>(shape[shape.size() - 2]);
  const auto k = static_cast<size_t>(shape.back());
  const auto n = static_cast<size_t>(example.output.shape.back());
  Tensor result(example.output);
  result.scales.resize(result.is_real() ? result.size() : 0);
  for (size_t at = 0; at < result.size(); ++at) {
    const size_t column = at % n;
    const size_t row = at / n % m;
    const size_t batch = at / (m * n);
    long double sum = 0;
    long double magnitude = 0;
    uint64_t bits = 0;
    for (size_t p = 0; p < k; ++p) {
      const size_t a = (batch * m + row) * k + p;
      const size_t b = (batch * k + p) * n + column;
      if (result.is_real()) {
        sum += inputs[0].reals[a] * inputs[1].reals[b];
        magnitude += std::fabs(inputs[0].reals[a] * inputs[1].reals[b]);
      } else {
        bits += static_cast<uint64_t>(inputs[0].integers[a]) *
                static_cast<uint64_t>(inputs[1].integers[b]);
      }
    }
    if (result.is_real()) {
      result.reals[at] = sum;
      result.scales[at] = magnitude;
    } else {
      result.integers[at] = wrap(example.output.dtype, static_cast<int64_t>(bits));
    }
  }
  return result;
}

// Relative to the sum of magnitudes; every block of 256 products rounds once per product.
const SubjectOf kMatmul("matmul", {matmul_cases, multiplied, 5e-6L, 1e-14L});

}  // namespace

TEST_CASE("matmul says what does not fit") {
  const BufferPtr a = zeros(DType::f32, {2, 3});
  const BufferPtr out = zeros(DType::f32, {2, 4});
  CHECK(failure([&] {
          run("matmul", {a, zeros(DType::f64, {3, 4})}, out);
        }) == "dtype_mismatch: input 1 of matmul is f64, expected f32 like input 0");
  CHECK(failure([&] {
          run("matmul", {a, zeros(DType::f32, {4, 4})}, out);
        }) ==
        "shape_mismatch: matmul needs as many rows in input 1 as columns in input 0, got {2, 3} "
        "and {4, 4}");
  CHECK(failure([&] {
          run("matmul", {a, zeros(DType::f32, {3})}, out);
        }) == "shape_mismatch: input 1 of matmul has shape {3}, expected at least 2 dimensions");
  CHECK(failure([&] {
          run("matmul", {a, zeros(DType::f32, {2, 3, 4})}, out);
        }) ==
        "shape_mismatch: matmul needs inputs whose leading dimensions agree, got {2, 3} and "
        "{2, 3, 4}");
  CHECK(failure([&] {
          run("matmul", {a, zeros(DType::f32, {3, 5})}, out);
        }) == "shape_mismatch: the output of matmul has shape {2, 4}, expected {2, 5}");
  CHECK(failure([&] { run("matmul", {a}, out); }) ==
        "arity_mismatch: matmul takes 2 inputs, got 1");
}

TEST_CASE("clblast can be asked for, and computes the same") {
  // Its first call compiles for seconds, so only small types and sizes are tried.
  Runtime& runtime = engine().runtime();
  Planner forced(runtime.device(), runtime.programs(), "clblast");
  const auto matmul = engine().registry().find("matmul");
  const Case example = product(DType::f32, {}, 4, 3, 5);
  const Call call = validate(*matmul, example.inputs, example.output, {});
  if (!load_clblast().empty()) {
    const auto error = error_of([&] { matmul->plan(call, forced); });
    REQUIRE(error);
    CHECK(error->reason == Reason::unsupported);
    return;
  }
  const Launch launch = matmul->plan(call, forced);
  REQUIRE(launch.steps.size() == 1);
  CHECK(std::holds_alternative<CallStep>(launch.steps[0]));
  const Case integers = product(DType::s32, {}, 4, 3, 5);
  const Launch builtin =
      matmul->plan(validate(*matmul, integers.inputs, integers.output, {}), forced);
  CHECK(std::holds_alternative<KernelStep>(builtin.steps.at(0)));

  if (std::getenv("DALA_TEST_CLBLAST") == nullptr) return;
  for (const Case& each : {example, product(DType::f32, {3}, 4, 3, 5)}) {
    std::mt19937_64 random(3);
    std::vector<Tensor> inputs;
    std::vector<BufferPtr> buffers;
    for (const TensorType& type : each.inputs) {
      inputs.push_back(random_tensor(type, random));
      buffers.push_back(buffer_of_bytes(type, to_bytes(inputs.back())));
    }
    const BufferPtr output = runtime.zeros(each.output);
    const Call checked = validate(*matmul, each.inputs, each.output, {});
    const Stage stage{std::make_shared<const Launch>(matmul->plan(checked, forced)), buffers,
                      output};
    runtime.wait(runtime.scheduler().submit({stage}, nullptr, nullptr));
    const auto problem = difference(from_bytes(each.output, runtime.read_now(output)),
                                    multiplied(each, inputs), 5e-6L);
    CHECK_MESSAGE(!problem, problem.value_or(""));
  }
}

}  // namespace dala::test
