// Graphs of a few nodes that tests add with a GraphBuilder, and their results.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "model/graph/graph_builder.hpp"
#include "model/model.hpp"
#include "support/engine_fixture.hpp"

namespace dala::test {

using model::ElementType;
using model::GraphBuilder;
using model::HostTensor;
using model::HostTensorPtr;
using model::TensorId;

struct Result {
  Shape shape;
  std::vector<double> values;
};

using Body = std::function<TensorId(GraphBuilder&, TensorId)>;

// Runs the nodes that `body` adds on x.
inline Result computed(const HostTensorPtr& x, const Body& body) {
  GraphBuilder builder("test", "tests");
  builder.set_layer("body");
  model::Port input;
  input.name = "x";
  input.shape.emplace();
  for (int64_t size : x->shape) input.shape->push_back({size, ""});
  model::Port output;
  output.name = "y";
  output.tensor = body(builder, builder.input(input));
  builder.output(output);
  const auto model = model::Model::from_graph(engine(), builder.finish());
  const std::vector<float> values(x->data<float>(), x->data<float>() + x->count());
  const auto outputs = model->predict_now({buffer(values, x->shape)});
  const TensorType& type = outputs.at(0)->type();
  Result result{type.shape, {}};
  if (type.dtype == DType::s32) {
    for (int32_t each : read<int32_t>(outputs[0])) result.values.push_back(each);
  } else {
    for (float each : read<float>(outputs[0])) result.values.push_back(each);
  }
  return result;
}

inline void check_same(const Result& got, const Result& expected) {
  CHECK(got.shape == expected.shape);
  REQUIRE(got.values.size() == expected.values.size());
  for (size_t i = 0; i < got.values.size(); ++i) {
    CAPTURE(i);
    CHECK(std::fabs(got.values[i] - expected.values[i]) <= 1e-4);
  }
}

}  // namespace dala::test
