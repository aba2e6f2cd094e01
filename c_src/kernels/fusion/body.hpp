// What a kernel computes at one place of its output, as data. A descriptor that has a body can
// share a generated kernel with the stages before and after it in a pipeline.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/planner.hpp"

namespace dala {

// A way through the places of an output. Stages fuse with those of the same loop. Its templates
// are kernels ENTRY(ARGUMENTS) that run PLACE for every place, and include how values are held,
// loaded and stored, by slot; fused_cpu.cl says the contract.
struct Loop {
  std::string name;
  Defines defines;  // of programs of such stages
  std::string cpu_template;
  std::string gpu_template;
};

// How a body sees an operand: the slot names the macros VALUE_slot (the type of a value),
// LOAD_slot(pointer, place) and STORE_slot(pointer, place, value), which the loop's templates
// define. The shape is that of its places, which may be fewer than elements (a place may be a
// pixel). Inputs broadcast to the output's shape; a buffer keeps its meaning from stage to stage,
// so values pass from one to the next where slot and shape agree.
struct Port {
  std::string slot;
  Shape shape;
  bool operator==(const Port&) const = default;
};

struct BodyParam {
  std::string type;  // in OpenCL C
  Value value;
};

struct Body {
  const Loop* loop = nullptr;
  // Defines the function. Parts that several stages have in common appear once in a program, and
  // different ones must not define the same name.
  std::vector<Part> source;
  std::string function;      // VALUE_out f(VALUE_in0, ..., params...), free of side effects
  bool takes_place = false;  // the place's number, a long, comes before the inputs
  std::vector<Port> inputs;
  Port output;
  std::vector<BodyParam> params;
  // Long, as exp is: a CPU runs two of these one after the other faster than both at once. For
  // loops whose templates have NEXT.
  bool heavy = false;
  // Build options that it has to be compiled with; none: any will do.
  std::optional<std::string> options;
};

// A call of a kernel with a body: all that is needed to make it part of a larger one.
struct Fusible {
  Body body;
  std::vector<TensorType> inputs;
  TensorType output;
};

}  // namespace dala
