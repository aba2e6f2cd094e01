// White balance: the colour of light by its temperature.
#pragma once

#include <array>

namespace dala {

inline constexpr double kDaylight = 6500;       // kelvin: the white point of sRGB
inline constexpr double kWarmestLight = 2000;   // below, light has no blue within sRGB
inline constexpr double kColdestLight = 25000;  // the end of the approximation's range

// The gains of red, green and blue that map white in light of that temperature to white in
// daylight: (daylight / light)^(1 / 2.2) for each channel, the light's colour being that of a black
// body (the cubic approximation by Kim and others) in linear sRGB. The gains are scaled such that
// the BT.601 luma of white stays the same.
std::array<double, 3> white_balance_gains(double temperature);

}  // namespace dala
