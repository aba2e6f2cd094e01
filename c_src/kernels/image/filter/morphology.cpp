// Morphology: erode and dilate.
#include <algorithm>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/image/filter/morphology_args.h"
#include "kernels/image/filter/spatial.hpp"

namespace dala {
namespace {

std::shared_ptr<Program> morphology_program(Planner& planner, DType dtype) {
  return planner.program(text("morphology ", to_string(dtype)), [&] {
    ProgramSource source{element_defines(dtype), {}};
    const std::string file =
        planner.cpu_class() ? "image/filter/morphology_cpu.cl" : "image/filter/morphology_gpu.cl";
    source.parts = {{file, {{"ENTRY", "erode"}, {"LOWEST", "1"}}},
                    {file, {{"ENTRY", "dilate"}, {"LOWEST", "0"}}}};
    return source;
  });
}

KernelStep cpu_step(Planner& planner, const std::string& entry, DType dtype, const Image& image,
                    const Morphology& square) {
  const auto pixel = image.channels * static_cast<int64_t>(size_of(dtype));
  // Two lines, in which the margins do not exceed the tile.
  const int64_t columns = std::max<int64_t>(line_bytes(planner) / (2 * pixel) - 2 * square.radius,
                                            2 * MOST_MORPHOLOGY_RADIUS);
  const Tile tile = tile_of(planner, image, columns);
  const auto bytes = static_cast<size_t>(2 * (tile.columns + 2 * square.radius) * pixel);
  return {
      morphology_program(planner, dtype),
      entry,
      {input(0), output(), value(image), value(square), value(tile), LocalMemory{bytes}},
      tile_range(image, tile),
  };
}

void add_gpu_steps(Launch& launch, Planner& planner, const std::string& entry, DType dtype,
                   const Image& image, const Morphology& square) {
  const auto program = morphology_program(planner, dtype);
  const Range range = item_range(planner, element_count(image));
  launch.scratch.push_back(static_cast<size_t>(element_count(image)) * size_of(dtype));
  launch.steps.push_back(KernelStep{
      program, entry + "_columns", {input(0), scratch(0), value(image), value(square)}, range});
  launch.steps.push_back(KernelStep{program,
                                    entry + "_rows",
                                    {input(0), scratch(0), output(), value(image), value(square)},
                                    range});
}

Launch plan_morphology(const std::string& entry, const Call& call, Planner& planner) {
  Launch launch;
  const Image image = input_image(call, entry);
  if (element_count(image) == 0) return launch;
  Morphology square;
  square.radius = static_cast<cl_int>(call.integer("radius"));
  const auto moved = static_cast<double>(2 * call.output.bytes());
  launch.work = moved;
  if (square.radius == 0) {
    launch.steps.push_back(CopyStep{input(0), output(), call.output.bytes()});
    return launch;
  }
  if (planner.cpu_class()) {
    launch.steps.push_back(cpu_step(planner, entry, call.output.dtype, image, square));
  } else {
    add_gpu_steps(launch, planner, entry, call.output.dtype, image, square);
  }
  launch.work += static_cast<double>(element_count(image) * (4 * square.radius + 2)) / 8;
  return launch;
}

Descriptor morphology_kernel(const std::string& name, const std::string& summary) {
  ParamSpec radius =
      number_param("radius", 1, 0, MOST_MORPHOLOGY_RADIUS, "how many pixels to each side count");
  radius.kind = ParamSpec::Kind::integer;
  radius.fallback = int64_t{1};
  Descriptor descriptor;
  descriptor.name = name;
  descriptor.summary = summary;
  descriptor.dtypes = kImageDTypes;
  descriptor.output_rule = "the input's element type and shape";
  descriptor.params = image_params({radius});
  descriptor.check = [name](const Call& call) { check_same_image(name, call); };
  descriptor.plan = [name](const Call& call, Planner& planner) {
    return plan_morphology(name, call, planner);
  };
  return descriptor;
}

}  // namespace

Descriptor erode_kernel() {
  return morphology_kernel(
      "erode",
      "The lowest level in the square around each pixel, channel by channel, which makes bright "
      "areas smaller. Alpha stays.");
}

Descriptor dilate_kernel() {
  return morphology_kernel(
      "dilate",
      "The highest level in the square around each pixel, channel by channel, which makes bright "
      "areas larger. Alpha stays.");
}

}  // namespace dala
