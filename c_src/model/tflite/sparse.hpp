// Sparse tensors: a tree with a level for each axis, in an order of its own, where a level has
// either all places or lists those that there are. Axes may be split into blocks, whose insides
// are levels of their own.
#pragma once

#include <functional>

#include "model/tflite/file.hpp"

namespace dala::model::tflite {

// Calls `place` with the number of each element that is there and the number of its value, of which
// there are `values`. Throws `invalid_model`.
void walk_sparse(const TensorInfo& tensor, size_t values,
                 const std::function<void(size_t element, size_t value)>& place);

}  // namespace dala::model::tflite
