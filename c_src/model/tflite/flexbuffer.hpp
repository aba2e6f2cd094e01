// Options of custom operators: a flexbuffer, whose root is a map from names to numbers. Read with
// every place checked, like flatbuffers.
#pragma once

#include <map>
#include <string>

#include "model/tflite/flatbuffer.hpp"

namespace dala::model::tflite {

// Throws `invalid_model` where the bytes are no such map. Values that are no numbers are left out;
// truth values are 0 and 1.
std::map<std::string, double> read_flexbuffer(Bytes bytes);

}  // namespace dala::model::tflite
