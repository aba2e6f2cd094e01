// The reference implementation of conv2d_pack, and its errors for weights that do not match.
#include <doctest/doctest.h>

#include "kernels/nn/conv/convolution.hpp"
#include "kernels/nn/nn.hpp"
#include "support/subject.hpp"

namespace dala::test {
namespace {

// The packed order depends on the device: rows of columns on GPUs, panels of vectors on CPUs, or
// vectors of several groups.
std::vector<Case> pack_cases(DType dtype) {
  const auto packing = [dtype](const Shape& weights, int64_t groups) {
    return Case{
        {{dtype, weights}}, {dtype, packed_weights_shape(weights, groups)}, {{"groups", groups}}};
  };
  return {packing({1, 1, 1, 1}, 1),  packing({5, 1, 3, 3}, 5),   packing({17, 1, 3, 2}, 17),
          packing({33, 3, 1, 1}, 1), packing({70, 2, 3, 3}, 1),  packing({38, 3, 2, 2}, 2),
          packing({6, 1, 1, 3}, 3),  packing({160, 4, 1, 1}, 1), packing({24, 7, 1, 1}, 1),
          packing({32, 4, 3, 2}, 8), packing({40, 8, 1, 2}, 5),  packing({18, 2, 2, 1}, 9)};
}

Tensor packed(const Case& example, const std::vector<Tensor>& inputs) {
  const Shape& w = example.inputs[0].shape;
  const int64_t groups = std::get<int64_t>(example.params.at("groups"));
  const int64_t area = w[2] * w[3];
  const int64_t own = w[0] / groups;
  Tensor result(example.output);
  const auto put = [&](int64_t place, int64_t o, int64_t i, int64_t tap) {
    result.reals[static_cast<size_t>(place)] =
        inputs[0].reals[static_cast<size_t>((o * w[1] + i) * area + tap)];
  };
  const bool panels = engine().planner().cpu_class() && (own > 1 || w[1] > 1);
  const int64_t columns = example.output.shape[3];
  const int64_t group_columns = own == 1 && w[1] == 1 ? 1 : columns / groups;
  const PanelShape shape = panel_shape(engine().planner(), example.output.dtype);
  if (panels && own == w[1] && own <= 8 && own < shape.lanes && w[0] >= shape.lanes &&
      (own & (own - 1)) == 0) {
    for (int64_t block = 0; block * shape.lanes < w[0]; ++block) {
      const int64_t first = std::min(block * shape.lanes, w[0] - shape.lanes);
      for (int64_t o = first; o < first + shape.lanes; ++o) {
        for (int64_t i = 0; i < own; ++i) {
          // The weight of channel i of the group of o is in the vector that exchanges their lanes.
          const int64_t apart = (o - first) % own ^ i;
          for (int64_t tap = 0; tap < area; ++tap) {
            put(((block * area + tap) * own + apart) * shape.lanes + o - first, o, i, tap);
          }
        }
      }
    }
    return result;
  }
  const int64_t vectors = (own + shape.lanes - 1) / shape.lanes;
  const int64_t count = (vectors + shape.max_vectors - 1) / shape.max_vectors;
  const int64_t wide = (vectors + count - 1) / count * shape.lanes;
  for (int64_t o = 0; o < w[0]; ++o) {
    const int64_t group = o / own;
    const int64_t channel = o % own;
    const int64_t width = std::min(wide, vectors * shape.lanes - channel / wide * wide);
    for (int64_t i = 0; i < w[1]; ++i) {
      for (int64_t tap = 0; tap < area; ++tap) {
        const int64_t product = tap * w[1] + i;
        if (panels) {
          put((group * group_columns + channel / wide * wide) * area * w[1] + product * width +
                  channel % wide,
              o, i, tap);
        } else {
          put(product * columns + group * group_columns + channel, o, i, tap);
        }
      }
    }
  }
  return result;
}

const SubjectOf kPack("conv2d_pack", {pack_cases, packed});

}  // namespace

TEST_CASE("conv2d_pack reports mismatches of shape and groups") {
  const auto floats = [](const Shape& shape) { return zeros(DType::f32, shape); };
  const BufferPtr out = floats({1, 6, 6, 6});
  CHECK(failure([&] {
          run("conv2d_pack", {floats({6, 4, 3})}, out);
        }) ==
        "shape_mismatch: input 0 of conv2d_pack has shape {6, 4, 3}, expected {co, c / groups, kh, "
        "kw} with no extent of 0");
  CHECK(failure([&] {
          run("conv2d_pack", {floats({6, 4, 3, 3})}, out, {{"groups", int64_t{4}}});
        }) ==
        "invalid_param: groups of conv2d_pack must divide the 6 output channels of input 0, got 4");
  CHECK(failure([&] {
          run("conv2d_pack", {floats({6, 4, 3, 3})}, out);
        }) ==
        "shape_mismatch: the output of conv2d_pack has shape {1, 6, 6, 6}, expected {3, 3, 4, 16}");
}

}  // namespace dala::test
