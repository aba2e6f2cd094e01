// Recurrent layers: RNN, GRU and LSTM, with weights arranged in tiles of units.
#pragma once

#include <string>

#include "kernels/descriptor.hpp"

namespace dala {

Descriptor recurrent_kernel();

// The number of gates of a kind of layer: "rnn", "gru", "gru_linear" or "lstm".
int64_t recurrent_gates(const std::string& kind);

// Tiles of RECURRENT_TILE units.
int64_t recurrent_tiles(int64_t hidden);

}  // namespace dala
