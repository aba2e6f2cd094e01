// The reference implementation of matmul, and its errors for operands that do not match.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/linalg/clblast.hpp"
#include "support/subject.hpp"

namespace dala::test {
namespace {

// Operands of one batch, or of batches that broadcast.
Case product(DType dtype, const Shape& a_batch, const Shape& b_batch, int64_t m, int64_t k,
             int64_t n, const Params& params = {}) {
  const auto flag = [&](const char* name) {
    const auto found = params.find(name);
    return found != params.end() && std::get<bool>(found->second);
  };
  Shape batch = a_batch.size() < b_batch.size() ? b_batch : a_batch;
  for (size_t d = 1; d <= std::min(a_batch.size(), b_batch.size()); ++d) {
    int64_t& extent = batch[batch.size() - d];
    extent = a_batch[a_batch.size() - d] == 1 ? b_batch[b_batch.size() - d]
                                              : a_batch[a_batch.size() - d];
  }
  const auto matrix = [dtype](Shape shape, int64_t rows, int64_t columns, bool transposed) {
    shape.push_back(transposed ? columns : rows);
    shape.push_back(transposed ? rows : columns);
    return TensorType{dtype, shape};
  };
  return {{matrix(a_batch, m, k, flag("transpose_a")), matrix(b_batch, k, n, flag("transpose_b"))},
          matrix(batch, m, n, false),
          params};
}

Case product(DType dtype, const Shape& batch, int64_t m, int64_t k, int64_t n,
             const Params& params = {}) {
  return product(dtype, batch, batch, m, k, n, params);
}

Case with_bias(Case example) {
  example.inputs.push_back({example.output.dtype, {example.output.shape.back()}});
  return example;
}

const Params kTransposeA{{"transpose_a", true}};
const Params kTransposeB{{"transpose_b", true}};
const Params kTransposeBoth{{"transpose_a", true}, {"transpose_b", true}};

Params activated(const char* activation, Params params = {}) {
  params["activation"] = std::string(activation);
  return params;
}

// Sizes around the edges of tiles (6 or 8 rows, 2 or 3 vectors of 4 to 16 columns), strips and
// blocks, and around the limit for thin operands.
std::vector<Case> matmul_cases(DType dtype) {
  std::vector<Case> cases = {
      product(dtype, {}, 0, 3, 2),
      product(dtype, {}, 2, 0, 3),
      product(dtype, {}, 2, 3, 0),
      product(dtype, {}, 1, 1, 1),
      product(dtype, {}, 2, 3, 4),
      product(dtype, {}, 6, 5, 16),
      product(dtype, {}, 7, 17, 17),
      product(dtype, {}, 16, 16, 16),
      product(dtype, {}, 12, 8, 32),
      product(dtype, {}, 13, 9, 33),
      product(dtype, {3}, 4, 5, 6),
      product(dtype, {2, 3}, 2, 7, 9),
      product(dtype, {0}, 2, 2, 2),
      product(dtype, {4}, 3, 3, 3),
      product(dtype, {}, 9, 6, 19, kTransposeA),
      product(dtype, {}, 9, 6, 19, kTransposeB),
      product(dtype, {2}, 9, 6, 19, kTransposeBoth),
      product(dtype, {}, 3, 18, 21, kTransposeA),
      product(dtype, {}, 3, 18, 21, kTransposeB),
      product(dtype, {}, 21, 18, 3, kTransposeA),
      product(dtype, {}, 21, 18, 3, kTransposeB),
      product(dtype, {}, 1, 9, 5, kTransposeA),
      product(dtype, {}, 5, 9, 1, kTransposeB),
      with_bias(product(dtype, {}, 0, 3, 2)),
      with_bias(product(dtype, {}, 2, 0, 3, activated("relu6"))),
      with_bias(product(dtype, {}, 9, 5, 35, activated("relu"))),
      with_bias(product(dtype, {2}, 3, 5, 18, activated("relu6"))),
      with_bias(product(dtype, {2}, 18, 5, 3, kTransposeBoth)),
      product(dtype, {}, 8, 3, 48, activated("relu6")),
      product(dtype, {2, 3}, {}, 2, 3, 5),
      product(dtype, {}, {3}, 7, 3, 18),
      product(dtype, {2}, {1}, 5, 3, 6, kTransposeA),
      with_bias(product(dtype, {2, 1}, {1, 3}, 7, 2, 8, activated("relu", kTransposeB))),
      product(dtype, {3, 1, 2}, {2, 1}, 2, 4, 3),
      product(dtype, {0}, {1}, 2, 2, 2),
      product(dtype, {}, 9, 2, 1928),  // the last strip is one vector wide
  };
  if (quick()) return cases;
  for (const Case& large : {
           product(dtype, {}, 1, 300, 300),
           product(dtype, {}, 1, 300, 1100),
           product(dtype, {}, 300, 300, 1),
           product(dtype, {}, 2, 3000, 70, kTransposeB),
           with_bias(product(dtype, {}, 3, 2100, 3, activated("relu"))),
           product(dtype, {}, 1100, 70, 3, kTransposeA),
           product(dtype, {}, 73, 257, 129),
           product(dtype, {}, 100, 100, 100),
           product(dtype, {}, 200, 513, 140, kTransposeA),
           with_bias(product(dtype, {}, 200, 513, 140, activated("relu6", kTransposeB))),
           product(dtype, {}, 145, 64, 520, kTransposeBoth),
           with_bias(product(dtype, {}, 40, 1100, 64, activated("relu"))),
           product(dtype, {}, 30, 1030, 33, kTransposeBoth),
           with_bias(product(dtype, {5}, 64, 64, 64)),
           product(dtype, {3}, {}, 30, 50, 70),
           product(dtype, {}, 9, 3, 8848),
           product(dtype, {}, 192, 192, 192),
       }) {
    cases.push_back(large);
  }
  std::mt19937_64 random(17);
  for (const Params& params : {Params{}, kTransposeA, kTransposeB, kTransposeBoth}) {
    const auto extent = [&] { return 1 + static_cast<int64_t>(random() % 90); };
    const int64_t m = extent();
    const int64_t k = extent();
    cases.push_back(product(dtype, {}, m, k, extent(), params));
  }
  return cases;
}

bool flag_of(const Case& example, const std::string& name) {
  const auto found = example.params.find(name);
  return found != example.params.end() && std::get<bool>(found->second);
}

// The matrix of an input that contributes to matrix `index` of the output.
size_t matrix_of(const Shape& input, const Shape& output, size_t index) {
  return broadcast_index({input.begin(), input.end() - 2}, {output.begin(), output.end() - 2},
                         index);
}

template <typename Number>
Number bounded(const Case& example, Number number) {
  const auto found = example.params.find("activation");
  if (found == example.params.end() || found->second == ParamValue(std::string("none"))) {
    return number;
  }
  number = std::max(number, Number{0});
  return found->second == ParamValue(std::string("relu6")) ? std::min(number, Number{6}) : number;
}

Tensor multiplied(const Case& example, const std::vector<Tensor>& inputs) {
  const bool transpose_a = flag_of(example, "transpose_a");
  const bool transpose_b = flag_of(example, "transpose_b");
  const Shape& shape = example.output.shape;
  const Shape& stored = example.inputs[0].shape;
  const auto m = static_cast<size_t>(shape[shape.size() - 2]);
  const auto n = static_cast<size_t>(shape.back());
  const auto k = static_cast<size_t>(stored[stored.size() - (transpose_a ? 2 : 1)]);
  Tensor result(example.output);
  result.scales.resize(result.is_real() ? result.size() : 0);
  for (size_t at = 0; at < result.size(); ++at) {
    const size_t column = at % n;
    const size_t row = at / n % m;
    const size_t a_matrix = matrix_of(stored, shape, at / (m * n)) * m * k;
    const size_t b_matrix = matrix_of(example.inputs[1].shape, shape, at / (m * n)) * k * n;
    long double sum = 0;
    uint64_t bits = 0;
    if (inputs.size() > 2 && result.is_real()) sum = inputs[2].reals[column];
    if (inputs.size() > 2 && !result.is_real()) {
      bits = static_cast<uint64_t>(inputs[2].integers[column]);
    }
    long double magnitude = std::fabs(sum);
    for (size_t p = 0; p < k; ++p) {
      const size_t a = a_matrix + (transpose_a ? p * m + row : row * k + p);
      const size_t b = b_matrix + (transpose_b ? column * k + p : p * n + column);
      if (result.is_real()) {
        sum += inputs[0].reals[a] * inputs[1].reals[b];
        magnitude += std::fabs(inputs[0].reals[a] * inputs[1].reals[b]);
      } else {
        bits += static_cast<uint64_t>(inputs[0].integers[a]) *
                static_cast<uint64_t>(inputs[1].integers[b]);
      }
    }
    if (result.is_real()) {
      result.reals[at] = bounded(example, sum);
      result.scales[at] = magnitude;
    } else {
      const DType dtype = example.output.dtype;
      const __int128 number = number_of(dtype, wrap(dtype, static_cast<int64_t>(bits)));
      result.integers[at] = wrap(dtype, bounded(example, number));
    }
  }
  return result;
}

// Relative to the sum of magnitudes; every block of 256 products rounds once per product.
const SubjectOf kMatmul("matmul", {matmul_cases, multiplied, 5e-6L, 1e-14L});

}  // namespace

TEST_CASE("matmul reports mismatches of shape, element type and parameters") {
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
          run("matmul", {zeros(DType::f32, {2, 2, 3}), zeros(DType::f32, {3, 4, 3})}, out,
              kTransposeB);
        }) ==
        "shape_mismatch: matmul needs inputs whose leading dimensions are equal or 1, got "
        "{2, 2, 3} and {3, 4, 3} transposed");
  CHECK(failure([&] {
          run("matmul", {a, zeros(DType::f32, {3, 4})}, out, kTransposeA);
        }) ==
        "shape_mismatch: matmul needs as many rows in input 1 as columns in input 0, got {2, 3} "
        "transposed and {3, 4}");
  CHECK(failure([&] {
          run("matmul", {a, zeros(DType::f32, {3, 5})}, out);
        }) == "shape_mismatch: the output of matmul has shape {2, 4}, expected {2, 5}");
  CHECK(failure([&] {
          run("matmul", {a, zeros(DType::f32, {2, 3, 4})}, out);
        }) == "shape_mismatch: the output of matmul has shape {2, 4}, expected {2, 2, 4}");
  const BufferPtr b = zeros(DType::f32, {3, 4});
  CHECK(failure([&] {
          run("matmul", {a, b, zeros(DType::f32, {2})}, out);
        }) == "shape_mismatch: input 2 of matmul has shape {2}, expected {4}");
  CHECK(failure([&] {
          run("matmul", {a, b, zeros(DType::f64, {4})}, out);
        }) == "dtype_mismatch: input 2 of matmul is f64, expected f32 like input 0");
  CHECK(failure([&] { run("matmul", {a}, out); }) ==
        "arity_mismatch: matmul takes 2 to 3 inputs, got 1");
  CHECK(failure([&] {
          run("matmul", {a, b}, out, activated("tanh"));
        }) == "invalid_param: activation of matmul must be none, relu or relu6, got tanh");
  CHECK(failure([&] {
          run("matmul", {a, b}, out, {{"transpose_a", int64_t{1}}});
        }) == "invalid_param: transpose_a of matmul must be true or false, got 1");
}

