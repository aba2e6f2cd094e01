// References of the kernels that move boxes of elements, and of those without inputs.
#include <doctest/doctest.h>

#include "support/subject.hpp"

namespace dala::test {
namespace {

using Numbers = std::vector<double>;

// The coordinates of element `index`, and the element at coordinates.
Shape coordinates(const Shape& shape, size_t index) {
  Shape at(shape.size(), 0);
  auto rest = static_cast<int64_t>(index);
  for (size_t d = shape.size(); d-- > 0;) {
    at[d] = rest % shape[d];
    rest /= shape[d];
  }
  return at;
}

size_t index_of(const Shape& shape, const Shape& at) {
  int64_t index = 0;
  for (size_t d = 0; d < shape.size(); ++d) index = index * shape[d] + at[d];
  return static_cast<size_t>(index);
}

void copy_element(const Tensor& from, size_t source, Tensor& to, size_t target) {
  if (to.is_real()) {
    to.reals[target] = from.reals[source];
  } else {
    to.integers[target] = from.integers[source];
  }
}

// A parameter with a number per dimension.
Shape numbers_of(const Case& example, const std::string& name, int64_t fallback, size_t rank) {
  const auto found = example.params.find(name);
  if (found == example.params.end()) return Shape(rank, fallback);
  if (const auto* one = std::get_if<int64_t>(&found->second)) return Shape(rank, *one);
  Shape result;
  for (double number : std::get<Numbers>(found->second)) {
    result.push_back(static_cast<int64_t>(number));
  }
  return result;
}

struct Box {
  Shape whole;
  Shape part;
  Numbers starts = {};
  Numbers strides = {};
};

std::vector<Box> boxes() {
  std::vector<Box> all = {
      {{}, {}},
      {{5}, {5}},
      {{5}, {0}, {5}},
      {{7}, {3}, {2}},
      {{7}, {2}, {1}, {3}},
      {{7}, {1}, {6}, {9}},
      {{4, 5}, {2, 3}, {1, 2}},
      {{4, 5}, {4, 2}, {0, 3}},
      {{4, 5}, {2, 5}, {2, 0}},
      {{4, 5}, {2, 3}, {0, 0}, {3, 2}},
      {{0, 3}, {0, 2}},
      {{3, 4, 5, 6}, {2, 4, 1, 3}, {1, 0, 4, 2}, {1, 1, 2, 1}},
      {{300, 3}, {290, 2}, {5, 1}},
  };
  if (quick()) return all;
  all.push_back({{100000}, {33333}, {1}, {3}});
  all.push_back({{70, 1000}, {64, 999}, {3, 1}});
  all.push_back({{3, 1100, 1000}, {3, 1050, 1000}, {0, 7, 0}});
  return all;
}

Params params_of(const Box& box) {
  Params params;
  if (!box.starts.empty()) params["starts"] = box.starts;
  if (!box.strides.empty()) params["strides"] = box.strides;
  return params;
}

// For each element of the part, its place in the whole.
template <typename Visit>
void each_of_part(const Case& example, const Shape& whole, const Shape& part, Visit visit) {
  const Shape starts = numbers_of(example, "starts", 0, whole.size());
  const Shape strides = numbers_of(example, "strides", 1, whole.size());
  const auto count = static_cast<size_t>(TensorType{DType::u8, part}.count());
  for (size_t i = 0; i < count; ++i) {
    Shape at = coordinates(part, i);
    for (size_t d = 0; d < at.size(); ++d) at[d] = starts[d] + at[d] * strides[d];
    visit(i, index_of(whole, at));
  }
}

const SubjectOf kSlice(
    "slice",
    {[](DType dtype) {
       std::vector<Case> cases;
       for (const Box& box : boxes()) {
         cases.push_back({{{dtype, box.whole}}, {dtype, box.part}, params_of(box)});
       }
       cases.push_back(
           {{{dtype, {5, 6}}}, {dtype, {2, 3}}, {{"starts", int64_t{1}}, {"strides", int64_t{2}}}});
       return cases;
     },
     [](const Case& example, const std::vector<Tensor>& inputs) {
       Tensor result(example.output);
       each_of_part(example, inputs[0].type.shape, example.output.shape,
                    [&](size_t i, size_t from) { copy_element(inputs[0], from, result, i); });
       return result;
     }});

const SubjectOf kPutSlice("put_slice",
                          {[](DType dtype) {
                             std::vector<Case> cases;
                             for (const Box& box : boxes()) {
                               cases.push_back({{{dtype, box.whole}, {dtype, box.part}},
                                                {dtype, box.whole},
                                                params_of(box)});
                             }
                             return cases;
                           },
                           [](const Case& example, const std::vector<Tensor>& inputs) {
                             Tensor result = inputs[0];
                             each_of_part(example, example.output.shape, inputs[1].type.shape,
                                          [&](size_t i, size_t to) {
                                            copy_element(inputs[1], i, result, to);
                                          });
                             return result;
                           }});

Case pad_case(DType dtype, const Shape& shape, const Params& params) {
  Case example{{{dtype, shape}}, {dtype, {}}, params};
  const size_t rank = shape.size();
  const Shape low = numbers_of(example, "low", 0, rank);
  const Shape high = numbers_of(example, "high", 0, rank);
  const Shape interior = numbers_of(example, "interior", 0, rank);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t between = shape[d] > 0 ? (shape[d] - 1) * interior[d] : 0;
    example.output.shape.push_back(std::max<int64_t>(0, shape[d] + between + low[d] + high[d]));
  }
  return example;
}

std::vector<Case> pad_cases(DType dtype) {
  const auto list = [](Numbers numbers) { return ParamValue(std::move(numbers)); };
  std::vector<Case> cases = {
      pad_case(dtype, {}, {}),
      pad_case(dtype, {5}, {}),
      pad_case(dtype, {5}, {{"low", int64_t{2}}, {"high", int64_t{3}}, {"value", int64_t{7}}}),
      pad_case(dtype, {5}, {{"low", int64_t{-2}}, {"high", int64_t{1}}}),
      pad_case(dtype, {5}, {{"low", int64_t{-9}}, {"high", int64_t{9}}}),
      pad_case(dtype, {5}, {{"low", int64_t{9}}, {"high", int64_t{-9}}}),
      pad_case(dtype, {5}, {{"low", int64_t{-3}}, {"high", int64_t{-3}}}),
      pad_case(dtype, {5}, {{"interior", int64_t{2}}, {"value", int64_t{1}}}),
      pad_case(dtype, {5}, {{"interior", int64_t{2}}, {"low", int64_t{-1}}, {"high", int64_t{-2}}}),
      pad_case(dtype, {0}, {{"low", int64_t{2}}, {"interior", int64_t{4}}, {"value", int64_t{3}}}),
      pad_case(dtype, {2, 0}, {{"low", int64_t{1}}, {"value", int64_t{3}}}),
      pad_case(dtype, {3, 4}, {{"low", list({1, 2})}, {"high", list({0, 1})}}),
      pad_case(dtype, {3, 4}, {{"low", list({1, 0})}, {"high", list({2, 0})}}),
      pad_case(dtype, {3, 4, 5}, {{"low", list({0, 2, 0})}, {"high", list({1, -1, 0})}}),
      pad_case(
          dtype, {3, 4, 5},
          {{"low", list({1, -1, 2})}, {"high", list({0, 3, -1})}, {"interior", list({1, 0, 2})}}),
      pad_case(dtype, {2, 1, 2, 2, 2, 2, 2, 2}, {{"low", int64_t{1}}}),
  };
  if (quick()) return cases;
  cases.push_back(pad_case(dtype, {100, 333}, {{"low", int64_t{3}}, {"high", list({4, 5})}}));
  cases.push_back(pad_case(dtype, {1500, 1500}, {{"low", int64_t{1}}, {"high", int64_t{1}}}));
  cases.push_back(pad_case(dtype, {2000, 7}, {{"low", list({0, 1})}, {"interior", list({1, 0})}}));
  return cases;
}

const SubjectOf kPad("pad",
                     {pad_cases, [](const Case& example, const std::vector<Tensor>& inputs) {
                        Tensor result(example.output);
                        const auto found = example.params.find("value");
                        const int64_t fill =
                            found == example.params.end() ? 0 : std::get<int64_t>(found->second);
                        for (auto& real : result.reals) real = static_cast<long double>(fill);
                        for (auto& integer : result.integers) {
                          integer = element_of(example.output.dtype, fill);
                        }
                        const Shape& shape = example.inputs[0].shape;
                        const Shape low = numbers_of(example, "low", 0, shape.size());
                        const Shape interior = numbers_of(example, "interior", 0, shape.size());
                        for (size_t i = 0; i < inputs[0].size(); ++i) {
                          Shape at = coordinates(shape, i);
                          bool inside = true;
                          for (size_t d = 0; d < at.size(); ++d) {
                            at[d] = low[d] + at[d] * (interior[d] + 1);
                            inside = inside && at[d] >= 0 && at[d] < example.output.shape[d];
                          }
                          if (inside)
                            copy_element(inputs[0], i, result, index_of(example.output.shape, at));
                        }
                        return result;
                      }});

std::vector<Case> reverse_cases(DType dtype) {
  std::vector<Case> cases;
  const auto add = [&](const Shape& shape, std::optional<Numbers> axes = {}) {
    cases.push_back({{{dtype, shape}}, {dtype, shape}});
    if (axes) cases.back().params["axes"] = *axes;
  };
  add({});
  add({0, 3});
  add({7});
  add({4, 5});
  add({4, 5}, Numbers{0});
  add({4, 5}, Numbers{-1});
  add({4, 5}, Numbers{});
  add({3, 1, 5, 2}, Numbers{2, 0});
  add({300, 3}, Numbers{0});
  if (quick()) return cases;
  add({100003});
  add({70, 1000}, Numbers{1});
  return cases;
}

const SubjectOf kReverse(
    "reverse", {reverse_cases, [](const Case& example, const std::vector<Tensor>& inputs) {
                  const Shape& shape = example.output.shape;
                  const auto rank = static_cast<int64_t>(shape.size());
                  std::vector<bool> turned(shape.size(), example.params.count("axes") == 0);
                  if (example.params.count("axes") > 0) {
                    for (double axis : std::get<Numbers>(example.params.at("axes"))) {
                      const auto at = static_cast<int64_t>(axis);
                      turned[static_cast<size_t>(at < 0 ? at + rank : at)] = true;
                    }
                  }
                  Tensor result(example.output);
                  for (size_t i = 0; i < result.size(); ++i) {
                    Shape at = coordinates(shape, i);
                    for (size_t d = 0; d < at.size(); ++d) {
                      if (turned[d]) at[d] = shape[d] - 1 - at[d];
                    }
                    copy_element(inputs[0], index_of(shape, at), result, i);
                  }
                  return result;
                }});

std::vector<Case> concatenate_cases(DType dtype) {
  std::vector<Case> cases;
  const auto add = [&](const Shape& shape, int64_t axis, const std::vector<int64_t>& lengths) {
    const auto rank = static_cast<int64_t>(shape.size());
    const auto along = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    Case example{{}, {dtype, shape}, {{"axis", axis}}};
    example.output.shape[along] = 0;
    for (int64_t length : lengths) {
      example.inputs.push_back({dtype, shape});
      example.inputs.back().shape[along] = length;
      example.output.shape[along] += length;
    }
    cases.push_back(example);
  };
  add({0}, 0, {3});
  add({0}, 0, {3, 0, 2});
  add({0}, 0, {0, 0});
  add({2, 3}, 0, {1, 2, 3});
  add({2, 3}, 1, {1, 2, 3});
  add({2, 3}, -1, {1, 1, 1, 1});
  add({2, 3, 4}, 1, {5, 1});
  add({0, 3}, 1, {2, 2});
  add({100, 3}, 1, {1, 2});
  add({1}, 0, std::vector<int64_t>(40, 1));
  if (quick()) return cases;
  add({300, 3, 70}, 1, {3, 40, 5});
  add({3, 70000}, 0, {2, 3});
  return cases;
}

const SubjectOf kConcatenate("concatenate",
                             {concatenate_cases,
                              [](const Case& example, const std::vector<Tensor>& inputs) {
                                const Shape& shape = example.output.shape;
                                const auto axis = std::get<int64_t>(example.params.at("axis"));
                                const auto along = static_cast<size_t>(
                                    axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis);
                                Tensor result(example.output);
                                int64_t start = 0;
                                for (const Tensor& input : inputs) {
                                  for (size_t i = 0; i < input.size(); ++i) {
                                    Shape at = coordinates(input.type.shape, i);
                                    at[along] += start;
                                    copy_element(input, i, result, index_of(shape, at));
                                  }
                                  start += input.type.shape[along];
                                }
                                return result;
                              }});

const SubjectOf kTile("tile", {[](DType dtype) {
                                 std::vector<Case> cases;
                                 const auto add = [&](const Shape& from, const Shape& to) {
                                   cases.push_back({{{dtype, from}}, {dtype, to}});
                                 };
                                 add({}, {});
                                 add({}, {3, 2});
                                 add({3}, {3});
                                 add({3}, {12});
                                 add({3}, {2, 6});
                                 add({1, 3}, {4, 3});
                                 add({2, 3}, {4, 9});
                                 add({2, 3}, {0, 9});
                                 add({0, 3}, {0, 6});
                                 add({2, 3, 2}, {2, 4, 3, 6});
                                 add({2, 2, 2, 2}, {4, 4, 4, 4});
                                 if (quick()) return cases;
                                 add({100, 7}, {300, 70});
                                 add({3, 1000}, {90, 4000});
                                 return cases;
                               },
                               [](const Case& example, const std::vector<Tensor>& inputs) {
                                 const Shape& from = example.inputs[0].shape;
                                 Tensor result(example.output);
                                 for (size_t i = 0; i < result.size(); ++i) {
                                   const Shape at = coordinates(example.output.shape, i);
                                   Shape source(from.size());
                                   for (size_t d = 0; d < from.size(); ++d) {
                                     source[d] = at[at.size() - from.size() + d] % from[d];
                                   }
                                   copy_element(inputs[0], index_of(from, source), result, i);
                                 }
                                 return result;
                               }});

const SubjectOf kIota(
    "iota",
    {[](DType dtype) {
       std::vector<Case> cases;
       for (const Shape& shape : {Shape{}, {0}, {1}, {300}, {3, 4}, {2, 3, 5}, {70, 1000}}) {
         cases.push_back({{}, {dtype, shape}});
         const auto rank = static_cast<int64_t>(shape.size());
         for (int64_t axis = -rank; axis < rank; ++axis) {
           cases.push_back({{}, {dtype, shape}, {{"axis", axis}}});
         }
       }
       return cases;
     },
     [](const Case& example, const std::vector<Tensor>&) {
       Tensor result(example.output);
       const Shape& shape = example.output.shape;
       for (size_t i = 0; i < result.size(); ++i) {
         auto place = static_cast<int64_t>(i);
         if (example.params.count("axis") > 0) {
           const auto axis = std::get<int64_t>(example.params.at("axis"));
           const auto rank = static_cast<int64_t>(shape.size());
           place = coordinates(shape, i)[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
         }
         if (result.is_real()) {
           result.reals[i] = static_cast<long double>(place);
         } else {
           result.integers[i] = element_of(example.output.dtype, place);
         }
       }
       return result;
     }});

const SubjectOf kEye(
    "eye", {[](DType dtype) {
              std::vector<Case> cases;
              for (const Shape& shape :
                   {Shape{1, 1}, {0, 3}, {3, 0}, {4, 4}, {3, 5}, {5, 3}, {2, 3, 4}, {70, 100}}) {
                cases.push_back({{}, {dtype, shape}});
              }
              return cases;
            },
            [](const Case& example, const std::vector<Tensor>&) {
              Tensor result(example.output);
              for (size_t i = 0; i < result.size(); ++i) {
                const Shape at = coordinates(example.output.shape, i);
                const bool one = at[at.size() - 1] == at[at.size() - 2];
                if (result.is_real()) {
                  result.reals[i] = one ? 1 : 0;
                } else {
                  result.integers[i] = element_of(example.output.dtype, one ? 1 : 0);
                }
              }
              return result;
            }});

}  // namespace

TEST_CASE("kernels that move boxes say what does not fit") {
  const BufferPtr input = zeros(DType::f32, {4, 5});
  const BufferPtr small = zeros(DType::f32, {2, 3});
  CHECK(failure([&] {
          run("slice", {input}, small, {{"starts", Numbers{1}}});
        }) ==
        "invalid_param: starts of slice must be an integer, or one for each of the 2 dimensions, "
        "got {1}");
  CHECK(failure([&] {
          run("slice", {input}, small, {{"starts", Numbers{1, -1}}});
        }) ==
        "invalid_param: starts of slice must be an integer between 0 and 9007199254740992, or a "
        "list of them, got {1, -1}");
  CHECK(failure([&] {
          run("slice", {input}, small, {{"starts", Numbers{1, 3}}});
        }) ==
        "shape_mismatch: slice takes 3 elements from 3 on, 1 apart, along axis 1, but input 0 has "
        "shape {4, 5}");
  CHECK(failure([&] { run("slice", {input}, zeros(DType::f32, {2})); }) ==
        "shape_mismatch: the output of slice has shape {2}, expected 2 dimensions");
  CHECK(failure([&] {
          run("put_slice", {input, small}, input, {{"strides", int64_t{4}}});
        }) ==
        "shape_mismatch: put_slice takes 2 elements from 0 on, 4 apart, along axis 0, but input 0 "
        "has shape {4, 5}");
  CHECK(failure([&] {
          run("pad", {small}, input, {{"low", int64_t{1}}});
        }) == "shape_mismatch: the output of pad has shape {4, 5}, expected {3, 4}");
  CHECK(failure([&] {
          run("reverse", {input}, input, {{"axes", Numbers{0, -2}}});
        }) ==
        "invalid_param: axes of reverse must name different axes between -2 and 1 for an input of "
        "shape {4, 5}, got {0, -2}");
  CHECK(failure([&] {
          run("concatenate", {input, small}, input);
        }) ==
        "shape_mismatch: input 1 of concatenate has shape {2, 3}, expected {4, 5} like input 0, "
        "but for axis 0");
  CHECK(failure([&] { run("concatenate", {zeros(DType::f32, {})}, zeros(DType::f32, {1})); }) ==
        "shape_mismatch: concatenate takes no scalars; reshape them to {1}");
  CHECK(failure([&] { run("concatenate", {}, input); }) ==
        "arity_mismatch: concatenate takes 1 to 1024 inputs, got 0");
  CHECK(failure([&] { run("tile", {small}, input); }) ==
        "shape_mismatch: input 0 of tile has shape {2, 3}, which does not fill the output's {4, 5} "
        "evenly");
  CHECK(
      failure([&] {
        run("iota", {}, input, {{"axis", int64_t{2}}});
      }) ==
      "invalid_param: axis of iota must be between -2 and 1 for an output of shape {4, 5}, got 2");
  CHECK(failure([&] { run("eye", {}, zeros(DType::f32, {3})); }) ==
        "shape_mismatch: the output of eye has shape {3}, expected at least two dimensions");
}

}  // namespace dala::test
