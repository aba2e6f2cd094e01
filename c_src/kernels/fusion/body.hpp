// The computation of a kernel at one position of its output, as data. A kernel whose descriptor has
// a body can be fused with adjacent stages of a pipeline.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/planner.hpp"

namespace dala {

// A traversal of an output's positions. Only stages with the same loop fuse. Its templates are
// kernels ENTRY(ARGUMENTS) that run PLACE at every position, and include how values of each slot
// are held, loaded and stored; fused_cpu.cl states the contract.
struct Loop {
  std::string name;
  Defines defines;  // for programs of such stages
  std::string cpu_template;
  std::string gpu_template;
};

// How a body accesses an operand: the slot names the macros VALUE_slot (the type of a value),
// LOAD_slot(pointer, place) and STORE_slot(pointer, place, value), which the loop's templates
// define. The shape counts positions, which may be fewer than elements (a position may be a pixel).
// Inputs broadcast to the output's shape. Values pass between stages in registers if slot and shape
// agree.
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
  // Defines the function. Parts shared by several stages appear once in a program; different parts
  // must not define the same name.
  std::vector<Part> source;
  std::string function;      // VALUE_out f(VALUE_in0, ..., params...), free of side effects
  bool takes_place = false;  // the position's index, a long, precedes the inputs
  std::vector<Port> inputs;
  Port output;
  std::vector<BodyParam> params;
  // Expensive, like exp: a CPU runs two such bodies faster in separate loops than in one. For loops
  // whose templates have NEXT.
  bool heavy = false;
  // Build options that the body requires; none: any options work.
  std::optional<std::string> options;
};

// A call of a kernel with a body, with everything that fusion needs.
struct Fusible {
  Body body;
  std::vector<TensorType> inputs;
  TensorType output;
};

}  // namespace dala
