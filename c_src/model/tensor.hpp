// A tensor while a graph is planned: its type and shape, and its values (where they depend on
// nothing but constants) or the memory that will hold them.
#pragma once

#include <memory>
#include <vector>

#include "model/host_tensor.hpp"
#include "plan/node.hpp"

namespace dala::model {

// The value of a plan that holds a tensor on the device.
struct Place : plan::Value {
  StoragePtr storage;  // of `buffer`, where this place made it

  // Where the elements of a tensor that lies here were moved, with its dimensions in that order.
  struct Moved {
    Shape shape;
    std::vector<int64_t> axes;
    std::shared_ptr<Place> place;
  };
  std::vector<Moved> moved = {};
};
using PlacePtr = std::shared_ptr<Place>;

struct View;

struct Tensor {
  ElementType type = ElementType::f32;
  Shape shape;
  std::shared_ptr<HostTensor> known;  // the values; never changed once an operator is done with it
  PlacePtr place;                     // the memory; may be there beside `known`
  std::shared_ptr<View> view;         // set, instead of both: how to get them, see views.hpp

  TensorType storage() const { return {storage_of(type), shape}; }
  int64_t count() const { return storage().count(); }
  size_t bytes() const { return storage().bytes(); }
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t dim(int64_t axis) const { return shape[static_cast<size_t>(axis)]; }
};

}  // namespace dala::model
