#include "bench/conv_peers.hpp"

#ifdef DALA_BENCH_OPENCV

#include <opencv2/dnn.hpp>
#include <thread>

#include "bench/peers.hpp"

namespace dala::bench {
namespace {

cv::Mat matrix(const Shape& shape, float* data) {
  std::vector<int> sizes(shape.begin(), shape.end());
  return {sizes, CV_32F, data};
}

}  // namespace

ConvPeer opencv_conv(const Layer& layer, const ConvData& data) {
  cv::dnn::LayerParams params;
  params.set("kernel_size", static_cast<int>(layer.size));
  params.set("stride", static_cast<int>(layer.stride));
  params.set("pad", static_cast<int>(layer.size / 2));
  params.set("group", static_cast<int>(layer.groups));
  params.set("num_output", static_cast<int>(layer.out_channels));
  params.set("bias_term", true);
  params.blobs = {matrix(layer.weight_shape(), data.weights->data()),
                  matrix({layer.out_channels}, data.bias->data())};

  auto net = std::make_shared<cv::dnn::Net>();
  on_peer_thread_with_helpers([&] {
    cv::setNumThreads(static_cast<int>(std::thread::hardware_concurrency()));
    net->addLayerToPrev("conv", "Convolution", params);
    // The module fuses it into the convolution.
    cv::dnn::LayerParams none;
    if (layer.relu6) net->addLayerToPrev("relu6", "ReLU6", none);
    net->setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
    net->setPreferableTarget(cv::dnn::DNN_TARGET_CPU);
    net->setInput(matrix(layer.input_shape(), data.x->data()));
    net->forward();
  });
  // The net looks at the data, but does not own it.
  return {[net, data] { net->forward(); }, {}};
}

}  // namespace dala::bench

#else

namespace dala::bench {
ConvPeer opencv_conv(const Layer&, const ConvData&) { return {}; }
}  // namespace dala::bench

#endif
