// Graphs for tests without expected values: the graph must give the same result as its nodes loaded
// one by one as separate models, which leaves nothing to fuse or reorder.
#pragma once

#include <algorithm>
#include <map>

#include "model/onnx_model.hpp"

namespace dala::test {

using model::ElementType;
using model::Model;
using Integers = std::vector<int64_t>;

inline size_t sketch_count(const Shape& shape) {
  return static_cast<size_t>(TensorType{DType::f32, shape}.count());
}

struct GraphSketch {
  struct Step {
    std::string op;
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    std::vector<AttributeBytes> attributes;
  };
  std::map<std::string, std::pair<Shape, std::vector<float>>> floats;
  std::map<std::string, Integers> integers;
  std::vector<Step> steps;

  GraphSketch& weights(const std::string& name, const Shape& shape) {
    floats[name] = {shape,
                    random_floats(sketch_count(shape), static_cast<uint32_t>(floats.size()))};
    return *this;
  }
  GraphSketch& number(const std::string& name, float value) {
    floats[name] = {{}, {value}};
    return *this;
  }
  GraphSketch& node(const std::string& op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs,
                    const std::vector<AttributeBytes>& attributes = {}) {
    steps.push_back({op, inputs, outputs, attributes});
    return *this;
  }
  // y = conv(x) with padding that keeps the spatial size.
  GraphSketch& conv(const std::string& x, const std::string& y, int64_t in, int64_t out,
                    int64_t size, int64_t groups = 1) {
    const std::string name = y + " weights";
    weights(name, {out, in / groups, size, size});
    return node("Conv", {x, name}, {y},
                {attribute("group", groups), attribute("pads", Integers(4, size / 2))});
  }

  void constants(OnnxWriter& writer, const std::vector<std::string>& used) const {
    for (const std::string& name : used) {
      if (const auto found = floats.find(name); found != floats.end()) {
        writer.constant(name, ElementType::f32, found->second.first, found->second.second);
      }
      if (const auto found = integers.find(name); found != integers.end()) {
        const auto size = static_cast<int64_t>(found->second.size());
        writer.constant(name, ElementType::i64, {size}, found->second);
      }
    }
  }

  std::shared_ptr<Model> whole(const Shape& x, const std::vector<std::string>& outputs) const {
    OnnxWriter writer;
    writer.input("x", std::vector<Dim>(x.begin(), x.end()));
    for (const std::string& output : outputs) writer.output(output);
    std::vector<std::string> used;
    for (const Step& step : steps) {
      for (const std::string& input : step.inputs) {
        if (std::find(used.begin(), used.end(), input) == used.end()) used.push_back(input);
      }
    }
    constants(writer, used);
    for (const Step& step : steps) writer.node(step.op, step.inputs, step.outputs, step.attributes);
    return load(writer);
  }

  std::map<std::string, BufferPtr> one_by_one(const BufferPtr& x) const {
    std::map<std::string, BufferPtr> values{{"x", x}};
    for (const Step& step : steps) {
      OnnxWriter writer;
      std::vector<BufferPtr> given;
      std::vector<std::string> seen;
      for (const std::string& input : step.inputs) {
        const auto found = values.find(input);
        if (found == values.end() || std::find(seen.begin(), seen.end(), input) != seen.end()) {
          continue;
        }
        seen.push_back(input);
        const Shape& shape = found->second->type().shape;
        writer.input(input, std::vector<Dim>(shape.begin(), shape.end()));
        given.push_back(found->second);
      }
      for (const std::string& output : step.outputs) writer.output(output);
      constants(writer, step.inputs);
      writer.node(step.op, step.inputs, step.outputs, step.attributes);
      const auto results = load(writer)->predict_now(given);
      for (size_t i = 0; i < results.size(); ++i) values[step.outputs[i]] = results[i];
    }
    return values;
  }

  void check(const Shape& shape, const std::vector<std::string>& outputs) const {
    const BufferPtr x = buffer(random_floats(sketch_count(shape), 77), shape);
    const auto expected = one_by_one(x);
    const auto got = whole(shape, outputs)->predict_now({x});
    for (size_t i = 0; i < outputs.size(); ++i) {
      CAPTURE(outputs[i]);
      const BufferPtr& wanted = expected.at(outputs[i]);
      REQUIRE(got[i]->type() == wanted->type());
      const auto ours = read<float>(got[i]);
      const auto theirs = read<float>(wanted);
      size_t wrong = 0;
      for (size_t j = 0; j < ours.size(); ++j) {
        if (!(std::fabs(ours[j] - theirs[j]) <= 1e-4F * std::max(1.0F, std::fabs(theirs[j])))) {
          ++wrong;
        }
      }
      CHECK(wrong == 0);
    }
  }
};

// The same results as one by one, from this many nodes.
inline void check_merged(const GraphSketch& net, const Shape& x, const std::string& y,
                         size_t nodes) {
  CHECK(net.whole(x, {y})->info().nodes == nodes);
  net.check(x, {y});
}

}  // namespace dala::test
