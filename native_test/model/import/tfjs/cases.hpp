// Test cases of TF.js operators as data: inputs and attributes of a node, and expected outputs. The
// cases of a family are one model, so that they need only one plan.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "model/import/tfjs/op_call.hpp"
#include "model/model.hpp"
#include "support/engine_fixture.hpp"
#include "support/tfjs_writer.hpp"

namespace dala::test::tfjs {

// Values of a tensor, with its type name in the manifest.
struct Values {
  std::vector<int64_t> dims;
  std::vector<double> numbers;
  std::string type = "float32";
};

inline Values floats(std::vector<int64_t> dims, std::vector<double> numbers) {
  return {std::move(dims), std::move(numbers), "float32"};
}
inline Values ints(std::vector<int64_t> dims, std::vector<double> numbers) {
  return {std::move(dims), std::move(numbers), "int32"};
}
inline Values truths(std::vector<int64_t> dims, std::vector<double> numbers) {
  return {std::move(dims), std::move(numbers), "bool"};
}
inline Values number(double value) { return ints({}, {value}); }
inline Values list(std::vector<double> numbers) {
  const auto count = static_cast<int64_t>(numbers.size());
  return ints({count}, std::move(numbers));
}

struct Case {
  std::string op;
  std::vector<Values> inputs;
  std::vector<std::string> attributes;
  std::vector<Values> outputs;
  double tolerance = 1e-5;
};

inline void add_values(TfjsWriter& writer, const std::string& name, const Values& values) {
  if (values.type == "float32") {
    writer.weight(name, values.dims,
                  std::vector<float>(values.numbers.begin(), values.numbers.end()));
  } else if (values.type == "int32") {
    writer.weight(name, values.dims,
                  std::vector<int32_t>(values.numbers.begin(), values.numbers.end()));
  } else {
    writer.weight(name, values.dims,
                  std::vector<uint8_t>(values.numbers.begin(), values.numbers.end()), values.type);
  }
}

inline void check_values(const BufferPtr& buffer, const Values& expected, double tolerance) {
  const TensorType& type = buffer->type();
  CHECK(type.shape == expected.dims);
  std::vector<double> got;
  const auto take = [&](const auto& values) { got.assign(values.begin(), values.end()); };
  if (expected.type == "float32") {
    REQUIRE(type.dtype == DType::f32);
    take(read<float>(buffer));
  } else if (expected.type == "int32") {
    REQUIRE(type.dtype == DType::s32);
    take(read<int32_t>(buffer));
  } else {
    REQUIRE(type.dtype == DType::u8);
    take(read<uint8_t>(buffer));
  }
  REQUIRE(got.size() == expected.numbers.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const double wanted = expected.numbers[i];
    CAPTURE(i);
    if (std::isnan(wanted) || std::isinf(wanted)) {
      CHECK((std::isnan(wanted) ? std::isnan(got[i]) : got[i] == wanted));
    } else {
      CHECK(std::fabs(got[i] - wanted) <= tolerance * std::max(1.0, std::fabs(wanted)));
    }
  }
}

// Runs all cases. Every operator of the family must have one.
inline void check_cases(const std::vector<Case>& cases, const model::tfjs::Operators& family) {
  std::set<std::string> missing;
  for (const model::tfjs::Operator& each : family) missing.insert(each.name);
  TfjsWriter writer;
  std::string outputs;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& each = cases[i];
    missing.erase(each.op);
    const std::string name = text(each.op, "_", i);
    std::vector<std::string> inputs;
    for (size_t k = 0; k < each.inputs.size(); ++k) {
      inputs.push_back(text(name, "/", k));
      add_values(writer, inputs.back(), each.inputs[k]);
    }
    writer.node(each.op, name, inputs, each.attributes);
    for (size_t k = 0; k < each.outputs.size(); ++k) {
      outputs += text(outputs.empty() ? "" : ",", "\"", name, "_", k, "\":{\"name\":\"", name, ":",
                      k, "\"}");
    }
  }
  CHECK(missing == std::set<std::string>());
  writer.signature("{\"outputs\":{" + outputs + "}}");

  const TemporaryFolder folder;
  const auto model = model::Model::load_file(engine(), writer.write(folder));
  const std::vector<BufferPtr> results = model->predict_now({});
  size_t at = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    for (const Values& expected : cases[i].outputs) {
      CAPTURE(model->outputs().at(at).name);
      check_values(results.at(at++), expected, cases[i].tolerance);
    }
  }
}

}  // namespace dala::test::tfjs
