// The ONNX importer. Files are untrusted: everything that later code relies on is checked here, and
// an invalid file is reported as `invalid_model`.
#pragma once

#include <string>

#include "model/graph/graph.hpp"
#include "model/import/onnx/protobuf.hpp"

namespace dala::model::onnx {

// `folder` is the folder of external data; if empty, external data is rejected.
Graph import(Bytes file, const std::string& folder);

}  // namespace dala::model::onnx
