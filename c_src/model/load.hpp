// Reads a model file of any format into a graph.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "model/graph/graph.hpp"
#include "runtime/error.hpp"

namespace dala::model {

// The format is recognised by the content. `folder` is the folder of external data and weight
// files; if empty, a model that needs them is rejected. Throws `invalid_model`, or `unsupported_op`
// for a part of the format that is not supported. Operators are not checked here.
Graph load_graph(std::span<const std::byte> file, const std::string& folder);

// The same for a file, whose folder is that of its data. Throws `model_not_found` if it is missing.
Graph load_graph_file(const std::string& path);

// Throws the error as `invalid_model` if its reason is one that calls have: whatever was called
// while a file was loaded, the problem is the file.
[[noreturn]] void rethrow_as_invalid(const Error& problem);

}  // namespace dala::model
