#include "model/signature.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "kernels/descriptor.hpp"
#include "runtime/error.hpp"

namespace dala::model {
namespace {

std::string shape_text(const std::vector<Dimension>& shape) {
  std::vector<std::string> parts;
  for (const Dimension& dimension : shape) {
    parts.push_back(dimension.size           ? std::to_string(*dimension.size)
                    : dimension.name.empty() ? "_"
                                             : dimension.name);
  }
  return "{" + join(parts, ", ") + "}";
}

// Tables that plans compute grow with the dimensions of inputs. A dimension of 0 needs no memory
// whatever the others are, so it counts as 1 here.
void check_room(const Port& port, const Shape& shape, uint64_t limit) {
  Shape extents = shape;
  std::replace(extents.begin(), extents.end(), int64_t{0}, int64_t{1});
  const TensorType type = checked_type(storage_of(port.type), std::move(extents));
  if (type.bytes() <= limit) return;
  throw Error(Reason::out_of_memory, text("input \"", port.name, "\" has shape ", to_string(shape),
                                          ", too large for the ", limit, " bytes of the device"));
}

// The size of each symbolic dimension, and the first input that has it.
struct Named {
  int64_t size = 0;
  const Port* port = nullptr;
};
using NamedSizes = std::map<std::string, Named>;

void check_shape(const Port& port, const Shape& shape, NamedSizes& named) {
  bool fits = shape.size() == port.shape->size();
  for (size_t d = 0; fits && d < shape.size(); ++d) {
    const Dimension& dimension = (*port.shape)[d];
    if (dimension.size) {
      fits = shape[d] == *dimension.size;
    } else if (!dimension.name.empty()) {
      const Named& first = named.emplace(dimension.name, Named{shape[d], &port}).first->second;
      if (first.size == shape[d]) continue;
      throw Error(Reason::shape_mismatch,
                  text("input \"", port.name, "\" has ", shape[d], " for the dimension ",
                       dimension.name, ", input \"", first.port->name, "\" has ", first.size));
    }
  }
  if (fits) return;
  throw Error(Reason::shape_mismatch, text("input \"", port.name, "\" has shape ", to_string(shape),
                                           ", the model takes ", shape_text(*port.shape)));
}

void check_dtype(const Port& port, DType given) {
  const DType wanted = storage_of(port.type);
  if (given == wanted) return;
  throw Error(Reason::dtype_mismatch, text("input \"", port.name, "\" is ", to_string(given),
                                           ", the model takes ", to_string(wanted)));
}

}  // namespace

void check_shapes(const std::vector<Port>& inputs, const std::vector<Shape>& shapes,
                  uint64_t limit) {
  if (shapes.size() != inputs.size()) {
    throw Error(Reason::arity_mismatch,
                text("the model takes ", inputs.size(), inputs.size() == 1 ? " input" : " inputs",
                     ", got ", shapes.size()));
  }
  NamedSizes named;
  for (size_t i = 0; i < shapes.size(); ++i) {
    check_room(inputs[i], shapes[i], limit);
    if (inputs[i].shape) check_shape(inputs[i], shapes[i], named);
  }
}

void check_port(const Port& port, const TensorType& type) {
  check_dtype(port, type.dtype);
  NamedSizes named;
  if (port.shape) check_shape(port, type.shape, named);
}

std::vector<Shape> checked_shapes(const std::vector<Port>& inputs,
                                  const std::vector<BufferPtr>& buffers, uint64_t limit) {
  std::vector<Shape> shapes;
  for (const BufferPtr& buffer : buffers) shapes.push_back(buffer->type().shape);
  for (size_t i = 0; i < buffers.size() && buffers.size() == inputs.size(); ++i) {
    check_dtype(inputs[i], buffers[i]->type().dtype);
  }
  check_shapes(inputs, shapes, limit);
  return shapes;
}

std::optional<LikelyShapes> likely_shapes(const std::vector<Port>& inputs) {
  LikelyShapes likely;
  for (const Port& port : inputs) {
    if (!port.shape) return std::nullopt;
    Shape shape;
    for (const Dimension& dimension : *port.shape) {
      if (!dimension.size && !shape.empty()) return std::nullopt;
      likely.certain = likely.certain && dimension.size;
      shape.push_back(dimension.size.value_or(1));
    }
    likely.shapes.push_back(std::move(shape));
  }
  return likely;
}

}  // namespace dala::model
