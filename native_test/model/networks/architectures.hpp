// Well-known network architectures, with seeded random weights in place of trained ones. `width` is
// the fraction of channels, so that a test can be quick; 1 is the network as published.
#pragma once

#include "model/networks/net.hpp"

namespace dala::test {

// Classification of {batch, 3, size, size}, as torchvision exports it: inverted residuals, relu6.
struct MobileNetV2 {
  double width = 1;
  int64_t size = 224;
  int64_t classes = 1000;
};
Net mobilenet_v2(const MobileNetV2& options);

// Detection in {1, 3, height, width}, decoded to boxes: silu in two nodes, SPPF, upsampling, and
// grids and anchors as constants.
struct YoloV5 {
  double width = 0.5;  // "s"
  double depth = 0.33;
  int64_t height = 640;
  int64_t width_px = 640;
  bool focus = false;  // slices in front of the first convolution, as before version 6
  int64_t classes = 80;
};
Net yolo_v5(const YoloV5& options);

// Face detection in {batch, 3, 128, 128}: odd numbers of channels, padding on two sides only,
// shortcuts padded with zero channels.
struct BlazeFace {
  double width = 1;
  int64_t size = 128;
};
Net blazeface(const BlazeFace& options);

// Key points in {1, height, width, 3}: MobileNetV1 of stride 16 and four heads, channels last and
// automatic padding, as converters from TensorFlow write it.
struct PoseNet {
  double width = 0.75;
  int64_t height = 257;
  int64_t width_px = 257;
};
Net posenet(const PoseNet& options);

// Segmentation of {batch, 3, height, width}, as torchvision exports it: MobileNetV3 with dilations,
// squeeze-and-excitation, hardswish; parallel convolutions of several dilation rates; upsampling to
// sizes that the graph computes.
struct DeepLabV3 {
  double width = 1;
  int64_t height = 513;
  int64_t width_px = 513;
  int64_t head = 256;
  Ints rates{12, 24, 36};
  int64_t classes = 21;
};
Net deeplab_v3(const DeepLabV3& options);

}  // namespace dala::test
