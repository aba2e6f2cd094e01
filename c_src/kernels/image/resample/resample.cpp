#include "kernels/image/resample/resample.hpp"

#include <algorithm>

#include "kernels/element.hpp"
#include "kernels/image/filter/spatial.hpp"
#include "kernels/image/resample/area_args.h"
#include "kernels/image/resample/resample_args.h"
#include "kernels/nn/resize/resize.hpp"

namespace dala {
namespace {

std::shared_ptr<Program> resample_program(Planner& planner) {
  return planner.program("resample", [&] {
    ProgramSource source{element_defines(DType::u8),
                         {{"image/resample/bilinear_cpu.cl"}, {"image/resample/nearest_cpu.cl"}}};
    source.defines.emplace_back("VALUE_LANES", std::to_string(4 * vector_floats(planner)));
    return source;
  });
}

std::shared_ptr<Program> area_program(Planner& planner, DType dtype) {
  return planner.program(text("area ", to_string(dtype)), [&] {
    ProgramSource source{element_defines(dtype), {{"image/resample/area_gpu.cl"}}};
    source.defines.emplace_back("ACC", dtype == DType::f64 ? "double" : "float");
    source.defines.emplace_back("ACC4", dtype == DType::f64 ? "double4" : "float4");
    if (planner.cpu_class()) source.parts.push_back({"image/resample/area_cpu.cl"});
    return source;
  });
}

int64_t channels_of(const Shape& shape) { return shape.size() == 3 ? shape[2] : 1; }

Resample resample_of(const Call& call) {
  const Shape& from = call.inputs[0].shape;
  const Shape& to = call.output.shape;
  return {from[0], from[1], to[0], to[1], channels_of(from), 1, 1};
}

KernelStep nearest_step(Planner& planner, const Call& call) {
  Resample view = resample_of(call);
  const Image result{view.out_height, view.out_width, view.channels};
  const Tile tile =
      tile_of(planner, result, line_bytes(planner) / static_cast<int64_t>(sizeof(int32_t)));
  view.columns = tile.columns;
  view.rows = tile.rows;
  return {resample_program(planner),
          "nearest",
          {input(0), output(), value(view),
           LocalMemory{static_cast<size_t>(tile.columns) * sizeof(int32_t)}},
          tile_range(result, tile)};
}

KernelStep bilinear_step(Planner& planner, const Call& call) {
  Resample view = resample_of(call);
  // An offset, and four weights.
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
  const auto columns = static_cast<size_t>(tile.columns);
  return {
      resample_program(planner),
      "bilinear",
      {input(0), output(), value(view), LocalMemory{line * sizeof(uint16_t)},
       LocalMemory{columns * sizeof(int32_t)}, LocalMemory{4 * columns * sizeof(uint16_t)}},
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

bool fast_nearest(const Call& call) {
  return call.choice("mode") == "nearest" &&
         static_cast<size_t>(channels_of(call.output.shape)) * size_of(call.output.dtype) ==
             sizeof(uint32_t);
}

bool fast_bilinear(const Call& call) {
  const int64_t channels = channels_of(call.output.shape);
  return call.choice("mode") == "bilinear" && call.output.dtype == DType::u8 &&
         (channels == 1 || channels == 3 || channels == 4);
}

}  // namespace

std::optional<Launch> plan_resample(const Call& call, Planner& planner) {
  const bool picture =
      planner.cpu_class() && call.output.shape.size() < 4 && !call.flag("align_corners");
  Launch launch;
  if (call.choice("mode") == "area") {
    launch.steps.push_back(area_step(planner, call));
  } else if (picture && fast_nearest(call)) {
    launch.steps.push_back(nearest_step(planner, call));
  } else if (picture && fast_bilinear(call)) {
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
