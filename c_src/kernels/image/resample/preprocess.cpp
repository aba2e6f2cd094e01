// `preprocess`: an image in the size, range and layout that a network expects. The mapping between
// the image and the result is also in lib/dala/ml/geometry.ex, which maps positions in the result
// back to the image.
#include <algorithm>
#include <array>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/image/filter/spatial.hpp"
#include "kernels/image/kernels.hpp"
#include "kernels/image/resample/preprocess_args.h"

namespace dala {
namespace {

const std::string kName = "preprocess";
constexpr double kLevels = 255;

struct Size {
  int64_t height = 0;
  int64_t width = 0;
};

bool planes_first(const Call& call) { return call.choice("layout") == "nchw"; }

// The number of images in the result.
int64_t batch(const Call& call) { return call.output.shape.size() == 4 ? call.output.shape[0] : 1; }

// The size of an image in the result, whose shape must have three channels in the layout.
Size result_size(const Call& call) {
  Shape shape = call.output.shape;
  if (shape.size() == 4 && shape[0] >= 1) shape.erase(shape.begin());
  const bool planes = planes_first(call);
  const bool right = shape.size() == 3 && shape[planes ? 0 : 2] == 3;
  const Size size = right ? Size{shape[planes ? 1 : 0], shape[planes ? 2 : 1]} : Size{};
  if (size.height < 1 || size.width < 1) {
    throw Error(
        Reason::shape_mismatch,
        text("the output of preprocess has shape ", to_string(call.output.shape), ", expected ",
             planes ? "{n, 3, h, w}" : "{n, h, w, 3}", " for the layout ", call.choice("layout")));
  }
  if (call.has("size")) {
    std::vector<int64_t> wanted = call.integers("size");
    if (wanted.size() == 1) wanted.push_back(wanted[0]);
    if (wanted[0] != size.width || wanted[1] != size.height) {
      throw Error(Reason::shape_mismatch,
                  text("the output of preprocess has shape ", to_string(call.output.shape),
                       ", expected the size ", wanted[0], " x ", wanted[1]));
    }
  }
  if (call.integer("index") >= batch(call)) {
    throw Error(Reason::invalid_param,
                text("index of preprocess is ", call.integer("index"), ", the output has shape ",
                     to_string(call.output.shape)));
  }
  return size;
}

Image need_picture(const Call& call) {
  const Image image = input_image(call, kName);
  if (element_count(image) > 0) return image;
  throw Error(Reason::shape_mismatch,
              text("input 0 of preprocess has shape ", to_string(call.inputs[0].shape),
                   ", expected at least one pixel"));
}

int64_t rounded(int64_t numerator, int64_t denominator) {
  return std::max<int64_t>(1, (2 * numerator + denominator) / (2 * denominator));
}

// Maps a region of the image to a rectangle of the result.
void fit(const Image& image, const Size& size, const std::string& how, Preprocess& view) {
  view.height_in = image.height;
  view.width_in = image.width;
  view.height_to = size.height;
  view.width_to = size.width;
  // Whether the image has a wider aspect ratio than the result.
  const bool wide = image.width * size.height >= image.height * size.width;
  if (how == "letterbox") {
    if (wide) view.height_to = rounded(image.height * size.width, image.width);
    if (!wide) view.width_to = rounded(image.width * size.height, image.height);
  } else if (how == "crop") {
    if (wide) view.width_in = rounded(image.height * size.width, size.height);
    if (!wide) view.height_in = rounded(image.width * size.height, size.width);
  }
  view.top = (image.height - view.height_in) / 2;
  view.left = (image.width - view.width_in) / 2;
  view.to_top = (size.height - view.height_to) / 2;
  view.to_left = (size.width - view.width_to) / 2;
}

struct Normalisation {
  std::array<double, 3> mean{0, 0, 0};
  std::array<double, 3> deviation{1, 1, 1};  // for levels from 0 to 1
};

std::array<double, 3> per_channel(const Call& call, const std::string& name, double fallback) {
  if (!call.has(name)) return {fallback, fallback, fallback};
  const std::vector<double> given = call.numbers(name);
  if (given.size() == 1) return {given[0], given[0], given[0]};
  return {given[0], given[1], given[2]};
}

Normalisation normalisation(const Call& call) {
  if (call.has("mean") || call.has("std")) {
    return {per_channel(call, "mean", 0), per_channel(call, "std", 1)};
  }
  const std::string preset = call.choice("normalize");
  if (preset == "imagenet" || preset == "true") {
    return {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
  }
  if (preset == "signed_unit") return {{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}};
  if (preset == "unit") return {};
  constexpr double kRaw = 1 / kLevels;
  return {{0, 0, 0}, {kRaw, kRaw, kRaw}};
}

Preprocess preprocess_of(const Call& call) {
  const Image image = need_picture(call);
  const Size size = result_size(call);
  Preprocess view;
  view.width = image.width;
  view.channels = image.channels;
  view.out_height = size.height;
  view.out_width = size.width;
  view.plane = planes_first(call) ? size.height * size.width : 1;
  view.pixel = planes_first(call) ? 1 : 3;
  view.start = call.integer("index") * 3 * size.height * size.width;
  fit(image, size, call.choice("fit"), view);
  const Normalisation normal = normalisation(call);
  const double top_level = call.inputs[0].dtype == DType::u8 ? kLevels : 1;
  for (size_t c = 0; c < 3; ++c) {
    const double bias = -normal.mean[c] / normal.deviation[c];
    view.gain[c] = static_cast<float>(1 / (top_level * normal.deviation[c]));
    view.bias[c] = static_cast<float>(bias);
    view.border[c] =
        static_cast<float>(call.number("border") / (kLevels * normal.deviation[c]) + bias);
  }
  return view;
}

std::shared_ptr<Program> preprocess_program(Planner& planner, DType dtype) {
  return planner.program(text("preprocess ", to_string(dtype)), [&] {
    return ProgramSource{element_defines(dtype),
                         {{planner.cpu_class() ? "image/resample/preprocess_cpu.cl"
                                               : "image/resample/preprocess.cl"}}};
  });
}

KernelStep preprocess_step(Planner& planner, const Call& call) {
  Preprocess view = preprocess_of(call);
  const auto program = preprocess_program(planner, call.inputs[0].dtype);
  // Columns of the image that an output may cover beyond its share.
  constexpr int64_t kMargin = 4;
  const int64_t column_bytes = view.channels * static_cast<int64_t>(sizeof(float));
  // One element more, since pixels of three channels are loaded as four.
  constexpr int64_t kExtra = sizeof(float);
  const int64_t line_columns = (line_bytes(planner) - kExtra) / column_bytes - kMargin;
  const int64_t fitting =
      std::min<int64_t>(line_columns * view.width_to / view.width_in,
                        line_bytes(planner) / static_cast<int64_t>(sizeof(Column)));
  if (!planner.cpu_class() || fitting < 1) {
    return {program,
            "preprocess_items",
            {input(0), output(), value(view)},
            item_range(planner, view.out_height * view.out_width)};
  }
  const Image result{view.out_height, view.out_width, 3};
  const Tile tile = tile_of(planner, result, fitting);
  view.columns = tile.columns;
  view.rows = tile.rows;
  const int64_t needed = tile.columns * view.width_in / view.width_to + kMargin;
  const auto line = static_cast<size_t>(std::min(needed, view.width_in) * column_bytes + kExtra);
  const size_t spans = static_cast<size_t>(tile.columns) * sizeof(Column);
  return {program,
          "preprocess_tiles",
          {input(0), output(), value(view), LocalMemory{line}, LocalMemory{spans}},
          tile_range(result, tile)};
}

ParamSpec list(const std::string& name, ParamSpec::Kind kind, size_t count, double min, double max,
               const std::string& summary) {
  ParamSpec param;
  param.name = name;
  param.kind = kind;
  param.counts = {count};
  param.min = min;
  param.max = max;
  param.summary = summary;
  return param;
}

ParamSpec index_param() {
  ParamSpec param;
  param.name = "index";
  param.kind = ParamSpec::Kind::integer;
  param.fallback = int64_t{0};
  param.min = 0;
  param.max = 1 << 30;
  param.summary = "the position of the image in an output of several; the others are kept";
  return param;
}

}  // namespace

Descriptor preprocess_kernel() {
  Descriptor descriptor;
  descriptor.name = kName;
  descriptor.summary =
      "Prepares an image as the input of a network in one pass: resized (the mean of the covered "
      "area along an axis that shrinks, bilinear along one that grows), normalised, and laid out; "
      "grey is repeated for three colours, alpha is dropped.";
  descriptor.dtypes = kImageDTypes;
  descriptor.output_rule = "f32 {n, 3, h, w} or {n, h, w, 3}, or the same without the n";
  descriptor.params = image_params(
      {list("size", ParamSpec::Kind::integers, 2, 1, 1 << 30,
            "the expected width and height of the output"),
       choice_param(
           "fit", {"stretch", "letterbox", "crop"},
           "whether the image is stretched to the output, padded with a border, or cropped on two "
           "sides, the latter two in proportion"),
       choice_param(
           "normalize", {"imagenet", "unit", "signed_unit", "raw", "true", "false"},
           "the mean and deviation of ImageNet (also true), 0 to 1, -1 to 1, or 0 to 255 (also "
           "false)"),
       list("mean", ParamSpec::Kind::numbers, 3, -1000, 1000,
            "of red, green and blue from 0 to 1, in place of normalize; 0 when only std is given"),
       list("std", ParamSpec::Kind::numbers, 3, 1e-6, 1000,
            "the standard deviation, by which the difference is divided; 1 when only mean is "
            "given"),
       choice_param("layout", {"nchw", "nhwc"}, "planes, or pixels of three channels"),
       number_param("border", 114, 0, kLevels, "the grey level of the border of letterbox"),
       index_param()});
  descriptor.check = [](const Call& call) {
    need_output_dtype(kName, call, {DType::f32});
    need_picture(call);
    result_size(call);
  };
  descriptor.plan = [](const Call& call, Planner& planner) {
    Launch launch;
    launch.steps.push_back(preprocess_step(planner, call));
    const int64_t pictures = batch(call);
    const double operations =
        2.0 * (static_cast<double>(call.inputs[0].count()) +
               2.0 * static_cast<double>(call.output.count()) / static_cast<double>(pictures));
    launch.work = static_cast<double>(call.inputs[0].bytes()) +
                  static_cast<double>(call.output.bytes()) / static_cast<double>(pictures) +
                  operations / 8;
    launch.overwrites_output = pictures == 1;
    return launch;
  };
  descriptor.sample = [](DType dtype) {
    return Call{{{dtype, {1, 1, 4}}}, {DType::f32, {1, 3, 1, 1}}, {}};
  };
  return descriptor;
}

}  // namespace dala