TEST_CASE("NaN and infinity propagate through matmul and its activation") {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const int64_t rows : {1, 9}) {
    CAPTURE(rows);
    std::vector<float> a;
    for (int64_t i = 0; i < rows; ++i) a.insert(a.end(), {1, 0, -1, 0, 0});
    const BufferPtr factors = buffer<float>(a, {rows, 5});
    const BufferPtr values =
        buffer<float>({1, nan, inf, 1, 0, 0, 1, 2, 0, 2, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0}, {5, 4});
    const BufferPtr out = zeros(DType::f32, {rows, 4});
    run("matmul", {factors, values}, out, activated("relu6"));
    const std::vector<float> got = read<float>(out);
    for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
      CHECK(got[row * 4] == 1);
      CHECK(std::isnan(got[row * 4 + 1]));
      CHECK(got[row * 4 + 2] == 6);
      CHECK(got[row * 4 + 3] == 0);
    }
  }
}

TEST_CASE("clblast can be requested, and computes the same") {
  // Its first call compiles for seconds, so only small types and sizes are tested.
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
  for (const Case& each :
       {example, product(DType::f32, {3}, 4, 3, 5), product(DType::f32, {}, 4, 3, 5, kTransposeA),
        with_bias(product(DType::f32, {2, 1}, {1, 3}, 4, 3, 5, activated("relu", kTransposeB)))}) {
    std::mt19937_64 random(3);
    std::vector<Tensor> inputs;
    std::vector<BufferPtr> buffers;
    for (const TensorType& type : each.inputs) {
      inputs.push_back(random_tensor(type, random));
      buffers.push_back(buffer_of_bytes(type, to_bytes(inputs.back())));
    }
    const BufferPtr output = runtime.zeros(each.output);
    const Call checked = validate(*matmul, each.inputs, each.output, each.params);
    const Stage stage{std::make_shared<const Launch>(matmul->plan(checked, forced)), buffers,
                      output};
    runtime.wait(runtime.scheduler().submit({stage}, nullptr, nullptr));
    const auto problem = difference(from_bytes(each.output, runtime.read_now(output)),
                                    multiplied(each, inputs), 5e-6L);
    CHECK_MESSAGE(!problem, problem.value_or(""));
  }
}

}  // namespace dala::test
