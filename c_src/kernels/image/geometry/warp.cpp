// The kernel that moves pixels by a matrix: affine and perspective warps.
#include <algorithm>
#include <cmath>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/image/filter/spatial.hpp"
#include "kernels/image/geometry/warp_args.h"
#include "kernels/image/kernels.hpp"

namespace dala {
namespace {

std::shared_ptr<Program> warp_program(Planner& planner, DType dtype) {
  return planner.program(text("warp ", to_string(dtype)), [&] {
    return ProgramSource{element_defines(dtype), {{"image/geometry/warp.cl"}}};
  });
}

void check_warp(const Call& call) {
  need_output_dtype("warp", call, {call.inputs[0].dtype});
  const Image from = shaped_image(call.inputs[0], "input 0 of warp");
  const Image to = shaped_image(call.output, "the output of warp");
  if (from.channels != to.channels) {
    throw Error(Reason::shape_mismatch,
                text("the output of warp has shape ", to_string(call.output.shape), " and ",
                     to.channels, " channels, expected ", from.channels, " like input 0"));
  }
  if (call.numbers("matrix").size() == 1) {
    throw Error(Reason::invalid_param, text("matrix of warp must be a list of 6 or 9 numbers, got ",
                                            to_string(call.params.at("matrix"))));
  }
}

Launch plan_warp(const Call& call, Planner& planner) {
  const Image from = shaped_image(call.inputs[0], "input 0 of warp");
  const Image to = shaped_image(call.output, "the output of warp");
  Launch launch;
  if (element_count(to) == 0) return launch;
  Warp view;
  view.height = to.height;
  view.width = to.width;
  view.in_height = from.height;
  view.in_width = from.width;
  view.channels = from.channels;
  // An empty picture has no nearest pixel.
  view.edge = call.choice("border") == "edge" && element_count(from) != 0 ? 1 : 0;
  std::vector<double> matrix = call.numbers("matrix");
  if (matrix.size() == 6) matrix.insert(matrix.end(), {0, 0, 1});
  std::transform(matrix.begin(), matrix.end(), view.matrix.begin(),
                 [](double number) { return static_cast<float>(number); });
  const int64_t pixels = to.height * to.width;
  Range range = item_range(planner, pixels);
  if (planner.cpu_class()) {
    view.span = std::max<int64_t>(ceil_div(pixels, 4 * planner.busy_groups()), 64);
    range = {};
    range.global[0] = static_cast<size_t>(ceil_div(pixels, view.span));
  }
  launch.steps.push_back(KernelStep{
      warp_program(planner, call.output.dtype), "warp", {input(0), output(), value(view)}, range});
  launch.work = 2.0 * static_cast<double>(call.output.bytes() + 4 * pixels);
  return launch;
}

}  // namespace

Descriptor warp_kernel() {
  ParamSpec matrix;
  matrix.name = "matrix";
  matrix.kind = ParamSpec::Kind::numbers;
  matrix.fallback = std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1};
  matrix.min = -1e30;
  matrix.max = 1e30;
  matrix.counts = {6, 9};
  matrix.summary =
      "6 or 9 numbers, row by row, that turn the place (x, y, 1) of a pixel of the output into its "
      "place in the input";
  Descriptor warp;
  warp.name = "warp";
  warp.summary =
      "A picture moved by a matrix, affine or with perspective; bilinear, centres of pixels being "
      "at integers.";
  warp.dtypes = kImageDTypes;
  warp.output_rule = "the input's element type and channels, any height and width";
  warp.params = {matrix,
                 choice_param("border", {"zero", "edge"},
                              "what is outside of the picture: 0 in all channels, or its edge")};
  warp.check = check_warp;
  warp.plan = plan_warp;
  return warp;
}

}  // namespace dala
