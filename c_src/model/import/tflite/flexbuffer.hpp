// Reads the options of custom operators: a flexbuffer whose root is a map from names to numbers.
// All offsets are checked, as in flatbuffer.hpp.
#pragma once

#include <map>
#include <string>

#include "model/import/tflite/flatbuffer.hpp"

namespace dala::model::tflite {

// Throws `invalid_model` if the bytes are not such a map. Values that are not numbers are skipped;
// booleans are 0 and 1.
std::map<std::string, double> read_flexbuffer(Bytes bytes);

}  // namespace dala::model::tflite
