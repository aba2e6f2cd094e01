// Finds convolutions between SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND, the way older exporters write
// dilated convolutions.
#pragma once

#include <map>

#include "model/import/common/channels_last.hpp"
#include "model/import/tflite/file.hpp"
#include "model/import/tflite/weights.hpp"

namespace dala::model::tflite {

struct Blocks {
  size_t before = 0;  // the index of SPACE_TO_BATCH_ND
  size_t after = 0;   // the index of BATCH_TO_SPACE_ND
  channels_last::Window window;
};

// The result is keyed by the index of the convolution.
std::map<size_t, Blocks> find_blocks(const File& file, Weights& weights);

}  // namespace dala::model::tflite
