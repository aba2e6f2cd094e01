// Lists of numbers to the bytes of a buffer and back.
#pragma once

#include <cstddef>
#include <vector>

#include "nif/codec/codec.hpp"

namespace dala::nif {

// Throws an Error naming the first element that does not fit, or the wrong count.
std::vector<std::byte> encode_elements(ErlNifEnv* env, ERL_NIF_TERM list, const TensorType& type);

Term decode_elements(ErlNifEnv* env, const unsigned char* data, size_t bytes, DType dtype);

}  // namespace dala::nif
