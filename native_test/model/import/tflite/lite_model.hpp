// Small TFLite models for tests: one or a few operators, with inputs and outputs of any type.
#pragma once

#include <doctest/doctest.h>

#include <cmath>

#include "model/model.hpp"
#include "support/bytes.hpp"
#include "support/engine_fixture.hpp"
#include "support/seeds.hpp"
#include "support/tflite_writer.hpp"

namespace dala::test {

// Values with a shape and a TensorType of the schema. Constants are part of the file.
struct LiteTensor {
  std::vector<int32_t> shape;
  std::vector<double> values;
  int type = LiteType::f32;
  bool constant = false;
};

inline LiteTensor constant_of(std::vector<int32_t> shape, std::vector<double> values,
                              int type = LiteType::i32) {
  return {std::move(shape), std::move(values), type, true};
}

template <typename T>
std::vector<T> cast_all(const std::vector<double>& values) {
  std::vector<T> result;
  for (double each : values) result.push_back(static_cast<T>(each));
  return result;
}

inline int add_tensor(TfliteWriter& writer, const LiteTensor& tensor) {
  if (!tensor.constant) return writer.tensor("given", tensor.shape, tensor.type);
  switch (tensor.type) {
    case LiteType::i32:
      return writer.constant(tensor.shape, tensor.type, cast_all<int32_t>(tensor.values));
    case LiteType::i64:
      return writer.constant(tensor.shape, tensor.type, cast_all<int64_t>(tensor.values));
    case LiteType::boolean:
    case LiteType::u8:
      return writer.constant(tensor.shape, tensor.type, cast_all<uint8_t>(tensor.values));
    default:
      return writer.constant(tensor.shape, tensor.type, cast_all<float>(tensor.values));
  }
}

inline BufferPtr lite_buffer(const LiteTensor& tensor) {
  const Shape shape(tensor.shape.begin(), tensor.shape.end());
  switch (tensor.type) {
    case LiteType::i8:
    case LiteType::i32:
      return buffer(cast_all<int32_t>(tensor.values), shape);
    case LiteType::i64:
      return buffer(cast_all<int64_t>(tensor.values), shape);
    case LiteType::boolean:
    case LiteType::u8:
      return buffer(cast_all<uint8_t>(tensor.values), shape);
    default:
      return buffer(cast_all<float>(tensor.values), shape);
  }
}

inline std::vector<double> numbers_of(const BufferPtr& buffer) {
  const auto widened = [](const auto& values) {
    return std::vector<double>(values.begin(), values.end());
  };
  switch (buffer->type().dtype) {
    case DType::s32:
      return widened(read<int32_t>(buffer));
    case DType::s64:
      return widened(read<int64_t>(buffer));
    case DType::u8:
      return widened(read<uint8_t>(buffer));
    default:
      return widened(read<float>(buffer));
  }
}

inline std::shared_ptr<model::Model> load_lite(const std::string& file) {
  keep_seed("tflite", file);
  return model::Model::load(engine(), as_bytes(file), "");
}

inline std::vector<BufferPtr> run_lite(const TfliteWriter& writer,
                                       const std::vector<LiteTensor>& given) {
  std::vector<BufferPtr> inputs;
  for (const LiteTensor& each : given) {
    if (!each.constant) inputs.push_back(lite_buffer(each));
  }
  return load_lite(writer.str())->predict_now(inputs);
}

inline void check_tensor(const BufferPtr& got, const LiteTensor& expected, double tolerance) {
  CHECK(got->type().shape == Shape(expected.shape.begin(), expected.shape.end()));
  const std::vector<double> numbers = numbers_of(got);
  REQUIRE(numbers.size() == expected.values.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    CAPTURE(i);
    CHECK(std::fabs(numbers[i] - expected.values[i]) <=
          tolerance * std::max(1.0, std::fabs(expected.values[i])));
  }
}

// A file with one operator, given by its builtin code.
inline TfliteWriter with_operator(int code, const FlatTable& options,
                                  const std::vector<LiteTensor>& given,
                                  const std::vector<LiteTensor>& expected) {
  TfliteWriter writer;
  std::vector<int32_t> all;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  for (const LiteTensor& each : given) {
    all.push_back(add_tensor(writer, each));
    if (!each.constant) inputs.push_back(all.back());
  }
  for (const LiteTensor& each : expected) {
    outputs.push_back(writer.tensor("result", each.shape, each.type));
  }
  return writer.op(code, all, outputs, options).inputs(inputs).outputs(outputs);
}

inline void check_operator(int code, const FlatTable& options, const std::vector<LiteTensor>& given,
                           const std::vector<LiteTensor>& expected, double tolerance = 1e-5) {
  const auto outputs = run_lite(with_operator(code, options, given, expected), given);
  REQUIRE(outputs.size() == expected.size());
  for (size_t i = 0; i < outputs.size(); ++i) check_tensor(outputs[i], expected[i], tolerance);
}

}  // namespace dala::test
