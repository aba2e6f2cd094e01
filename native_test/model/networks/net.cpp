#include "model/networks/net.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dala::test {
namespace {

int64_t count(const Ints& dims) {
  int64_t product = 1;
  for (int64_t dim : dims) product *= dim;
  return product;
}

size_t bytes(const Planes& planes) {
  return static_cast<size_t>(planes.batch * planes.channels * planes.height * planes.width) *
         sizeof(float);
}

// The number of windows along one axis.
int64_t windows(int64_t side, const ConvLayer& layer, int64_t before, int64_t after) {
  if (layer.padding == Padding::same_upper) return (side + layer.stride - 1) / layer.stride;
  const int64_t extent = (layer.size - 1) * layer.dilation + 1;
  return (side + before + after - extent) / layer.stride + 1;
}

}  // namespace

std::string Net::onnx() const {
  OnnxWriter writer;
  writer.input("x", input);
  for (const NetOutput& output : outputs) writer.output(output.name, output.dims);
  for (const auto& [name, constant] : constants) {
    if (constant.integers.empty()) {
      writer.constant(name, model::ElementType::f32, constant.dims, constant.reals);
    } else {
      writer.constant(name, model::ElementType::i64, constant.dims, constant.integers);
    }
  }
  for (const NetNode& node : nodes) {
    std::vector<AttributeBytes> attributes;
    for (const auto& [name, value] : node.attributes) {
      std::visit(
          [&, &name = name](const auto& each) { attributes.push_back(attribute(name, each)); },
          value);
    }
    writer.node(node.op, node.inputs, node.outputs, attributes);
  }
  return writer.str();
}

size_t Net::weight_bytes() const {
  size_t sum = 0;
  for (const auto& [name, constant] : constants) {
    sum += constant.reals.size() * sizeof(float) + constant.integers.size() * sizeof(int64_t);
  }
  return sum;
}

NetBuilder::NetBuilder(uint32_t seed, std::vector<Dim> input, const Ints& shape) : random_(seed) {
  net_.input = std::move(input);
  net_.shape = shape;
}

Planes NetBuilder::input() const {
  return {"x", net_.shape[0], net_.shape[1], net_.shape[2], net_.shape[3]};
}

Planes NetBuilder::conv(const Planes& x, const ConvLayer& layer) {
  const int64_t groups = layer.depthwise ? x.channels : 1;
  const int64_t to = layer.depthwise ? x.channels : layer.to;
  const int64_t fan_in = x.channels / groups * layer.size * layer.size;
  const int64_t half = (layer.size - 1) / 2 * layer.dilation;
  const Ints pads = layer.pads.empty() ? Ints{half, half, half, half} : layer.pads;

  NetAttributes attributes{{"kernel_shape", Ints{layer.size, layer.size}},
                           {"strides", Ints{layer.stride, layer.stride}},
                           {"dilations", Ints{layer.dilation, layer.dilation}},
                           {"group", groups}};
  if (layer.padding == Padding::same_upper) {
    attributes["auto_pad"] = std::string("SAME_UPPER");
  } else {
    attributes["pads"] = pads;
  }
  // The gain compensates for the activation, so that signals neither vanish nor explode.
  const double gain = layer.activation == Activation::none ? 1 : 2;
  const double deviation = std::sqrt(gain / static_cast<double>(fan_in));
  std::vector<std::string> inputs{
      x.name, weights({to, x.channels / groups, layer.size, layer.size}, deviation)};
  if (!layer.normalized) inputs.push_back(weights({to}, 0.1));
  std::string name = op("Conv", inputs, attributes);
  if (layer.normalized) {
    name = op("BatchNormalization",
              {name, between({to}, 0.5F, 1.5F), weights({to}, 0.1), weights({to}, 0.1),
               between({to}, 0.5F, 1.5F)},
              {{"epsilon", 1e-3F}});
  }
  const Planes result{name, x.batch, to, windows(x.height, layer, pads[0], pads[2]),
                      windows(x.width, layer, pads[1], pads[3])};
  return activate(this->layer(result, {x}), layer.activation);
}

