#include "bench/model_opencv.hpp"

#ifdef DALA_BENCH_OPENCV

#include <opencv2/dnn.hpp>
#include <thread>

#include "bench/models.hpp"
#include "bench/peers.hpp"

namespace dala::bench {
namespace {

// The module reads limits and sizes only where they were in earlier operator sets: in attributes.
void use_attributes(test::Net& net) {
  for (test::NetNode& node : net.nodes) {
    if (node.op == "Clip") {
      node.attributes["min"] = net.constants.at(node.inputs[1]).reals[0];
      node.attributes["max"] = net.constants.at(node.inputs[2]).reals[0];
      node.inputs.resize(1);
    } else if (node.op == "Split") {
      node.attributes["split"] = net.constants.at(node.inputs[1]).integers;
      node.inputs.resize(1);
    }
  }
}

}  // namespace

std::function<void()> opencv_model(test::Net net, const std::string& name,
                                   const ArrayPtr<float>& input) {
  net.input.assign(net.shape.begin(), net.shape.end());
  use_attributes(net);
  const std::string path = model_file(name + " fixed", net);
  auto module = std::make_shared<cv::dnn::Net>();
  auto outputs = std::make_shared<std::vector<cv::Mat>>();
  on_peer_thread_with_helpers([&] {
    cv::setNumThreads(static_cast<int>(std::thread::hardware_concurrency()));
    *module = cv::dnn::readNetFromONNX(path);
    module->setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
    module->setPreferableTarget(cv::dnn::DNN_TARGET_CPU);
    const std::vector<int> sizes(net.shape.begin(), net.shape.end());
    module->setInput(cv::Mat(sizes, CV_32F, input->data()));
    module->forward(*outputs, module->getUnconnectedOutLayersNames());
  });
  // The module looks at the input, but does not own it.
  return [module, outputs, input] {
    module->forward(*outputs, module->getUnconnectedOutLayersNames());
  };
}

}  // namespace dala::bench

#else

namespace dala::bench {
std::function<void()> opencv_model(test::Net, const std::string&, const ArrayPtr<float>&) {
  return {};
}
}  // namespace dala::bench

#endif
