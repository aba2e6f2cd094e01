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

// The type of a buffer other than the first output.
const TensorType& type_of(const Call& call, int buffer) {
  const auto index = static_cast<size_t>(buffer);
  return index < call.inputs.size() ? call.inputs[index]
                                    : call.more_outputs[index - call.inputs.size()];
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
                 bool pixels, const std::vector<std::string>& outputs)
    : kernel_(std::move(kernel)),
      params_(params.begin(), params.end()),
      sizes_(std::move(sizes)),
      pixels_(pixels) {
  std::vector<KernelArgument> more_outputs(outputs.size() - 1);
  for (KernelArgument& argument : arguments) {
    const auto output = std::find(outputs.begin(), outputs.end(), argument.name);
    if (argument.kind == KernelArgument::Kind::scalar) {
      scalars_.push_back(argument.name);
    } else if (output == outputs.begin()) {
      output_ = std::move(argument);
    } else if (output != outputs.end()) {
      more_outputs[static_cast<size_t>(output - outputs.begin()) - 1] = std::move(argument);
    } else if (argument.kind == KernelArgument::Kind::buffer) {
      buffers_.push_back(std::move(argument));
    }
  }
  inputs_ = buffers_.size();
  for (KernelArgument& argument : more_outputs) buffers_.push_back(std::move(argument));
  for (const auto& [suffix, of] : kLengths) {
    names_.emplace(suffix, Length{of});
    if (outputs.size() > 1) names_.emplace(outputs.front() + "_" + suffix, Length{of});
  }
  const auto name_buffer = [this](const std::string& prefix, size_t buffer) {
    for (const auto& [suffix, of] : kLengths) {
      names_.emplace(prefix + suffix, Length{of, static_cast<int>(buffer), prefix});
    }
  };
  for (size_t i = 0; i < buffers_.size(); ++i) name_buffer(buffers_[i].name + "_", i);
  for (size_t i = 0; i < inputs_; ++i) {
    name_buffer(inputs_ == 1 ? "input_" : text("input", i, "_"), i);
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

// The filled-in arguments that describe a buffer, or the call if `buffer` is below 0.
std::vector<Length> Lengths::lengths_of(int buffer) const {
  std::vector<Length> lengths;
  for (const std::string& scalar : scalars_) {
    const auto length = find(scalar);
    if (length && length->buffer == buffer) lengths.push_back(*length);
  }
  return lengths;
}

// Whether the kernel takes a length of the buffer, filled in or as a parameter set by the caller.
bool Lengths::takes_length_of(int buffer) const {
  return std::any_of(scalars_.begin(), scalars_.end(), [&](const std::string& scalar) {
    const auto found = names_.find(scalar);
    return found != names_.end() && found->second.buffer == buffer;
  });
}

bool Lengths::takes_n() const {
  const std::vector<Length> lengths = lengths_of(-1);
  return std::any_of(lengths.begin(), lengths.end(),
                     [](const Length& each) { return each.of == Length::Of::n; });
}

bool Lengths::works_on_image() const {
  const std::vector<Length> lengths = lengths_of(-1);
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
  const bool unchecked = prefix.empty() && declared_size(output_.name).has_value();
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

Lengths::Image Lengths::image_of(const Length& length, const Call& call) const {
  return read_image(type_of(call, length.buffer), name_of(length.buffer), length.prefix, call);
}

std::string Lengths::name_of(int buffer) const {
  const auto index = static_cast<size_t>(buffer);
  return index < inputs_ ? text("input ", index) : text("output ", index - inputs_ + 1);
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
  for (size_t i = 0; i < buffers_.size(); ++i) check_buffer(static_cast<int>(i), call);
}

void Lengths::check_output(const Call& call) const {
  if (const auto size = declared_size(output_.name)) {
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

void Lengths::check_buffer(int buffer, const Call& call) const {
  const KernelArgument& argument = buffers_[static_cast<size_t>(buffer)];
  const TensorType& type = type_of(call, buffer);
  const bool is_input = static_cast<size_t>(buffer) < inputs_;
  const std::string what = text(name_of(buffer), " (", argument.name, ") of ", kernel_);
  for (const Length& length : lengths_of(buffer)) {
    if (length.of == Length::Of::n) continue;
    image_of(length, call);
    if (type.count() == 0 && call.output.count() > 0) refuse(text(what, " is an empty image"));
  }
  if (const auto size = declared_size(argument.name)) {
    if (type.count() >= *size) return;
    refuse(text(what, " has ", type.count(), " elements, expected at least ", *size));
  }
  if (takes_length_of(buffer)) return;
  double needed = pixels_ && !takes_n() ? 0.0 : static_cast<double>(output_length(call));
  if (works_on_image()) {
    const Image size = image(call);
    needed = std::max(needed, argument.lanes > 1 ? size.pixels() : size.elements());
  }
  needed *= argument.lanes;
  if (static_cast<double>(type.count()) >= needed) return;
  refuse(text(what, " has ", type.count(), " elements, but the kernel may ",
              is_input ? "read " : "write ", digits_of(needed), " according to the size of the ",
              is_input || buffers_.size() == inputs_ ? "output" : "first output",
              "; declare an argument with the length of the ", is_input ? "input" : "output",
              ", such as int ", argument.name, "_n, or register the kernel with sizes: [",
              argument.name, ": ...]"));
}

double Lengths::value(const Length& length, const Call& call) const {
  if (length.of == Length::Of::n) {
    if (length.buffer < 0) return static_cast<double>(output_length(call));
    const auto index = static_cast<size_t>(length.buffer);
    return static_cast<double>(units(type_of(call, length.buffer), buffers_[index]));
  }
  const Image size = length.buffer < 0 ? image(call) : image_of(length, call);
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
