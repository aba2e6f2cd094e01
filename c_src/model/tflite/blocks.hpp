// Convolutions between SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND, as older exporters write those
// whose windows have gaps.
#pragma once

#include <map>

#include "model/channels_last.hpp"
#include "model/tflite/file.hpp"
#include "model/tflite/weights.hpp"

namespace dala::model::tflite {

struct Blocks {
  size_t before = 0;  // the number of the operator that cuts into blocks
  size_t after = 0;   // and of that which puts them together
  channels_last::Window window;
};

// By the number of the convolution.
std::map<size_t, Blocks> find_blocks(const File& file, Weights& weights);

}  // namespace dala::model::tflite
