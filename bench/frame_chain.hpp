// The guide's chain of filters as OpenCV does it.
#pragma once

namespace dala::bench {

// Answers every line on standard input, "width height", with a round: the median time, in
// nanoseconds, of blur (radius 3, sigma 1.5), sharpen and brightness on an RGBA frame of that size.
// "none" where OpenCV is not installed. Ends with the input.
void serve_frames();

}  // namespace dala::bench
