// Reference implementations of the kernels along an axis.
#include "support/subject.hpp"

namespace dala::test {
namespace {

struct View {
  size_t outer = 1;
  size_t axis = 1;
  size_t inner = 1;
};

View view_of(const Shape& shape, std::optional<int64_t> axis) {
  View view;
  const auto rank = static_cast<int64_t>(shape.size());
  if (!axis) {
    for (int64_t extent : shape) view.axis *= static_cast<size_t>(extent);
    return view;
  }
  const int64_t at = *axis < 0 ? *axis + rank : *axis;
  for (int64_t d = 0; d < rank; ++d) {
    const auto extent = static_cast<size_t>(shape[static_cast<size_t>(d)]);
    (d < at ? view.outer : d == at ? view.axis : view.inner) *= extent;
  }
  return view;
}

std::optional<int64_t> axis_of(const Case& example) {
  const auto found = example.params.find("axis");
  if (found == example.params.end()) return std::nullopt;
  return std::get<int64_t>(found->second);
}

struct Along {
  Shape shape;
  std::optional<int64_t> axis;
};

// Rows and columns, shorter and longer than lanes, blocks and segments.
std::vector<Along> views() {
  std::vector<Along> all = {{{}, {}},       {{1}, {}},       {{1}, 0},       {{7}, {}},
                            {{3, 4}, {}},   {{3, 4}, 0},     {{3, 4}, 1},    {{3, 4}, -1},
                            {{2, 3, 4}, 1}, {{2, 3, 4}, -3}, {{5, 1, 3}, 1}, {{1, 5}, 0},
                            {{129}, {}},    {{2, 128}, 1},   {{2, 200}, 1},  {{130, 2}, 0},
                            {{0, 3}, 1},    {{2, 40, 33}, 1}};
  if (quick()) return all;
  for (const Along& large : {Along{{40000}, {}},
                             {{100003}, 0},
                             {{64, 1000}, 1},
                             {{64, 1000}, 0},
                             {{3, 700, 300}, 1},
                             {{60000, 3}, 0},
                             {{60000, 3}, 1},
                             {{5, 9000, 2}, 1},
                             {{257, 255}, {}}}) {
    all.push_back(large);
  }
  std::mt19937_64 random(13);
  for (int i = 0; i < 8; ++i) {
    Shape shape(1 + random() % 4);
    for (int64_t& extent : shape) extent = 1 + static_cast<int64_t>(random() % 20);
    const auto axis = static_cast<int64_t>(random() % shape.size());
    all.push_back({shape, axis});
  }
  return all;
}

// A case for a view; `keep` keeps the axis in the output's shape, as 1.
Case reduction_case(DType in, DType out, const Along& along, bool keep) {
  Case example{{{in, along.shape}}, {out, {}}};
  if (!along.axis) {
    if (keep) example.output.shape = {1};
    return example;
  }
  example.params["axis"] = *along.axis;
  Shape shape = along.shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const auto at = *along.axis < 0 ? *along.axis + rank : *along.axis;
  if (keep) {
    shape[static_cast<size_t>(at)] = 1;
  } else {
    shape.erase(shape.begin() + at);
  }
  example.output.shape = shape;
  return example;
}

std::vector<Case> cases_into(DType in, const std::vector<DType>& outs, bool empty_axis) {
  std::vector<Case> cases;
  bool keep = false;
  for (DType out : outs) {
    for (const Along& along : views()) {
      cases.push_back(reduction_case(in, out, along, keep));
      keep = !keep;
    }
  }
  if (empty_axis) {
    cases.push_back(reduction_case(in, outs[0], {{0}, {}}, false));
    cases.push_back(reduction_case(in, outs[0], {{0, 3}, 0}, false));
  }
  return cases;
}

std::vector<DType> sum_outputs(DType in) {
  if (is_float(in)) return {in};
  if (size_of(in) == 8) return {in, DType::f64};
  if (!is_signed(in)) return {in, DType::s64, DType::u64, DType::f32, DType::f64};
  return {in, DType::s64, DType::f32, DType::f64};
}

// Calls the visitor with the index of each result and the indices of its elements, in order.
void each_result(const Case& example,
                 const std::function<void(size_t, const std::vector<size_t>&)>& visit) {
  const View view = view_of(example.inputs[0].shape, axis_of(example));
  std::vector<size_t> places(view.axis);
  for (size_t o = 0; o < view.outer; ++o) {
    for (size_t i = 0; i < view.inner; ++i) {
      for (size_t k = 0; k < view.axis; ++k) places[k] = (o * view.axis + k) * view.inner + i;
      visit(o * view.inner + i, places);
    }
  }
}

// Several axes at once: adjacent, apart, all and none.
std::vector<Case> axes_cases(DType in, DType out) {
  struct Several {
    Shape shape;
    std::vector<double> axes;
  };
  std::vector<Several> all = {{{2, 3, 4}, {0, 2}},
                              {{2, 3, 4}, {-1, 1}},
                              {{2, 3, 4}, {2, 1, 0}},
                              {{2, 3, 4}, {}},
                              {{2, 3, 4}, {1}},
                              {{2, 3, 2, 5, 2}, {0, 2, 4}},
                              {{3, 1, 40, 33}, {0, 2, 3}},
                              {{0, 3, 2}, {1, 2}}};
  if (!quick()) {
    all.push_back({{4, 30, 40, 50}, {0, 2, 3}});
    all.push_back({{300, 7, 200}, {0, 2}});
    all.push_back({{3, 20000, 3}, {1, 2}});
  }
  std::vector<Case> cases;
  bool keep = false;
  for (const auto& [shape, axes] : all) {
    Case example{{{in, shape}}, {out, {}}, {{"axes", axes}}};
    for (size_t d = 0; d < shape.size(); ++d) {
      bool reduced = false;
      for (double axis : axes) {
        reduced = reduced || axis == static_cast<double>(d) ||
                  axis + static_cast<double>(shape.size()) == static_cast<double>(d);
      }
      if (!reduced) example.output.shape.push_back(shape[d]);
      if (reduced && keep) example.output.shape.push_back(1);
    }
    cases.push_back(example);
    keep = !keep;
  }
  return cases;
}

// The same call along one axis: the reduced axes are moved to the end.
struct Flattened {
  Case example;
  Tensor input;
};

Flattened flattened(const Case& example, const Tensor& input) {
  if (example.params.count("axes") == 0) return {example, input};
  const Shape& shape = example.inputs[0].shape;
  std::vector<bool> reduced(shape.size(), false);
  for (double axis : std::get<std::vector<double>>(example.params.at("axes"))) {
    reduced[static_cast<size_t>(axis < 0 ? axis + static_cast<double>(shape.size()) : axis)] = true;
  }
  int64_t kept = 1;
  int64_t gone = 1;
  for (size_t d = 0; d < shape.size(); ++d) (reduced[d] ? gone : kept) *= shape[d];
  const TensorType type{input.type.dtype, {kept, gone}};
  Flattened result{{{type}, example.output, {{"axis", int64_t{1}}}}, Tensor(type)};
  for (size_t i = 0; i < input.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t row = 0;
    int64_t column = 0;
    int64_t rows = 1;
    int64_t columns = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      const int64_t at = rest % shape[d];
      rest /= shape[d];
      (reduced[d] ? column : row) += at * (reduced[d] ? columns : rows);
      (reduced[d] ? columns : rows) *= shape[d];
    }
    const auto to = static_cast<size_t>(row * gone + column);
    if (input.is_real()) {
      result.input.reals[to] = input.reals[i];
    } else {
      result.input.integers[to] = input.integers[i];
    }
  }
  return result;
}

using Reference = std::function<Tensor(const Case&, const std::vector<Tensor>&)>;

// A reference along one axis, for calls with axes as well.
Reference with_axes(const Reference& reference) {
  return [reference](const Case& example, const std::vector<Tensor>& inputs) {
    const Flattened flat = flattened(example, inputs[0]);
    return reference(flat.example, {flat.input});
  };
}

std::vector<Case> joined(std::vector<Case> a, const std::vector<Case>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Factors near 1, whose product stays a number. Integers may wrap.
void near_one(const Case&, std::vector<Tensor>& inputs) {
  for (long double& x : inputs[0].reals) x = static_cast<float>(1 + x / 4000);
  for (int64_t& x : inputs[0].integers) x |= 1;
}

Tensor multiplied(const Case& example, const std::vector<Tensor>& inputs) {
  Tensor result(example.output);
  each_result(example, [&](size_t at, const std::vector<size_t>& places) {
    long double real = 1;
    uint64_t bits = 1;
    for (size_t place : places) {
      if (inputs[0].is_real()) {
        real *= inputs[0].reals[place];
      } else {
        bits *= static_cast<uint64_t>(inputs[0].integers[place]);
      }
    }
    const auto integer = static_cast<int64_t>(bits);
    if (!result.is_real()) {
      result.integers[at] = wrap(example.output.dtype, integer);
    } else if (inputs[0].is_real()) {
      result.reals[at] = real;
    } else {
      // As in the kernel, unsigned types stay unsigned throughout.
      const bool negatives = is_signed(example.inputs[0].dtype);
      result.reals[at] =
          negatives ? static_cast<long double>(integer) : static_cast<long double>(bits);
    }
  });
  return result;
}

Tensor summed(const Case& example, const std::vector<Tensor>& inputs, bool average) {
  Tensor result(example.output);
  result.scales.resize(result.is_real() ? result.size() : 0);
  each_result(example, [&](size_t at, const std::vector<size_t>& places) {
    const auto count = static_cast<int64_t>(places.size());
    if (inputs[0].is_real()) {
      long double sum = 0;
      long double magnitude = 0;
      for (size_t place : places) {
        sum += inputs[0].reals[place];
        magnitude += std::fabs(inputs[0].reals[place]);
      }
      const long double divisor = average ? static_cast<long double>(count) : 1.0L;
      result.reals[at] = sum / divisor;
      result.scales[at] = magnitude / divisor;
      return;
    }
    uint64_t bits = 0;
    for (size_t place : places) bits += static_cast<uint64_t>(inputs[0].integers[place]);
    const __int128 sum =
        is_signed(inputs[0].type.dtype) ? __int128{static_cast<int64_t>(bits)} : __int128{bits};
    if (!result.is_real()) {
      result.integers[at] = wrap(example.output.dtype, average ? sum / count : sum);
      return;
    }
    result.reals[at] =
        static_cast<long double>(sum) / (average ? static_cast<long double>(count) : 1.0L);
    result.scales[at] = std::fabs(result.reals[at]);
  });
  return result;
}

Tensor extreme(const Case& example, const std::vector<Tensor>& inputs, bool largest) {
  Tensor result(example.output);
  const auto pick = [&](const auto& from, auto& to) {
    each_result(example, [&](size_t at, const std::vector<size_t>& places) {
      to[at] = from[places[0]];
      for (size_t place : places) {
        to[at] = largest ? std::max(to[at], from[place]) : std::min(to[at], from[place]);
      }
    });
  };
  if (result.is_real()) {
    pick(inputs[0].reals, result.reals);
  } else {
    std::vector<__int128> numbers(result.size());
    pick(numbers_of(inputs[0]), numbers);
    set_numbers(result, numbers);
  }
  return result;
}

Tensor first_extreme(const Case& example, const std::vector<Tensor>& inputs, bool largest) {
  Tensor result(example.output);
  const auto pick = [&](const auto& from) {
    each_result(example, [&](size_t at, const std::vector<size_t>& places) {
      size_t best = 0;
      for (size_t k = 1; k < places.size(); ++k) {
        const bool better =
            largest ? from[places[k]] > from[places[best]] : from[places[k]] < from[places[best]];
        if (better) best = k;
      }
      result.integers[at] = static_cast<int64_t>(best);
    });
  };
  if (inputs[0].is_real()) {
    pick(inputs[0].reals);
  } else {
    pick(numbers_of(inputs[0]));
  }
  return result;
}

// Sums are off by a few roundings relative to the sum of magnitudes, whatever their length.
const SubjectOf kSum("reduce_sum",
                     {[](DType in) {
                        return joined(cases_into(in, sum_outputs(in), true), axes_cases(in, in));
                      },
                      with_axes([](const Case& example, const std::vector<Tensor>& inputs) {
                        return summed(example, inputs, false);
                      }),
                      1e-6L, 1e-14L});
const SubjectOf kMean("reduce_mean",
                      {[](DType in) {
                         return joined(cases_into(in, sum_outputs(in), false), axes_cases(in, in));
                       },
                       with_axes([](const Case& example, const std::vector<Tensor>& inputs) {
                         return summed(example, inputs, true);
                       }),
                       1e-6L, 1e-14L});
const SubjectOf kProduct("reduce_product", {[](DType in) {
                                              return joined(cases_into(in, sum_outputs(in), true),
                                                            axes_cases(in, in));
                                            },
                                            with_axes(multiplied), 1e-6L, 1e-11L, 0, near_one});
const SubjectOf kMax("reduce_max",
                     {[](DType in) {
                        return joined(cases_into(in, {in}, false), axes_cases(in, in));
                      },
                      with_axes([](const Case& example, const std::vector<Tensor>& inputs) {
                        return extreme(example, inputs, true);
                      })});
const SubjectOf kMin("reduce_min",
                     {[](DType in) {
                        return joined(cases_into(in, {in}, false), axes_cases(in, in));
                      },
                      with_axes([](const Case& example, const std::vector<Tensor>& inputs) {
                        return extreme(example, inputs, false);
                      })});
std::vector<Case> search_cases(DType in) {
  const bool every = in == DType::f32;
  return cases_into(
      in, every ? std::vector{DType::s32, DType::s64, DType::u32} : std::vector{DType::s32}, false);
}

const SubjectOf kArgmax("argmax",
                        {search_cases, [](const Case& example, const std::vector<Tensor>& inputs) {
                           return first_extreme(example, inputs, true);
                         }});
const SubjectOf kArgmin("argmin",
                        {search_cases, [](const Case& example, const std::vector<Tensor>& inputs) {
                           return first_extreme(example, inputs, false);
                         }});

const SubjectOf kSoftmax(
    "softmax", {[](DType dtype) {
                  std::vector<Case> cases;
                  for (const Along& along : views()) {
                    Case example{{{dtype, along.shape}}, {dtype, along.shape}};
                    if (along.axis) example.params["axis"] = *along.axis;
                    cases.push_back(std::move(example));
                  }
                  cases.push_back({{{dtype, {0, 3}}}, {dtype, {0, 3}}, {{"axis", int64_t{0}}}});
                  return cases;
                },
                [](const Case& example, const std::vector<Tensor>& inputs) {
                  Case along = example;
                  const bool last = !axis_of(example) && !example.output.shape.empty();
                  if (last) along.params["axis"] = int64_t{-1};
                  Tensor result(example.output);
                  each_result(along, [&](size_t, const std::vector<size_t>& places) {
                    long double sum = 0;
                    for (size_t place : places) sum += std::exp(inputs[0].reals[place]);
                    for (size_t place : places) {
                      result.reals[place] = std::exp(inputs[0].reals[place]) / sum;
                    }
                  });
                  return result;
                },
                2e-6L, 1e-14L});

const SubjectOf kLayerNorm(
    "layer_norm",
    {[](DType dtype) {
       std::vector<Case> cases;
       for (const Shape& shape : {Shape{1}, {6}, {3, 5}, {2, 3, 130}, {0, 4}, {3, 0}, {4, 700}}) {
         const TensorType type{dtype, shape};
         const TensorType row{dtype, {shape.back()}};
         cases.push_back({{type}, type});
         cases.push_back({{type, row}, type, {{"epsilon", 0.5}}});
         cases.push_back({{type, row, row}, type});
       }
       if (!quick()) cases.push_back({{{dtype, {300, 257}}}, {dtype, {300, 257}}});
       return cases;
     },
     [](const Case& example, const std::vector<Tensor>& inputs) {
       const auto found = example.params.find("epsilon");
       const long double epsilon =
           found == example.params.end() ? 1e-5 : std::get<double>(found->second);
       Case along = example;
       along.params["axis"] = int64_t{-1};
       Tensor result(example.output);
       result.scales.resize(result.size());
       each_result(along, [&](size_t, const std::vector<size_t>& places) {
         const auto count = static_cast<long double>(places.size());
         long double mean = 0;
         long double variance = 0;
         for (size_t place : places) mean += inputs[0].reals[place] / count;
         for (size_t place : places) {
           variance += std::pow(inputs[0].reals[place] - mean, 2.0L) / count;
         }
         for (size_t k = 0; k < places.size(); ++k) {
           const long double scale = inputs.size() > 1 ? inputs[1].reals[k] : 1;
           const long double bias = inputs.size() > 2 ? inputs[2].reals[k] : 0;
           const long double deviation = 1 / std::sqrt(variance + epsilon);
           result.reals[places[k]] = (inputs[0].reals[places[k]] - mean) * deviation * scale + bias;
           result.scales[places[k]] = 4 * deviation * std::fabs(scale) + std::fabs(bias);
         }
       });
       return result;
     },
     1e-6L, 1e-14L});

}  // namespace
}  // namespace dala::test
