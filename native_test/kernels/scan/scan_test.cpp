// References of the cumulative kernels.
#include <doctest/doctest.h>

#include <limits>

#include "support/subject.hpp"

namespace dala::test {
namespace {

struct Along {
  Shape shape;
  std::optional<int64_t> axis = {};
};

std::vector<Along> views() {
  std::vector<Along> all = {{{}},     {{1}},       {{0}},          {{7}},
                            {{3, 4}}, {{3, 4}, 0}, {{2, 3, 4}, 1}, {{0, 3}, 1},
                            {{200}},  {{2, 257}},  {{130, 2}, 0},  {{2, 40, 33}, 1}};
  if (quick()) return all;
  for (const Along& large :
       {Along{{70001}}, {{70001, 2}, 0}, {{3, 700, 300}, 1}, {{64, 1000}}, {{2100000}}}) {
    all.push_back(large);
  }
  return all;
}

bool is_set(const Case& example, const std::string& name) {
  const auto found = example.params.find(name);
  return found != example.params.end() && std::get<bool>(found->second);
}

std::vector<Case> cases(DType dtype) {
  std::vector<Case> all;
  int which = 0;
  const auto add = [&](const Along& along, bool reverse, bool exclusive) {
    Case example{{{dtype, along.shape}}, {dtype, along.shape}};
    if (along.axis) example.params["axis"] = *along.axis;
    if (reverse) example.params["reverse"] = true;
    if (exclusive) example.params["exclusive"] = true;
    all.push_back(example);
  };
  for (const Along& along : views()) {
    add(along, which % 2 == 1, which % 3 == 2);
    ++which;
  }
  for (bool reverse : {false, true}) {
    for (bool exclusive : {false, true}) {
      add({{2, 300}}, reverse, exclusive);
      add({{300, 3}, 0}, reverse, exclusive);
      if (!quick()) add({{66000}}, reverse, exclusive);
    }
  }
  return all;
}

// Visits each result with its position, its element's position, and whether it starts a row.
template <typename Visit>
void each_step(const Case& example, Visit visit) {
  const Shape& shape = example.output.shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const auto found = example.params.find("axis");
  int64_t along = found == example.params.end() ? -1 : std::get<int64_t>(found->second);
  if (along < 0) along += rank;
  size_t outer = 1;
  size_t axis = 1;
  size_t inner = 1;
  for (int64_t d = 0; d < rank; ++d) {
    const auto extent = static_cast<size_t>(shape[static_cast<size_t>(d)]);
    (d < along ? outer : d == along ? axis : inner) *= extent;
  }
  for (size_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < inner; ++i) {
      for (size_t k = 0; k < axis; ++k) {
        const size_t place = is_set(example, "reverse") ? axis - 1 - k : k;
        visit((o * axis + place) * inner + i, k == 0);
      }
    }
  }
}

// From the neutral element and the operation, on reals and on integers.
template <typename Real, typename Integer>
Subject cumulative(long double real_start, Real of_reals,
                   const std::function<int64_t(DType)>& integer_start, Integer of_integers,
                   long double f32_tolerance, long double f64_tolerance) {
  return {cases,
          [=](const Case& example, const std::vector<Tensor>& inputs) {
            Tensor result(example.output);
            const bool exclusive = is_set(example, "exclusive");
            long double real = 0;
            long double scale = 0;
            int64_t integer = 0;
            result.scales.resize(result.is_real() ? result.size() : 0);
            each_step(example, [&](size_t at, bool first) {
              if (first) {
                real = real_start;
                scale = 0;
                integer = integer_start(example.output.dtype);
              }
              if (result.is_real()) {
                const long double with = of_reals(real, inputs[0].reals[at]);
                scale += std::fabs(inputs[0].reals[at]);
                result.reals[at] = exclusive ? real : with;
                result.scales[at] = std::max(scale, std::fabs(with));
                real = with;
              } else {
                const DType dtype = example.output.dtype;
                const int64_t with =
                    wrap(dtype, of_integers(number_of(dtype, integer),
                                            number_of(dtype, inputs[0].integers[at])));
                result.integers[at] = exclusive ? integer : with;
                integer = with;
              }
            });
            return result;
          },
          f32_tolerance, f64_tolerance};
}

int64_t highest(DType dtype) {
  const auto bits = static_cast<int>(8 * size_of(dtype));
  return wrap(dtype, (__int128{1} << (is_signed(dtype) ? bits - 1 : bits)) - 1);
}

int64_t lowest(DType dtype) { return is_signed(dtype) ? -highest(dtype) - 1 : 0; }

constexpr long double kInf = std::numeric_limits<long double>::infinity();

const SubjectOf kSum("cumulative_sum",
                     cumulative(
                         0, [](auto a, auto b) { return a + b; }, [](DType) { return 0; },
                         [](auto a, auto b) {
                           return static_cast<__int128>(static_cast<uint64_t>(a) +
                                                        static_cast<uint64_t>(b));
                         },
                         1e-6L, 1e-13L));

// Factors near 1, whose product stays a number.
Subject product() {
  Subject subject = cumulative(
      1, [](auto a, auto b) { return a * b; }, [](DType) { return 1; },
      [](auto a, auto b) {
        return static_cast<__int128>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      },
      1e-6L, 1e-10L);
  subject.prepare = [](const Case&, std::vector<Tensor>& inputs) {
    for (long double& x : inputs[0].reals) x = static_cast<float>(1 + x / 4000);
    for (int64_t& x : inputs[0].integers) x |= 1;
  };
  return subject;
}
const SubjectOf kProduct("cumulative_product", product());
const SubjectOf kMin("cumulative_min",
                     cumulative(
                         kInf, [](auto a, auto b) { return std::min(a, b); }, highest,
                         [](auto a, auto b) { return std::min(a, b); }, 0, 0));
const SubjectOf kMax("cumulative_max",
                     cumulative(
                         -kInf, [](auto a, auto b) { return std::max(a, b); }, lowest,
                         [](auto a, auto b) { return std::max(a, b); }, 0, 0));

}  // namespace

TEST_CASE("NaN stays in what is cumulative") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* kernel : {"cumulative_sum", "cumulative_min", "cumulative_max"}) {
    const BufferPtr output = zeros(DType::f32, {4});
    run(kernel, {buffer<float>({1, nan, 0, 3})}, output);
    const std::vector<float> got = read<float>(output);
    CHECK(got[0] == 1);
    CHECK(std::isnan(got[1]));
    CHECK(std::isnan(got[3]));
  }
}

}  // namespace dala::test
