#include "bench/frame_chain.hpp"

#include <cstdio>

#ifdef DALA_BENCH_OPENCV

#include <opencv2/imgproc.hpp>
#include <thread>

#include "bench/harness.hpp"
#include "bench/peers.hpp"

namespace dala::bench {
namespace {

constexpr int kCalls = 40;

// A frame on its way through the chain.
struct Chain {
  Chain(int width, int height) : frame(height, width, CV_8UC4) {
    cv::randu(frame, cv::Scalar::all(0), cv::Scalar::all(256));
  }

  void run() {
    cv::GaussianBlur(frame, blurred, {7, 7}, 1.5, 1.5, cv::BORDER_REFLECT_101);
    cv::GaussianBlur(blurred, soft, {5, 5}, 1.0, 1.0, cv::BORDER_REFLECT_101);
    cv::addWeighted(blurred, 1.3, soft, -0.3, 0, sharp);
    cv::add(sharp, cv::Scalar(25.5, 25.5, 25.5, 0), result);
  }

  cv::Mat frame;
  cv::Mat blurred;
  cv::Mat soft;
  cv::Mat sharp;
  cv::Mat result;
};

}  // namespace

void serve_frames() {
  on_peer_thread_with_helpers([] {
    cv::setNumThreads(static_cast<int>(std::thread::hardware_concurrency()));
    Chain(640, 480).run();
  });
  int width = 0;
  int height = 0;
  while (std::scanf("%d %d", &width, &height) == 2) {
    Chain chain(width, height);
    double time = 0;
    on_peer_thread([&] { time = median_time([&chain] { chain.run(); }, kCalls); });
    std::printf("%.0f\n", time);
    std::fflush(stdout);
  }
}

}  // namespace dala::bench

#else

namespace dala::bench {

void serve_frames() {
  char line[64];
  while (std::fgets(line, sizeof(line), stdin) != nullptr) {
    std::printf("none\n");
    std::fflush(stdout);
  }
}

}  // namespace dala::bench

#endif
