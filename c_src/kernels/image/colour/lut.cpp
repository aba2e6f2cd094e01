// lut: colours looked up in a table.
#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/image/colour/colour.hpp"
#include "kernels/image/colour/lookup_args.h"
#include "kernels/image/pixels/pixels.hpp"

namespace dala {
namespace {

constexpr int64_t kMaxCube = 256;
constexpr int64_t kMaxTable = 65536;

ParamSpec domain_param(const std::string& name, double fallback, const std::string& summary) {
  ParamSpec param;
  param.name = name;
  param.kind = ParamSpec::Kind::numbers;
  param.fallback = fallback;
  param.min = -1e6;
  param.max = 1e6;
  param.counts = {3};
  param.summary = summary;
  return param;
}

bool is_cube(const Shape& shape) {
  return shape.size() == 4 && shape[0] == shape[1] && shape[1] == shape[2] && shape[3] == 3 &&
         shape[0] >= 2 && shape[0] <= kMaxCube;
}
bool is_line(const Shape& shape) {
  return shape.size() == 2 && shape[1] == 3 && shape[0] >= 2 && shape[0] <= kMaxTable;
}

std::vector<double> domain(const Call& call, const std::string& name) {
  std::vector<double> numbers = call.numbers(name);
  numbers.resize(3, numbers[0]);
  return numbers;
}

void check_lut(const Call& call) {
  check_same_image("lut", call);
  const Image image = input_image(call, "lut");
  if (image.channels == 1) {
    throw Error(Reason::shape_mismatch,
                text("input 0 of lut has shape ", to_string(call.inputs[0].shape),
                     " and one channel, expected 3 or 4 channels"));
  }
  const TensorType& table = call.inputs[1];
  if (table.dtype != DType::f32) {
    throw Error(Reason::dtype_mismatch,
                text("input 1 of lut is ", to_string(table.dtype), ", expected f32"));
  }
  if (!is_cube(table.shape) && !is_line(table.shape)) {
    throw Error(Reason::shape_mismatch, text("input 1 of lut has shape ", to_string(table.shape),
                                             ", expected {n, n, n, 3} with n from 2 to ", kMaxCube,
                                             ", or {n, 3} with n from 2 to ", kMaxTable));
  }
  const std::vector<double> low = domain(call, "domain_min");
  const std::vector<double> high = domain(call, "domain_max");
  for (size_t c = 0; c < 3; ++c) {
    if (low[c] < high[c]) continue;
    throw Error(Reason::invalid_param, text("domain_max of lut must be above domain_min, got ",
                                            to_string(call.params.at("domain_max")), " and ",
                                            to_string(call.params.at("domain_min"))));
  }
}

Launch plan_lut(const Call& call, Planner& planner) {
  Launch launch;
  launch.in_place = call.inputs[1] != call.output;
  const Image image = input_image(call, "lut");
  Lookup view;
  view.count = image.height * image.width;
  if (view.count == 0) return launch;
  const Chunks chunks = chunks_of(planner, view.count);
  view.chunk = chunks.chunk;
  view.size = call.inputs[1].shape[0];
  view.cube = is_cube(call.inputs[1].shape) ? 1 : 0;
  const std::vector<double> low = domain(call, "domain_min");
  const std::vector<double> high = domain(call, "domain_max");
  for (size_t c = 0; c < 3; ++c) {
    const double scale = static_cast<double>(view.size - 1) / (high[c] - low[c]);
    view.scale[c] = static_cast<float>(scale);
    view.added[c] = static_cast<float>(-low[c] * scale);
  }
  const DType dtype = call.output.dtype;
  const auto program = planner.program(text("lut ", to_string(dtype)), [&] {
    ProgramSource source{element_defines(dtype), {}};
    for (const std::string channels : {"3", "4"}) {
      source.parts.push_back(
          {"image/colour/lut.cl", {{"ENTRY", "lut_" + channels}, {"CHANNELS", channels}}});
    }
    return source;
  });
  launch.steps.push_back(KernelStep{program,
                                    text("lut_", image.channels),
                                    {input(0), input(1), output(), value(view)},
                                    chunks.range});
  // Seven interpolations of three channels.
  launch.work =
      2.0 * static_cast<double>(call.output.bytes()) + 42.0 * static_cast<double>(view.count) / 8;
  return launch;
}

}  // namespace

Descriptor lut_kernel() {
  Descriptor lut;
  lut.name = "lut";
  lut.summary =
      "Looks colours up in the table of input 1 (see Dala.Media.Lut): f32 {n, n, n, 3} in the "
      "order of .cube files, trilinear, or {n, 3} for each channel separately; colours outside the "
      "domain are clamped to it.";
  lut.inputs = 2;
  lut.dtypes = kImageDTypes;
  lut.output_rule = "the element type and shape of input 0";
  lut.params = image_params(
      {domain_param("domain_min", 0, "the colour of the first entry: one number, or {r, g, b}"),
       domain_param("domain_max", 1, "the colour of the last entry: one number, or {r, g, b}")});
  lut.check = check_lut;
  lut.plan = plan_lut;
  lut.sample = [](DType dtype) {
    return Call{{{dtype, {1, 1, 4}}, {DType::f32, {2, 2, 2, 3}}}, {dtype, {1, 1, 4}}, {}};
  };
  return lut;
}

}  // namespace dala
