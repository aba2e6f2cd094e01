// The colour of light by its temperature.
#pragma once

#include <array>

namespace dala {

inline constexpr double kDaylight = 6500;       // kelvin: the light that sRGB's white stands for
inline constexpr double kWarmestLight = 2000;   // below, light has no blue that sRGB could show
inline constexpr double kColdestLight = 25000;  // where the formula ends

// What red, green and blue are multiplied by so that a white lit by light of that temperature
// becomes a white in daylight: (daylight / light)^(1 / 2.2) for each channel, the light's colour
// being that of a black body (the cubic approximation by Kim and others) in linear sRGB. The gains
// are scaled so that the BT.601 luma of white stays.
std::array<double, 3> white_balance_gains(double temperature);

}  // namespace dala
