#include "kernels/custom/lengths.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "runtime/error.hpp"

namespace dala {
namespace {

constexpr std::pair<const char*, Length::Of> kLengths[] = {{"n", Length::Of::n},
                                                           {"width", Length::Of::width},
                                                           {"height", Length::Of::height},
                                                           {"channels", Length::Of::channels}};

bool is_image(const Shape& shape) { return shape.size() == 2 || shape.size() == 3; }

int64_t units(const TensorType& type, const KernelArgument& argument) {
  return type.count() / argument.lanes;
}

// As text without a fraction: products of three lengths may exceed any integer type.
std::string digits_of(double number) {
  char digits[64];
  std::snprintf(digits, sizeof(digits), "%.0f", number);
  return digits;
}

}  // namespace

Lengths::Lengths(std::string kernel, std::vector<KernelArgument> arguments,
                 const std::vector<std::string>& params, std::map<std::string, int64_t> sizes,
                 bool pixels)
    : kernel_(std::move(kernel)),
      params_(params.begin(), params.end()),
      sizes_(std::move(sizes)),
      pixels_(pixels) {
  for (KernelArgument& argument : arguments) {
    if (argument.kind == KernelArgument::Kind::scalar) {
      scalars_.push_back(argument.name);
    } else if (argument.name == "output") {
      output_ = std::move(argument);
    } else if (argument.kind == KernelArgument::Kind::buffer) {
      inputs_.push_back(std::move(argument));
    }
  }
  for (const auto& [suffix, of] : kLengths) names_.emplace(suffix, Length{of});
  const auto name_input = [this](const std::string& prefix, size_t input) {
    for (const auto& [suffix, of] : kLengths) {
      names_.emplace(prefix + suffix, Length{of, static_cast<int>(input), prefix});
    }
  };
  for (size_t i = 0; i < inputs_.size(); ++i) name_input(inputs_[i].name + "_", i);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    name_input(inputs_.size() == 1 ? "input_" : text("input", i, "_"), i);
  }
}

void Lengths::refuse(const std::string& sentence) const {
  throw Error(Reason::shape_mismatch, sentence);
}

std::optional<Length> Lengths::find(const std::string& name) const {
  const auto found = names_.find(name);
  if (found == names_.end() || params_.contains(name)) return std::nullopt;
  return found->second;
}

// The filled-in arguments that describe an input, or the call if `input` is below 0.
std::vector<Length> Lengths::lengths_of_input(int input) const {
  std::vector<Length> lengths;
  for (const std::string& scalar : scalars_) {
    const auto length = find(scalar);
    if (length && length->input == input) lengths.push_back(*length);
  }
  return lengths;
}

// Whether the kernel takes a length of the input, filled in or as a parameter of such a name, whose
// value is up to the caller.
bool Lengths::takes_length_of(int input) const {
  return std::any_of(scalars_.begin(), scalars_.end(), [&](const std::string& scalar) {
    const auto found = names_.find(scalar);
    return found != names_.end() && found->second.input == input;
  });
}

bool Lengths::takes_n() const {
  return std::find(scalars_.begin(), scalars_.end(), "n") != scalars_.end();
}

bool Lengths::works_on_image() const {
  const std::vector<Length> lengths = lengths_of_input(-1);
  return pixels_ || std::any_of(lengths.begin(), lengths.end(),
                                [](const Length& each) { return each.of != Length::Of::n; });
}

std::vector<ParamSpec> Lengths::params() const {
  std::set<std::string> prefixes;
  if (works_on_image()) prefixes.insert("");
  for (const std::string& scalar : scalars_) {
    const auto length = find(scalar);
    if (length && length->of != Length::Of::n) prefixes.insert(length->prefix);
  }
  std::vector<ParamSpec> specs;
  for (const std::string& prefix : prefixes) {
    for (const char* name : {"width", "height", "channels"}) {
      if (params_.contains(prefix + name)) continue;
      ParamSpec spec;
      spec.name = prefix + name;
      spec.kind = ParamSpec::Kind::integer;
      spec.min = 1;
      spec.max = 1 << 24;
      spec.summary = "of the image, for buffers whose shape does not determine it";
      specs.push_back(std::move(spec));
    }
  }
  return specs;
}

Lengths::Image Lengths::read_image(const TensorType& type, const std::string& what,
                                   const std::string& prefix, const Call& call) const {
  Image image;
  const bool shaped = is_image(type.shape);
  if (shaped) {
    image = {type.shape[1], type.shape[0], type.shape.size() == 3 ? type.shape[2] : 1};
  }
  const auto given = [&](const char* name) { return call.has(prefix + name); };
  if (!shaped && (!given("width") || !given("height"))) {
    refuse(text(kernel_, " works on images: give it buffers of shape {height, width} or ",
                "{height, width, channels}, or the params ", prefix, "width and ", prefix,
                "height; ", what, " is ", to_string(type.shape)));
  }
  if (!given("width") && !given("height") && !given("channels")) return image;
  if (given("width")) image.width = call.integer(prefix + "width");
  if (given("height")) image.height = call.integer(prefix + "height");
  const auto count = static_cast<double>(type.count());
  if (given("channels")) {
    image.channels = call.integer(prefix + "channels");
  } else if (!shaped && image.pixels() > 0 && image.pixels() <= count) {
    image.channels = type.count() / (image.width * image.height);
  }
  const bool unchecked = prefix.empty() && declared_size("output").has_value();
  if (image.elements() != count && !unchecked) {
    refuse(text(prefix, "width ", image.width, ", ", prefix, "height ", image.height, " and ",
                prefix, "channels ", image.channels, " make ", digits_of(image.elements()),
                " elements; ", what, " of ", kernel_, " has ", type.count()));
  }
  return image;
}

