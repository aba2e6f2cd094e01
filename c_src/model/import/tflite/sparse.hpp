// Sparse tensors of TFLite: a tree with one level per axis, in a traversal order that the file
// chooses. A level is dense, or sparse with the list of its indices. Axes may be split into blocks;
// the axes within a block are additional levels.
#pragma once

#include <functional>

#include "model/import/tflite/file.hpp"

namespace dala::model::tflite {

// Calls `place` with the index of each stored element and the index of its value, which is below
// `values`. Throws `invalid_model`.
void walk_sparse(const TensorInfo& tensor, size_t values,
                 const std::function<void(size_t element, size_t value)>& place);

}  // namespace dala::model::tflite
