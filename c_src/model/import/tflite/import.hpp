// The TFLite importer. Quantized models become float models: weights are dequantized when they are
// read, and results are clamped to the range of their quantized type; inputs and outputs keep the
// type of the file. Files are untrusted: an invalid file is reported as `invalid_model`.
#pragma once

#include "model/graph/graph.hpp"
#include "model/import/tflite/flatbuffer.hpp"

namespace dala::model::tflite {

// Whether the bytes have the file identifier of TFLite.
bool is_tflite(Bytes file);

// Unsupported operators become nodes with which loading fails, listing all of them.
Graph import(Bytes file);

}  // namespace dala::model::tflite
