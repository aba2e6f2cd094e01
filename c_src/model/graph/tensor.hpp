// A tensor of a plan in the making: its type and shape, and its values, if they depend on constants
// alone, or else the memory that will hold them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "model/graph/host_tensor.hpp"
#include "plan/node.hpp"

namespace dala::model {

// The value of a plan that holds a tensor on the device.
struct Place : plan::Value {
  StoragePtr storage;  // of `buffer`, if it was allocated for this place

  // A copy of the elements of a tensor of this shape, with its dimensions in that order.
  struct Moved {
    Shape shape;
    std::vector<int64_t> axes;
    std::shared_ptr<Place> place;
  };
  std::vector<Moved> moved = {};
};
using PlacePtr = std::shared_ptr<Place>;

struct View;
struct TensorList;

struct Tensor {
  ElementType type = ElementType::f32;
  Shape shape;
  std::shared_ptr<HostTensor> known;       // the values; constant once the operator has returned
  PlacePtr place;                          // the memory; may be set in addition to `known`
  std::shared_ptr<View> view;              // set instead of both for a view, see views.hpp
  std::shared_ptr<const TensorList> list;  // set instead of all of these for a list of tensors

  TensorType storage() const { return {storage_of(type), shape}; }
  int64_t count() const { return storage().count(); }
  size_t bytes() const { return storage().bytes(); }
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t dim(int64_t axis) const { return shape[static_cast<size_t>(axis)]; }
};

// A list of tensors, such as a sequence of ONNX or an array of TensorFlow. It exists only while a
// plan is made: the length and the indices must be known there, which they are in loops.
struct TensorList {
  std::vector<std::optional<Tensor>> items;  // those that were never set have no value
  // Of the items, as far as the file tells it; -1 for a dimension that is open.
  ElementType type = ElementType::f32;
  std::optional<Shape> shape;
};

}  // namespace dala::model
