// Sampling at given coordinates, and non-maximum suppression. The number of boxes that
// NonMaxSuppression keeps depends on values, so it runs on the host once the values are available.
#include <algorithm>

#include "model/ops/families.hpp"

namespace dala::model {
namespace {

struct Box {
  double top = 0;
  double left = 0;
  double bottom = 0;
  double right = 0;
};

Box box_at(const HostTensor& boxes, int64_t index, bool center) {
  const auto at = [&](int64_t i) { return boxes.number(4 * index + i); };
  if (center) {
    return {at(1) - at(3) / 2, at(0) - at(2) / 2, at(1) + at(3) / 2, at(0) + at(2) / 2};
  }
  return {std::min(at(0), at(2)), std::min(at(1), at(3)), std::max(at(0), at(2)),
          std::max(at(1), at(3))};
}

double area(const Box& box) { return (box.bottom - box.top) * (box.right - box.left); }

double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  const double common = height * width;
  return common / (area(a) + area(b) - common);
}

// Keeps boxes in order of descending score that do not overlap a kept box by more than the
// threshold.
void non_max_suppression(OpCall& call) {
  Build& build = call.build;
  const HostTensor& boxes = build.values(call.in(0));
  const HostTensor& scores = build.values(call.in(1));
  const auto number = [&](size_t index, double fallback) {
    return call.has(index) && call.in(index).count() > 0 ? build.values(call.in(index)).number(0)
                                                         : fallback;
  };
  if (boxes.shape.size() != 3 || scores.shape.size() != 3 || boxes.shape[2] != 4 ||
      boxes.shape[0] != scores.shape[0] || boxes.shape[1] != scores.shape[2]) {
    throw Error(Reason::shape_mismatch,
                text("boxes of shape ", to_string(boxes.shape), " do not fit scores of shape ",
                     to_string(scores.shape)));
  }
  const int64_t max_boxes =
      call.has(2) && call.in(2).count() > 0 ? build.values(call.in(2)).integer(0) : 0;
  const double max_overlap = number(3, 0);
  const bool limited = call.has(4) && call.in(4).count() > 0;
  const double min_score = number(4, 0);
  const bool center = call.integer("center_point_box", 0) != 0;
  const int64_t count = boxes.shape[1];
  std::vector<int64_t> selected;
  for (int64_t batch = 0; batch < boxes.shape[0]; ++batch) {
    for (int64_t kind = 0; kind < scores.shape[1]; ++kind) {
      const int64_t row = (batch * scores.shape[1] + kind) * count;
      std::vector<int64_t> order;
      for (int64_t i = 0; i < count; ++i) {
        if (!limited || scores.number(row + i) > min_score) order.push_back(i);
      }
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return scores.number(row + a) > scores.number(row + b);
      });
      std::vector<Box> kept;
      for (int64_t i : order) {
        if (static_cast<int64_t>(kept.size()) >= max_boxes) break;
        const Box box = box_at(boxes, batch * count + i, center);
        const bool covered = std::any_of(kept.begin(), kept.end(), [&](const Box& better) {
          return overlap(box, better) > max_overlap;
        });
        if (covered) continue;
        kept.push_back(box);
        selected.insert(selected.end(), {batch, kind, i});
      }
    }
  }
  const auto rows = static_cast<int64_t>(selected.size()) / 3;
  call.set(0, Build::reshaped(build.constant(vector_of(selected)), {rows, 3}));
}

GridMode grid_mode(const OpCall& call) {
  const std::string mode = call.text("mode", "bilinear");
  if (mode == "nearest") return GRID_NEAREST;
  if (mode == "bilinear" || mode == "linear") return GRID_LINEAR;
  if (mode == "bicubic" || mode == "cubic") return GRID_CUBIC;
  reject(text("mode is \"", mode, "\", expected nearest, linear or cubic"));
}

void grid_sample(OpCall& call) {
  const Tensor& x = call.in(0);
  const Tensor& grid = call.in(1);
  if (x.rank() != 4 && x.rank() == grid.rank()) {
    unsupported(text("GridSample of ", x.rank() - 2, " spatial dimensions is not supported"));
  }
  if (x.rank() != 4 || grid.rank() != 4 || grid.dim(3) != 2 || grid.dim(0) != x.dim(0) ||
      x.dim(2) < 1 || x.dim(3) < 1 || !is_float(x.type) || grid.type != x.type) {
    throw Error(Reason::shape_mismatch,
                text("a grid of shape ", to_string(grid.shape), " does not fit an input of shape ",
                     to_string(x.shape)));
  }
  const std::string padding = call.text("padding_mode", "zeros");
  GridView view{};
  view.channels = x.dim(1);
  view.height = x.dim(2);
  view.width = x.dim(3);
  view.spots = grid.dim(1) * grid.dim(2);
  view.mode = grid_mode(call);
  view.padding = padding == "border"       ? GRID_BORDER
                 : padding == "reflection" ? GRID_REFLECTION
                                           : GRID_ZEROS;
  view.align = call.integer("align_corners", 0);
  Tensor output = call.build.fresh(x.type, {x.dim(0), x.dim(1), grid.dim(1), grid.dim(2)});
  view.count = output.count();
  call.build.run(math_family(x.type), "grid_sample", {x, grid}, output, {}, view, 16);
  call.set(0, output);
}

void roi_align(OpCall& call) {
  const Tensor& x = call.in(0);
  const Tensor& regions = call.in(1);
  const Tensor& batches = call.in(2);
  const int64_t height = call.integer("output_height", 1);
  const int64_t width = call.integer("output_width", 1);
  if (x.rank() != 4 || regions.rank() != 2 || regions.dim(1) != 4 ||
      batches.shape != Shape{regions.dim(0)} || x.dim(2) < 1 || x.dim(3) < 1 || height < 1 ||
      width < 1 || !is_float(x.type) || regions.type != x.type) {
    throw Error(Reason::shape_mismatch, text("regions of shape ", to_string(regions.shape),
                                             " do not fit an input of shape ", to_string(x.shape)));
  }
  RegionView view{};
  view.batches = x.dim(0);
  view.channels = x.dim(1);
  view.height = x.dim(2);
  view.width = x.dim(3);
  view.out_height = height;
  view.out_width = width;
  view.samples = std::clamp<int64_t>(call.integer("sampling_ratio", 0), 0, 4096);
  // Before operator set 16, regions were not offset by half a pixel.
  const std::string fallback = call.opset >= 16 ? "half_pixel" : "output_half_pixel";
  view.half_pixel = call.text("coordinate_transformation_mode", fallback) == "half_pixel" ? 1 : 0;
  view.wide = storage_of(batches.type) == DType::s64 ? 1 : 0;
  if (call.text("mode", "avg") != "avg") unsupported("RoiAlign with mode max is not supported");
  Tensor output = call.build.fresh(x.type, {regions.dim(0), x.dim(1), height, width});
  view.count = output.count();
  const auto scale = static_cast<float>(call.real("spatial_scale", 1));
  call.build.run(math_family(x.type), "roi_align", {x, regions, batches}, output, {value(scale)},
                 view, 32);
  call.set(0, output);
}

}  // namespace

Operators detection_operators() {
  return {
      {"GridSample", grid_sample},
      {"NonMaxSuppression", non_max_suppression},
      {"RoiAlign", roi_align},
  };
}

}  // namespace dala::model
