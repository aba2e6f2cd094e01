// The names of the builtin TFLite operators, by their code in the schema.
#pragma once

#include <cstdint>
#include <string>

namespace dala::model::tflite {

inline constexpr int64_t kCustom = 32;  // CUSTOM: the file has the operator's name

std::string builtin_name(int64_t code);  // "BUILTIN_900" for an unknown code

}  // namespace dala::model::tflite
