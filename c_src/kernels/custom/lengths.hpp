// The lengths that a custom kernel receives, by the names of its arguments, and the check that the
// buffers of a call are that long.
//
// `n`, `width`, `height` and `channels` describe the output, or the image in the first input if the
// output is not an image; of several outputs, the first one. An input named `mask` has `mask_n`,
// `mask_width`, `mask_height` and `mask_channels`, and so has each of several outputs. Independent
// of its name, the only input is also called `input`, and one of several `input0`, `input1` and so
// on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/custom/kernel_arguments.hpp"
#include "kernels/descriptor.hpp"

namespace dala {

struct Length {
  enum class Of { n, width, height, channels } of = Of::n;
  // The index of the input, or, after the inputs, of an output but the first; -1 for the lengths of
  // the call.
  int buffer = -1;
  std::string prefix = {};  // of the argument's name, with the underscore
};

class Lengths {
 public:
  // `outputs`, `params` and `sizes`: see CustomSource. `pixels`: one work-item per pixel.
  Lengths(std::string kernel, std::vector<KernelArgument> arguments,
          const std::vector<std::string>& params, std::map<std::string, int64_t> sizes, bool pixels,
          const std::vector<std::string>& outputs = {"output"});

  // The length with which an argument of this name is filled in; empty for params and other names.
  std::optional<Length> find(const std::string& name) const;
  // Parameters with which a caller sets the lengths that shapes do not determine.
  std::vector<ParamSpec> params() const;

  // Throws `shape_mismatch` for a call that does not determine a length, or in which the kernel
  // would access a buffer past its end.
  void check(const Call& call) const;
  double value(const Length& length, const Call& call) const;
  // Work-items in each of two dimensions.
  std::pair<size_t, size_t> items(const Call& call) const;

 private:
  struct Image {
    int64_t width = 0;
    int64_t height = 0;
    int64_t channels = 1;
    double pixels() const { return static_cast<double>(width) * static_cast<double>(height); }
    double elements() const { return pixels() * static_cast<double>(channels); }
  };

  std::vector<Length> lengths_of(int buffer) const;
  bool takes_length_of(int buffer) const;
  bool takes_n() const;
  bool works_on_image() const;
  Image image(const Call& call) const;
  Image image_of(const Length& length, const Call& call) const;
  // The image in a buffer: its shape, combined with the parameters.
  Image read_image(const TensorType& type, const std::string& what, const std::string& prefix,
                   const Call& call) const;
  std::optional<int64_t> declared_size(const std::string& argument) const;
  int64_t output_length(const Call& call) const;
  void check_output(const Call& call) const;
  void check_buffer(int buffer, const Call& call) const;
  // "input 0", or "output 1"
  std::string name_of(int buffer) const;
  [[noreturn]] void refuse(const std::string& sentence) const;

  std::string kernel_;
  std::vector<KernelArgument> buffers_;  // all but the first output: inputs, then outputs
  size_t inputs_ = 0;                    // how many of them are inputs
  KernelArgument output_;
  std::vector<std::string> scalars_;
  std::map<std::string, Length> names_;  // names of arguments that are lengths
  std::set<std::string> params_;
  std::map<std::string, int64_t> sizes_;
  bool pixels_ = false;
};

}  // namespace dala
