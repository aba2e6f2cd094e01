// Reads ONNX files into graphs. Trusts nothing in them: everything that later code relies on is
// checked here, and a file that is wrong is `invalid_model` with what is wrong about it.
#pragma once

#include <string>

#include "model/graph.hpp"
#include "model/onnx/wire.hpp"

namespace dala::model::onnx {

// `folder` is where external data may lie; empty: nowhere.
Graph import(Bytes file, const std::string& folder);

}  // namespace dala::model::onnx
