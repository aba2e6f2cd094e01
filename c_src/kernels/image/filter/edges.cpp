#include <algorithm>

#include "kernels/checks.hpp"
#include "kernels/image/filter/edges_args.h"
#include "kernels/image/filter/spatial.hpp"

namespace dala {
namespace {

void check_edges(const Call& call) {
  need_output_dtype("edge_detect", call, {call.inputs[0].dtype});
  const Image image = input_image(call, "edge_detect");
  std::vector<Shape> allowed{call.inputs[0].shape};
  if (call.inputs[0].shape.size() == 1) {
    allowed.push_back({image.height * image.width});
  } else {
    allowed.push_back({image.height, image.width});
    allowed.push_back({image.height, image.width, 1});
  }
  allowed.erase(std::unique(allowed.begin(), allowed.end()), allowed.end());
  need_output_shape("edge_detect", call, allowed);
}

Launch plan_edges(const Call& call, Planner& planner) {
  Launch launch;
  const Image image = input_image(call, "edge_detect");
  if (element_count(image) == 0) return launch;
  Edges edges;
  edges.channels = call.output.count() / (image.height * image.width);
  edges.scale = static_cast<float>(call.number("scale"));
  const auto program = spatial_program(planner, call.output.dtype);
  if (planner.cpu_class()) {
    constexpr int64_t kLines = 4;
    const int64_t columns = line_bytes(planner) / (kLines * static_cast<int64_t>(sizeof(float)));
    const Tile tile = tile_of(planner, image, columns - 2);
    const auto bytes = static_cast<size_t>(kLines * (tile.columns + 2)) * sizeof(float);
    launch.steps.push_back(KernelStep{
        program,
        "edge_detect",
        {input(0), output(), value(image), value(edges), value(tile), LocalMemory{bytes}},
        tile_range(image, tile)});
  } else {
    launch.steps.push_back(KernelStep{program,
                                      "edge_detect",
                                      {input(0), output(), value(image), value(edges)},
                                      item_range(planner, image.height * image.width)});
  }
  const double operations = 20.0 * static_cast<double>(image.height * image.width);
  launch.work = static_cast<double>(call.inputs[0].bytes() + call.output.bytes()) + operations / 8;
  return launch;
}

}  // namespace

Descriptor edge_detect_kernel() {
  Descriptor edges;
  edges.name = "edge_detect";
  edges.summary =
      "The gradient of the brightness (BT.601, not rounded) by Sobel: scale * sqrt(gx^2 + gy^2) "
      "with weights 1, 2, 1, in every channel; mirrored at the edges. Alpha is kept.";
  edges.dtypes = kImageDTypes;
  edges.output_rule = "the input's element type; its shape, or its shape with one channel";
  edges.params = image_params(
      {number_param("scale", 1, 0, 1024,
                    "the factor of the result; a step from black to white is 4 times white")});
  edges.check = check_edges;
  edges.plan = plan_edges;
  return edges;
}

}  // namespace dala