Lengths::Image Lengths::image(const Call& call) const {
  const bool from_input = !is_image(call.output.shape) && !call.has("width") &&
                          !call.has("height") && !call.inputs.empty() &&
                          is_image(call.inputs[0].shape);
  if (from_input) return read_image(call.inputs[0], "input 0", "", call);
  return read_image(call.output, "the output", "", call);
}

Lengths::Image Lengths::image_of_input(const Length& length, const Call& call) const {
  const auto index = static_cast<size_t>(length.input);
  return read_image(call.inputs[index], text("input ", index), length.prefix, call);
}

std::optional<int64_t> Lengths::declared_size(const std::string& argument) const {
  for (const std::string& name : {argument, std::string()}) {
    const auto found = sizes_.find(name);
    if (found != sizes_.end()) return found->second;
  }
  return std::nullopt;
}

int64_t Lengths::output_length(const Call& call) const { return units(call.output, output_); }

void Lengths::check(const Call& call) const {
  check_output(call);
  for (size_t i = 0; i < inputs_.size(); ++i) check_input(static_cast<int>(i), call);
}

void Lengths::check_output(const Call& call) const {
  if (const auto size = declared_size("output")) {
    if (call.output.count() < *size) {
      refuse(text("the output of ", kernel_, " has ", call.output.count(),
                  " elements, expected at least ", *size));
    }
    return;
  }
  if (!works_on_image()) return;
  const Image size = image(call);
  const double needed = output_.lanes > 1 ? size.pixels() * output_.lanes : size.elements();
  if (static_cast<double>(call.output.count()) >= needed || (takes_n() && output_.lanes == 1)) {
    return;
  }
  refuse(text("the output of ", kernel_, " has ", call.output.count(),
              " elements, expected at least ", digits_of(needed), " for width ", size.width,
              ", height ", size.height, " and channels ",
              output_.lanes > 1 ? output_.lanes : size.channels,
              "; a kernel whose output has another size must take it as int n"));
}

void Lengths::check_input(int input, const Call& call) const {
  const KernelArgument& argument = inputs_[static_cast<size_t>(input)];
  const TensorType& type = call.inputs[static_cast<size_t>(input)];
  for (const Length& length : lengths_of_input(input)) {
    if (length.of == Length::Of::n) continue;
    image_of_input(length, call);
    if (type.count() == 0 && call.output.count() > 0) {
      refuse(text("input ", input, " (", argument.name, ") of ", kernel_, " is an empty image"));
    }
  }
  if (const auto size = declared_size(argument.name)) {
    if (type.count() >= *size) return;
    refuse(text("input ", input, " (", argument.name, ") of ", kernel_, " has ", type.count(),
                " elements, expected at least ", *size));
  }
  if (takes_length_of(input)) return;
  double needed = pixels_ && !takes_n() ? 0.0 : static_cast<double>(output_length(call));
  if (works_on_image()) {
    const Image size = image(call);
    needed = std::max(needed, argument.lanes > 1 ? size.pixels() : size.elements());
  }
  needed *= argument.lanes;
  if (static_cast<double>(type.count()) >= needed) return;
  refuse(text("input ", input, " (", argument.name, ") of ", kernel_, " has ", type.count(),
              " elements, but the kernel may read ", digits_of(needed),
              " according to the size of the output; declare an argument with the length of the ",
              "input, such as int ", argument.name, "_n, or register the kernel with sizes: [",
              argument.name, ": ...]"));
}

double Lengths::value(const Length& length, const Call& call) const {
  if (length.of == Length::Of::n) {
    if (length.input < 0) return static_cast<double>(output_length(call));
    const auto index = static_cast<size_t>(length.input);
    return static_cast<double>(units(call.inputs[index], inputs_[index]));
  }
  const Image size = length.input < 0 ? image(call) : image_of_input(length, call);
  if (length.of == Length::Of::width) return static_cast<double>(size.width);
  if (length.of == Length::Of::height) return static_cast<double>(size.height);
  return static_cast<double>(size.channels);
}

std::pair<size_t, size_t> Lengths::items(const Call& call) const {
  if (!pixels_) return {static_cast<size_t>(output_length(call)), 1};
  const Image size = image(call);
  return {static_cast<size_t>(size.width), static_cast<size_t>(size.height)};
}

}  // namespace dala
