// What a kernel is: one Descriptor holds its name, inputs, element types, parameters, shape rule
// and launch plan. Validation, `kernels/0`, the documentation table and the table-driven tests all
// read it, so a kernel cannot be listed without being there.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/command.hpp"
#include "runtime/launch.hpp"
#include "runtime/tensor_type.hpp"

namespace dala {

class Planner;
struct Body;

// A parameter as it comes from the caller. Atoms and strings are both text; a tuple or list of
// numbers is a vector. An integer is a uint64_t only where an int64_t cannot hold it.
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
    element,   // a number that the output's element type can hold exactly (floats: any number;
               // c64: also a pair of them)
    axis,      // an integer; negative counts from the last axis; range checked against input 0
    axes,      // a list of integers; what they have to be is the descriptor's own rule
    flag,      // true or false
    choice,    // one of `choices`
    name,      // any text; what it may be is the descriptor's own rule
  };
  std::string name;
  Kind kind = Kind::number;
  std::optional<ParamValue> fallback;  // none: see `required`
  bool required = false;
  double min = -1e300;
  double max = 1e300;
  std::vector<std::string> choices;
  std::string summary;
  // Of `integers` and `numbers`: the lengths a list may have. None: the descriptor's own rule.
  std::vector<size_t> counts = {};
};

// A call being validated or planned: types instead of memory.
struct Call {
  std::vector<TensorType> inputs;
  TensorType output;
  Params params;  // checked, defaults filled in

  bool has(const std::string& name) const { return params.count(name) != 0; }
  double number(const std::string& name) const;    // number, integer or element
  int64_t integer(const std::string& name) const;  // integer or axis (already made non-negative)
  std::vector<int64_t> integers(const std::string& name) const;  // one, or the whole list
  std::vector<double> numbers(const std::string& name) const;    // the same of `numbers`
  std::string choice(const std::string& name) const;
  bool flag(const std::string& name) const;
  // An element param as the bytes of one element of that type.
  Value element(const std::string& name, DType dtype) const;
};

// Thrown by a call that needs something first which takes long. Once `prepare` has run, on a worker
// thread, the call can be made again.
struct NotReady {
  std::function<void()> prepare;
};

struct Descriptor {
  std::string name;
  std::string summary;  // one sentence, for kernels/0 and the docs
  int inputs = 1;
  int optional_inputs = 0;    // how many more it takes
  std::vector<DType> dtypes;  // element types that inputs may have
  std::string output_rule;    // one sentence: the type and shape the output must have
  std::vector<ParamSpec> params;
  std::function<void(const Call&)> check;             // types and shapes; throws Error
  std::function<Launch(const Call&, Planner&)> plan;  // called only after `check`
  // Set for kernels that compute each place of the output from the inputs at that place: what
  // they compute there, so that pipelines can fuse them. Called only after `check`.
  std::function<Body(const Call&, const Planner&)> body;
  // Set, in place of `plan`, for what is more than one launch, such as a model: the stages, which
  // write all of the output. Called only after `check`; throws Error or NotReady.
  std::function<std::vector<Stage>(const Call&, const std::vector<BufferPtr>& inputs,
                                   const BufferPtr& output)>
      expand = {};
  std::function<bool()> gone = {};  // set: true once it stands for nothing any more
  bool custom = false;              // registered by a user
  std::vector<std::shared_ptr<Program>> programs = {};  // of a custom one: built at registration
  // A small call that passes, for kernels that a single element everywhere does not satisfy.
  std::function<Call(DType)> sample = {};
};

// Checks a call against the descriptor: input count, parameters, element types, then its own
// rule. Returns the call with its parameters completed. Throws before anything is touched.
Call validate(const Descriptor& descriptor, std::vector<TensorType> inputs, TensorType output,
              const Params& params);

}  // namespace dala