Planes NetBuilder::activate(const Planes& x, Activation activation) {
  Planes result = x;
  switch (activation) {
    case Activation::none:
      break;
    case Activation::relu:
      result.name = op("Relu", {x.name});
      break;
    case Activation::relu6:
      result.name = op("Clip", {x.name, reals({}, {0}), reals({}, {6})});
      break;
    case Activation::silu:
      result.name = op("Mul", {x.name, op("Sigmoid", {x.name})});
      break;
    case Activation::hard_swish:
      result.name = op("HardSwish", {x.name});
      break;
    case Activation::hard_sigmoid:
      result.name = op("HardSigmoid", {x.name}, {{"alpha", 1.0F / 6}});
      break;
  }
  return result;
}

Planes NetBuilder::add(const Planes& a, const Planes& b) {
  Planes result = a;
  result.name = op("Add", {a.name, b.name});
  return layer(result, {a, b});
}

Planes NetBuilder::multiply(const Planes& a, const Planes& b) {
  Planes result = a;
  result.name = op("Mul", {a.name, b.name});
  return layer(result, {a, b});
}

Planes NetBuilder::concat(const std::vector<Planes>& parts) {
  Planes result = parts[0];
  result.channels = 0;
  std::vector<std::string> names;
  for (const Planes& part : parts) {
    names.push_back(part.name);
    result.channels += part.channels;
  }
  result.name = op("Concat", names, {{"axis", int64_t{1}}});
  return layer(result, parts);
}

Planes NetBuilder::max_pool(const Planes& x, int64_t size, int64_t stride, int64_t pad) {
  Planes result = x;
  result.name = op("MaxPool", {x.name},
                   {{"kernel_shape", Ints{size, size}},
                    {"strides", Ints{stride, stride}},
                    {"pads", Ints{pad, pad, pad, pad}}});
  result.height = (x.height + 2 * pad - size) / stride + 1;
  result.width = (x.width + 2 * pad - size) / stride + 1;
  return layer(result, {x});
}

Planes NetBuilder::global_average(const Planes& x) {
  return layer({op("GlobalAveragePool", {x.name}), x.batch, x.channels, 1, 1}, {x});
}

std::string NetBuilder::op(const std::string& op, const std::vector<std::string>& inputs,
                           const NetAttributes& attributes) {
  return this->op(op, 1, inputs, attributes)[0];
}

std::vector<std::string> NetBuilder::op(const std::string& op, size_t outputs,
                                        const std::vector<std::string>& inputs,
                                        const NetAttributes& attributes) {
  std::vector<std::string> names;
  while (names.size() < outputs) names.push_back(next_name("t"));
  net_.nodes.push_back({op, inputs, names, attributes});
  return names;
}

std::string NetBuilder::integers(const Ints& values) {
  const std::string name = next_name("i");
  net_.constants[name] = {{static_cast<int64_t>(values.size())}, {}, values};
  return name;
}

std::string NetBuilder::reals(const Ints& dims, const std::vector<float>& values) {
  const std::string name = next_name("c");
  net_.constants[name] = {dims, values, {}};
  return name;
}

// Uniformly distributed numbers with that standard deviation.
std::string NetBuilder::weights(const Ints& dims, double deviation) {
  const auto limit = static_cast<float>(deviation * std::sqrt(3.0));
  return between(dims, -limit, limit);
}

std::string NetBuilder::between(const Ints& dims, float low, float high) {
  std::vector<float> values(static_cast<size_t>(count(dims)));
  const float step = (high - low) / 16777216.0F;
  for (float& value : values) value = low + static_cast<float>(random_() >> 8) * step;
  return reals(dims, values);
}

Net NetBuilder::finish(std::vector<NetOutput> outputs) {
  net_.outputs = std::move(outputs);
  return std::move(net_);
}

Planes NetBuilder::layer(const Planes& result, const std::vector<Planes>& inputs) {
  size_t largest = 0;
  for (const Planes& input : inputs) largest = std::max(largest, bytes(input));
  net_.layer_bytes = std::max(net_.layer_bytes, largest + bytes(result));
  return result;
}

int64_t rounded_width(double channels) {
  const int64_t rounded = std::max<int64_t>(8, static_cast<int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * channels ? rounded + 8 : rounded;
}

}  // namespace dala::test
