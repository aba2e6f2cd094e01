// Networks of tests and benchmarks: nodes and seeded weights, which are written to an ONNX file for
// the loader and executed by the reference. Independent of the library under test.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "support/onnx_writer.hpp"

namespace dala::test {

using Ints = std::vector<int64_t>;
using NetAttribute = std::variant<int64_t, float, std::string, Ints>;
using NetAttributes = std::map<std::string, NetAttribute>;

struct NetNode {
  std::string op;
  std::vector<std::string> inputs;  // "" for an omitted input
  std::vector<std::string> outputs;
  NetAttributes attributes;
};

struct NetConstant {
  Ints dims;
  std::vector<float> reals;
  Ints integers;  // in place of `reals`
};

struct NetOutput {
  std::string name;
  std::vector<Dim> dims;  // as the file declares them
};

struct Net {
  std::vector<Dim> input;  // of "x"; free dimensions have a name
  Ints shape;              // the one it was written for
  std::vector<NetOutput> outputs;
  std::vector<NetNode> nodes;
  std::map<std::string, NetConstant> constants;
  // The largest sum of input and output bytes of a layer at that shape, where normalization and
  // activation count as part of the layer.
  size_t layer_bytes = 0;

  std::string onnx() const;
  size_t weight_bytes() const;
};

// A tensor {n, c, h, w} of a network.
struct Planes {
  std::string name;
  int64_t batch = 1;
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
};

enum class Activation { none, relu, relu6, silu, hard_swish, hard_sigmoid };
enum class Padding { centred, same_upper };  // (window - 1) / 2 on every side; auto_pad

struct ConvLayer {
  int64_t to = 0;  // channels
  int64_t size = 1;
  int64_t stride = 1;
  Activation activation = Activation::none;
  bool depthwise = false;
  int64_t dilation = 1;
  bool normalized = true;  // followed by BatchNormalization; otherwise it has a bias
  Padding padding = Padding::centred;
  Ints pads = {};  // top, left, bottom, right, in place of `padding`
};

// Writes a network layer by layer.
class NetBuilder {
 public:
  // `input` as the file declares it, with `shape` where it has names.
  NetBuilder(uint32_t seed, std::vector<Dim> input, const Ints& shape);

  Planes input() const;

  Planes conv(const Planes& x, const ConvLayer& layer);
  Planes activate(const Planes& x, Activation activation);
  Planes add(const Planes& a, const Planes& b);
  Planes multiply(const Planes& a, const Planes& b);  // b may be one value per channel
  Planes concat(const std::vector<Planes>& parts);    // along channels
  Planes max_pool(const Planes& x, int64_t size, int64_t stride, int64_t pad);
  Planes global_average(const Planes& x);

  // Records the size of a layer with these inputs and outputs, see Net::layer_bytes.
  Planes layer(const Planes& result, const std::vector<Planes>& inputs);

  // Adds a node with one output and returns the name of its result.
  std::string op(const std::string& op, const std::vector<std::string>& inputs,
                 const NetAttributes& attributes = {});
  // Adds a node with several outputs.
  std::vector<std::string> op(const std::string& op, size_t outputs,
                              const std::vector<std::string>& inputs,
                              const NetAttributes& attributes = {});
  std::string integers(const Ints& values);
  std::string reals(const Ints& dims, const std::vector<float>& values);
  // Weights of that standard deviation, and numbers in a range.
  std::string weights(const Ints& dims, double deviation);
  std::string between(const Ints& dims, float low, float high);

  Net finish(std::vector<NetOutput> outputs);

 private:
  std::string next_name(const std::string& stem) { return stem + std::to_string(++names_); }

  std::mt19937 random_;
  int names_ = 0;
  Net net_;
};

// Rounds to a multiple of 8, not below 90 %, as these networks round their widths.
int64_t rounded_width(double channels);

}  // namespace dala::test
