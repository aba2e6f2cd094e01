// A whole network as OpenCV's dnn module runs it.
#pragma once

#include <functional>
#include <string>

#include "bench/bench.hpp"
#include "model/networks/net.hpp"

namespace dala::bench {

// Empty when OpenCV was not there when the bench was built. The module wants fixed dimensions, so
// it gets a file of its own.
std::function<void()> opencv_model(test::Net net, const std::string& name,
                                   const ArrayPtr<float>& input);

}  // namespace dala::bench
