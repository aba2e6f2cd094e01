// Reads TFLite files into graphs. Quantized models become models of floats: weights when they are
// read, tensors by what they can express; inputs and outputs keep the type of the file. Trusts
// nothing in them: a file that is wrong is `invalid_model` with what is wrong about it.
#pragma once

#include "model/graph.hpp"
#include "model/tflite/flatbuffer.hpp"

namespace dala::model::tflite {

// Whether the bytes say that they are such a file.
bool is_tflite(Bytes file);

// Operators that there is nothing for become nodes that loading refuses, all at once.
Graph import(Bytes file);

}  // namespace dala::model::tflite
