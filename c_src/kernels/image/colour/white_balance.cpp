#include "kernels/image/colour/white_balance.hpp"

#include <cmath>

namespace dala {
namespace {

double cubic(double x, double a, double b, double c, double d) {
  return ((a * x + b) * x + c) * x + d;
}

// Linear sRGB of a black body of luminance 1.
std::array<double, 3> black_body(double kelvin) {
  const double t = 1000 / kelvin;
  const double x = kelvin <= 4000 ? cubic(t, -0.2661239, -0.2343589, 0.8776956, 0.179910)
                                  : cubic(t, -3.0258469, 2.1070379, 0.2226347, 0.240390);
  const double y = kelvin <= 2222   ? cubic(x, -1.1063814, -1.34811020, 2.18555832, -0.20219683)
                   : kelvin <= 4000 ? cubic(x, -0.9549476, -1.37418593, 2.09137015, -0.16748867)
                                    : cubic(x, 3.0817580, -5.87338670, 3.75112997, -0.37001483);
  const double big_x = x / y;
  const double big_z = (1 - x - y) / y;
  return {3.2406 * big_x - 1.5372 - 0.4986 * big_z, -0.9689 * big_x + 1.8758 + 0.0415 * big_z,
          0.0557 * big_x - 0.2040 + 1.0570 * big_z};
}

}  // namespace

std::array<double, 3> white_balance_gains(double temperature) {
  const std::array<double, 3> daylight = black_body(kDaylight);
  const std::array<double, 3> light = black_body(temperature);
  std::array<double, 3> gains{};
  for (size_t c = 0; c < 3; ++c) gains[c] = std::pow(daylight[c] / light[c], 1 / 2.2);
  const double luma = 0.299 * gains[0] + 0.587 * gains[1] + 0.114 * gains[2];
  for (double& gain : gains) gain /= luma;
  return gains;
}

}  // namespace dala
