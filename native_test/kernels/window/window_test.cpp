// References of the sliding windows: every window, element by element.
#include <doctest/doctest.h>

#include <limits>

#include "support/integer_limits.hpp"
#include "support/subject.hpp"

namespace dala::test {
namespace {

struct Windows {
  Shape shape;
  std::vector<double> size;
  std::vector<double> stride = {};
  std::vector<double> low = {};
  std::vector<double> high = {};
  std::vector<double> dilation = {};
};

std::vector<Windows> all_windows(bool dilates) {
  std::vector<Windows> all{
      {{7}, {1}},
      {{7}, {3}},
      {{7}, {3}, {2}},
      {{7}, {3}, {2}, {2}, {1}},
      {{2}, {5}},
      {{2}, {5}, {1}, {4}, {4}},
      {{0}, {2}},
      {{0}, {2}, {1}, {1}, {2}},
      {{4, 5}, {2, 3}},
      {{4, 5}, {2, 3}, {2, 1}, {0, 1}, {1, 1}},
      {{3, 6, 5, 2}, {1, 2, 2, 1}, {1, 2, 2, 1}, {0, 0, 1, 0}, {0, 0, 0, 0}},
      {{2, 3, 4, 3, 2}, {2, 2, 2, 2, 2}},
      {{9, 70}, {3, 1}},
      {{9, 70}, {1, 4}, {1, 3}},
  };
  if (dilates) {
    all.push_back({{9}, {3}, {1}, {0}, {0}, {2}});
    all.push_back({{5, 8}, {2, 3}, {1, 2}, {2, 3}, {1, 0}, {3, 2}});
    all.push_back({{4}, {2}, {1}, {7}, {7}, {3}});
  }
  if (!quick()) all.push_back({{40, 50, 60}, {3, 4, 5}, {1, 2, 1}, {1, 1, 2}, {1, 1, 2}});
  return all;
}

Params params_of(const Windows& windows) {
  Params params{{"size", windows.size}};
  if (!windows.stride.empty()) params["stride"] = windows.stride;
  if (!windows.low.empty()) params["low"] = windows.low;
  if (!windows.high.empty()) params["high"] = windows.high;
  if (!windows.dilation.empty()) params["dilation"] = windows.dilation;
  return params;
}

int64_t at(const Case& example, const std::string& name, size_t d, int64_t fallback) {
  const auto found = example.params.find(name);
  if (found == example.params.end()) return fallback;
  return static_cast<int64_t>(std::get<std::vector<double>>(found->second)[d]);
}

Shape places_of(const Case& example) {
  Shape places;
  for (size_t d = 0; d < example.inputs[0].shape.size(); ++d) {
    const int64_t reach = (at(example, "size", d, 1) - 1) * at(example, "dilation", d, 1) + 1;
    const int64_t room =
        example.inputs[0].shape[d] + at(example, "low", d, 0) + at(example, "high", d, 0) - reach;
    places.push_back(room < 0 ? 0 : room / at(example, "stride", d, 1) + 1);
  }
  return places;
}

// Visits the elements inside each window in order, with the window's number and the element's
// position.
template <typename Visit>
void each_element(const Case& example, Visit visit) {
  const Shape& shape = example.inputs[0].shape;
  const Shape places = places_of(example);
  int64_t windows = 1;
  int64_t inside = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    windows *= places[d];
    inside *= at(example, "size", d, 1);
  }
  for (int64_t w = 0; w < windows; ++w) {
    for (int64_t k = 0; k < inside; ++k) {
      int64_t place = 0;
      int64_t step = 1;
      int64_t window = w;
      int64_t element = k;
      bool within = true;
      for (size_t d = shape.size(); d-- > 0;) {
        const int64_t size = at(example, "size", d, 1);
        const int64_t x = window % places[d] * at(example, "stride", d, 1) -
                          at(example, "low", d, 0) + element % size * at(example, "dilation", d, 1);
        within = within && x >= 0 && x < shape[d];
        place += x * step;
        step *= shape[d];
        window /= places[d];
        element /= size;
      }
      if (within) visit(static_cast<size_t>(w), static_cast<size_t>(place));
    }
  }
}

template <typename Real, typename Integer>
Subject reduction(long double real_start, Real of_reals,
                  const std::function<int64_t(DType)>& integer_start, Integer of_integers,
                  long double f32_tolerance, long double f64_tolerance) {
  return {
      [](DType dtype) {
        std::vector<Case> all;
        for (const Windows& windows : all_windows(true)) {
          Case example{{{dtype, windows.shape}}, {dtype, {}}, params_of(windows)};
          example.output.shape = places_of(example);
          all.push_back(example);
        }
        all.push_back(
            {{{dtype, {6, 6}}}, {dtype, {2, 2}}, {{"size", int64_t{3}}, {"stride", int64_t{3}}}});
        all.push_back({{{dtype, {}}}, {dtype, {}}, {{"size", int64_t{1}}}});
        return all;
      },
      [=](const Case& given, const std::vector<Tensor>& inputs) {
        Case example = given;
        for (auto& [name, param] : example.params) {
          if (const auto* one = std::get_if<int64_t>(&param)) {
            param = std::vector<double>(example.inputs[0].shape.size(), static_cast<double>(*one));
          }
        }
        Tensor result(example.output);
        result.scales.assign(result.is_real() ? result.size() : 0, 0);
        std::fill(result.reals.begin(), result.reals.end(), real_start);
        std::fill(result.integers.begin(), result.integers.end(),
                  integer_start(example.output.dtype));
        each_element(example, [&](size_t window, size_t place) {
          if (result.is_real()) {
            long double& x = result.reals[window];
            x = of_reals(x, inputs[0].reals[place]);
            result.scales[window] += std::fabs(inputs[0].reals[place]);
            result.scales[window] = std::max(result.scales[window], std::fabs(x));
          } else {
            int64_t& x = result.integers[window];
            x = wrap(example.output.dtype, of_integers(x, inputs[0].integers[place]));
          }
        });
        return result;
      },
      f32_tolerance, f64_tolerance};
}

constexpr long double kInf = std::numeric_limits<long double>::infinity();

const SubjectOf kSum("window_sum",
                     reduction(
                         0, [](auto a, auto b) { return a + b; }, [](DType) { return 0; },
                         [](int64_t a, int64_t b) {
                           return static_cast<int64_t>(static_cast<uint64_t>(a) +
                                                       static_cast<uint64_t>(b));
                         },
                         1e-6L, 1e-14L));
const SubjectOf kProduct("window_product",
                         reduction(
                             1, [](auto a, auto b) { return a * b; }, [](DType) { return 1; },
                             [](int64_t a, int64_t b) {
                               return static_cast<int64_t>(static_cast<uint64_t>(a) *
                                                           static_cast<uint64_t>(b));
                             },
                             2e-6L, 1e-14L));
const SubjectOf kMax("window_max", reduction(
                                       -kInf, [](auto a, auto b) { return std::max(a, b); }, lowest,
                                       [](auto a, auto b) { return std::max(a, b); }, 0, 0));
const SubjectOf kMin("window_min", reduction(
                                       kInf, [](auto a, auto b) { return std::min(a, b); }, highest,
                                       [](auto a, auto b) { return std::min(a, b); }, 0, 0));

Subject scatter(bool largest) {
  return {[](DType dtype) {
            std::vector<Case> all;
            int which = 0;
            for (const Windows& windows : all_windows(false)) {
              Case example{{{dtype, windows.shape}}, {dtype, windows.shape}, params_of(windows)};
              example.inputs.push_back({dtype, places_of(example)});
              if (++which % 2 == 0) example.params["initial"] = int64_t{3};
              all.push_back(example);
            }
            return all;
          },
          [largest](const Case& example, const std::vector<Tensor>& inputs) {
            Tensor result(example.output);
            const bool three = example.params.count("initial") > 0;
            std::fill(result.reals.begin(), result.reals.end(), three ? 3 : 0);
            std::fill(result.integers.begin(), result.integers.end(), three ? 3 : 0);
            result.scales.assign(result.reals.size(), 20);
            std::vector<int64_t> chosen(inputs[1].size(), -1);
            const auto better = [&](size_t a, size_t b) {
              if (inputs[0].is_real()) {
                const long double x = inputs[0].reals[a];
                const long double y = inputs[0].reals[b];
                return largest ? x > y : x < y;
              }
              return largest ? inputs[0].integers[a] > inputs[0].integers[b]
                             : inputs[0].integers[a] < inputs[0].integers[b];
            };
            Case windows = example;
            windows.params.erase("initial");
            each_element(windows, [&](size_t window, size_t place) {
              if (chosen[window] < 0 || better(place, static_cast<size_t>(chosen[window]))) {
                chosen[window] = static_cast<int64_t>(place);
              }
            });
            for (size_t w = 0; w < chosen.size(); ++w) {
              if (chosen[w] < 0) continue;
              const auto place = static_cast<size_t>(chosen[w]);
              if (result.is_real()) {
                result.reals[place] += inputs[1].reals[w];
              } else {
                result.integers[place] =
                    wrap(example.output.dtype,
                         static_cast<int64_t>(static_cast<uint64_t>(result.integers[place]) +
                                              static_cast<uint64_t>(inputs[1].integers[w])));
              }
            }
            return result;
          },
          1e-6L,
          1e-14L,
          0,
          [](const Case&, std::vector<Tensor>& inputs) {
            // Ties, of which the first counts.
            for (long double& x : inputs[0].reals) x = std::round(x);
          }};
}

const SubjectOf kScatterMax("window_scatter_max", scatter(true));
const SubjectOf kScatterMin("window_scatter_min", scatter(false));

}  // namespace

