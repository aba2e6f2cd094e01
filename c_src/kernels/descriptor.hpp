// A Descriptor defines a kernel: its name, inputs, element types, parameters, shape rule and launch
// plan. Validation, `kernels/0`, the documentation table and the table-driven tests all read it, so
// that a listed kernel always exists.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/memory/tensor_type.hpp"
#include "runtime/schedule/command.hpp"
#include "runtime/schedule/launch.hpp"

namespace dala {

class Planner;
struct Body;

// A parameter as the caller gave it. Atoms and strings are both text; a tuple or list of numbers is
// a vector. An integer is a uint64_t only if an int64_t cannot represent it.
using ParamValue = Variant<bool, int64_t, uint64_t, double, std::string, std::vector<double>>;
using Params = std::map<std::string, ParamValue>;

std::string to_string(const ParamValue& value);

// "a, b and c"
std::string join(const std::vector<std::string>& names, const std::string& last = " and ");

struct ParamSpec {
  enum class Kind {
    number,    // integer or float, within [min, max]
    integer,   // within [min, max]
    integers,  // an integer, or a list of `counts` of them, each within [min, max]
    numbers,   // a number, or a list of `counts` of them, each within [min, max]
    element,   // a number that the output's element type represents exactly (floats: any number;
               // c64: also a pair of them)
    axis,      // an integer; negative counts from the last axis; range checked against input 0
    axes,      // a list of integers, checked by the descriptor
    flag,      // true or false
    choice,    // one of `choices`
    name,      // any text, checked by the descriptor
  };
  std::string name;
  Kind kind = Kind::number;
  std::optional<ParamValue> fallback;  // none: see `required`
  bool required = false;
  double min = -1e300;
  double max = 1e300;
  std::vector<std::string> choices;
  std::string summary;
  // For `integers` and `numbers`: the allowed lengths of a list. Empty: checked by the descriptor.
  std::vector<size_t> counts = {};
};

// A call being validated or planned: types instead of memory.
struct Call {
  std::vector<TensorType> inputs;
  TensorType output;
  Params params;                              // checked, defaults filled in
  std::vector<TensorType> more_outputs = {};  // if the kernel writes several buffers

  bool has(const std::string& name) const { return params.count(name) != 0; }
  double number(const std::string& name) const;  // number, integer or element
  int64_t integer(
      const std::string& name) const;  // integer or axis (normalised to be non-negative)
  std::vector<int64_t> integers(const std::string& name) const;  // a single number is a list of one
  std::vector<double> numbers(const std::string& name) const;    // likewise
  std::string choice(const std::string& name) const;
  bool flag(const std::string& name) const;
  // An element param as the bytes of one element of that type.
  Value element(const std::string& name, DType dtype) const;
};

// How much work a call that expands to several launches, such as a model, may do to find its
// stages.
enum class Expansion {
  at_once,  // nothing slow; the result is empty if slow work would be needed
  in_full,  // everything, such as planning a model; for worker threads only
  apart,    // as `in_full`, with temporaries in memory that no other command uses
};

struct Descriptor {
  std::string name;
  std::string summary;  // one sentence, for kernels/0 and the docs
  int inputs = 1;
  int optional_inputs = 0;    // accepted in addition
  int outputs = 1;            // buffers that it writes
  std::vector<DType> dtypes;  // element types that inputs may have
  std::string output_rule;    // one sentence: the type and shape the output must have
  std::vector<ParamSpec> params;
  std::function<void(const Call&)> check;             // types and shapes; throws Error
  std::function<Launch(const Call&, Planner&)> plan;  // called only after `check`
  // Set for kernels that compute each position of the output from the inputs at that position: the
  // computation as data, so that pipelines can fuse it. Called only after `check`.
  std::function<Body(const Call&, const Planner&)> body;
  // Set, in place of `plan`, for calls of several launches, such as a model: their stages, which
  // overwrite the output, or none if the expansion does not allow enough. Called only after
  // `check`.
  std::function<std::optional<std::vector<Stage>>(const Call&, const std::vector<BufferPtr>& inputs,
                                                  const BufferPtr& output, Expansion)>
      expand = {};
  std::function<bool()> gone = {};  // set: true once the kernel no longer exists
  bool custom = false;              // registered by a user
  std::vector<std::shared_ptr<Program>> programs = {};  // of a custom kernel: built at registration
  // A small valid call, for kernels that reject operands of a single element.
  std::function<Call(DType)> sample = {};
};

// Checks a call against the descriptor: number of inputs, parameters, element types, then its own
// rule. Returns the call with default parameters filled in. Throws before anything changes.
Call validate(const Descriptor& descriptor, std::vector<TensorType> inputs, TensorType output,
              const Params& params, std::vector<TensorType> more_outputs = {});

}  // namespace dala
