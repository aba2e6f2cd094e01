// What the operators of TFLite are called, by the numbers that files have for them.
#pragma once

#include <cstdint>
#include <string>

namespace dala::model::tflite {

inline constexpr int64_t kCustom = 32;  // its name is in the file

std::string builtin_name(int64_t code);  // "BUILTIN_900" for those that came later

}  // namespace dala::model::tflite