TEST_CASE("NaN is the largest and the smallest element of a window") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const BufferPtr input = buffer<float>({1, nan, 3, 4});
  for (const char* kernel : {"window_max", "window_min"}) {
    const BufferPtr output = zeros(DType::f32, {2});
    run(kernel, {input}, output, {{"size", int64_t{2}}, {"stride", int64_t{2}}});
    CHECK(std::isnan(read<float>(output)[0]));
    CHECK(!std::isnan(read<float>(output)[1]));
  }
  const BufferPtr output = zeros(DType::f32, {4});
  run("window_scatter_max", {input, buffer<float>({5, 7})}, output,
      {{"size", int64_t{2}}, {"stride", int64_t{2}}});
  CHECK(read<float>(output) == std::vector<float>{0, 5, 0, 7});
}

TEST_CASE("windows say what does not fit") {
  const BufferPtr input = zeros(DType::f32, {4, 4});
  CHECK(failure([&] {
          run("window_sum", {input}, zeros(DType::f32, {4, 4}), {{"size", int64_t{2}}});
        }) == "shape_mismatch: the output of window_sum has shape {4, 4}, expected {3, 3}");
  CHECK(failure([&] { run("window_max", {input}, input); }) ==
        "invalid_param: window_max needs the parameter size");
  CHECK(failure([&] {
          run("window_scatter_max", {input, input}, input, {{"size", int64_t{2}}});
        }) == "shape_mismatch: input 1 of window_scatter_max has shape {4, 4}, expected {3, 3}");
}

}  // namespace dala::test
