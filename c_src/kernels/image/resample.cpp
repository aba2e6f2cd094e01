#include "kernels/image/resample.hpp"

#include <algorithm>

#include "kernels/element.hpp"
#include "kernels/image/spatial.hpp"
#include "kernels/nn/resize.hpp"

namespace dala {
namespace {

// The same layout as the struct of that name in resample.cl.
struct Resample {
  int64_t height = 0;
  int64_t width = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t channels = 1;
  int32_t columns = 1;
  int32_t rows = 1;
};

// The same layout as the struct of that name in area.cl.
struct Area {
  int64_t planes = 1;
  int64_t height = 0;
  int64_t width = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t channels = 1;
  int64_t columns = 1;
  int64_t rows = 1;
};

std::shared_ptr<Program> bilinear_program(Planner& planner) {
  return planner.program("bilinear", [&] {
    const Defines lanes{{"LANES", std::to_string(4 * vector_floats(planner))}};
    return std::vector<Part>{
        {"image/loops.cl", {}, lines(element_defines(DType::u8))},
        {"image/image.cl"},
        {"image/gauss.cl"},
        {"image/words_cpu.cl", {}, lines(lanes)},
        {"image/resample.cl"},
        {"image/bilinear_cpu.cl"},
    };
  });
}

std::shared_ptr<Program> area_program(Planner& planner, DType dtype) {
  return planner.program(text("area ", to_string(dtype)), [&] {
    Defines defines = element_defines(dtype);
    defines.emplace_back("ACC", dtype == DType::f64 ? "double" : "float");
    defines.emplace_back("ACC4", dtype == DType::f64 ? "double4" : "float4");
    std::vector<Part> parts{
        {"image/loops.cl", {}, lines(defines)}, {"image/area.cl"}, {"image/area_gpu.cl"}};
    if (planner.cpu_class()) parts.push_back({"image/area_cpu.cl"});
    return parts;
  });
}

KernelStep bilinear_step(Planner& planner, const Call& call) {
  const Shape& from = call.inputs[0].shape;
  const Shape& to = call.output.shape;
  Resample view{from[0], from[1], to[0], to[1], from.size() == 3 ? from[2] : 1, 1, 1};
  // A place, and four weights.
  constexpr int64_t kColumnBytes = sizeof(int32_t) + 4 * sizeof(uint16_t);
  const int64_t line_columns =
      line_bytes(planner) / (view.channels * static_cast<int64_t>(sizeof(uint16_t)));
  const int64_t fitting = line_columns * view.out_width / view.width;
  const Image result{view.out_height, view.out_width, view.channels};
  const Tile tile = tile_of(
      planner, result,
      std::clamp<int64_t>(fitting, 1, std::max<int64_t>(1, line_bytes(planner) / kColumnBytes)));
  view.columns = tile.columns;
  view.rows = tile.rows;
  const int64_t needed = tile.columns * view.width / view.out_width + 4;
  const auto line = static_cast<size_t>(std::min(needed, view.width + 2) * view.channels + 8);
  const auto padded = static_cast<size_t>(tile.columns) + 8;
  return {
      bilinear_program(planner),
      "bilinear",
      {input(0), output(), value(view), LocalMemory{line * sizeof(uint16_t)},
       LocalMemory{padded * sizeof(int32_t)}, LocalMemory{4 * padded * sizeof(uint16_t)}},
      tile_range(result, tile),
  };
}

Area area_of(const Call& call) {
  const ResizedPlanes planes = view_of_planes(call);
  Area view;
  view.planes = planes.planes;
  view.height = planes.height;
  view.width = planes.width;
  view.out_height = planes.out_height;
  view.out_width = planes.out_width;
  view.channels = planes.channels;
  return view;
}

KernelStep area_step(Planner& planner, const Call& call) {
  Area view = area_of(call);
  const DType dtype = call.output.dtype;
  const auto acc = static_cast<int64_t>(dtype == DType::f64 ? sizeof(double) : sizeof(float));
  const int64_t line_columns = line_bytes(planner) / (view.channels * acc) - 2;
  const int64_t fitting = line_columns * view.out_width / view.width;
  if (!planner.cpu_class() || fitting < 1) {
    return {area_program(planner, dtype),
            "area_items",
            {input(0), output(), value(view)},
            item_range(planner, call.output.count())};
  }
  const Image result{view.out_height, view.out_width, view.channels};
  const Tile tile = tile_of(planner, result, fitting);
  view.columns = tile.columns;
  view.rows = tile.rows;
  const int64_t needed = tile.columns * view.width / view.out_width + 2;
  Range range = tile_range(result, tile);
  range.dimensions = 3;
  range.global[2] = static_cast<size_t>(view.planes);
  return {area_program(planner, dtype),
          "area_tiles",
          {input(0), output(), value(view),
           LocalMemory{static_cast<size_t>(needed * view.channels * acc)}},
          range};
}

bool fast_bilinear(const Call& call, const Planner& planner) {
  const Shape& shape = call.inputs[0].shape;
  const int64_t channels = shape.size() == 3 ? shape[2] : 1;
  return planner.cpu_class() && call.output.dtype == DType::u8 && shape.size() < 4 &&
         (channels == 1 || channels == 3 || channels == 4) && call.choice("mode") == "bilinear" &&
         !call.flag("align_corners");
}

}  // namespace

std::optional<Launch> plan_resample(const Call& call, Planner& planner) {
  Launch launch;
  if (call.choice("mode") == "area") {
    launch.steps.push_back(area_step(planner, call));
  } else if (fast_bilinear(call, planner)) {
    launch.steps.push_back(bilinear_step(planner, call));
  } else {
    return std::nullopt;
  }
  const double operations =
      2.0 * static_cast<double>(call.inputs[0].count() + 2 * call.output.count());
  launch.work = static_cast<double>(call.inputs[0].bytes() + call.output.bytes()) + operations / 8;
  return launch;
}

}  // namespace dala
