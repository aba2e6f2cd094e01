// Filters on a frame of 1920 x 1080 RGBA, beside OpenCV with a thread per CPU.
//
// OpenCV's bilateral filter takes no alpha: it gets the same picture without.
#include "bench/bench.hpp"
#include "bench/workload.hpp"

#ifdef DALA_BENCH_OPENCV
#include <opencv2/imgproc.hpp>
#include <thread>

#include "bench/peers.hpp"
#endif

namespace dala::bench {
namespace {

constexpr double kAtLeast = 1.25;
constexpr int64_t kHeight = 1080;
constexpr int64_t kWidth = 1920;

#ifdef DALA_BENCH_OPENCV
using Mat = cv::Mat;
#else
struct Mat {};
#endif
using Filter = std::function<void(const Mat& from, Mat& to)>;

// A picture with areas, edges and noise, opaque.
ArrayPtr<uint8_t> frame() {
  const auto noise = random_array<uint8_t>(static_cast<size_t>(kHeight * kWidth * 4));
  for (int64_t y = 0; y < kHeight; ++y) {
    for (int64_t x = 0; x < kWidth; ++x) {
      for (int64_t c = 0; c < 4; ++c) {
        uint8_t& level = (*noise)[static_cast<size_t>((y * kWidth + x) * 4 + c)];
        const int64_t area = (x / 40 + y / 30 * (c + 1)) % 5 * 40 + 20;
        level = c == 3 ? 255 : static_cast<uint8_t>(area + level % 24);
      }
    }
  }
  return noise;
}

std::function<void()> peer([[maybe_unused]] const ArrayPtr<uint8_t>& from,
                           [[maybe_unused]] const ArrayPtr<uint8_t>& to,
                           [[maybe_unused]] const Shape& shape, [[maybe_unused]] int channels,
                           [[maybe_unused]] const Filter& filter) {
#ifdef DALA_BENCH_OPENCV
  auto in = std::make_shared<Mat>(static_cast<int>(kHeight), static_cast<int>(kWidth), CV_8UC4,
                                  from->data());
  auto out = std::make_shared<Mat>(static_cast<int>(shape[0]), static_cast<int>(shape[1]),
                                   CV_MAKETYPE(CV_8U, channels), to->data());
  on_peer_thread_with_helpers([&] {
    cv::setNumThreads(static_cast<int>(std::thread::hardware_concurrency()));
    if (channels == 3) {
      auto colours = std::make_shared<Mat>();
      cv::cvtColor(*in, *colours, cv::COLOR_RGBA2RGB);
      in = colours;
    }
    filter(*in, *out);
  });
  // The matrices look at the data, but do not own it.
  return [=, keep_from = from, keep_to = to] { filter(*in, *out); };
#else
  return {};
#endif
}

Workload workload(const std::string& name, const std::string& kernel, const Params& params,
                  const Shape& shape, const Filter& filter, int channels = 4) {
  const auto prepare = [=](Bench& bench) {
    const ArrayPtr<uint8_t> from = frame();
    const auto to = array<uint8_t>(static_cast<size_t>(shape[0] * shape[1] * channels));
    const BufferPtr out = bench.output<uint8_t>(shape);
    Trial trial;
    trial.ours = bench.call(kernel, {bench.input(from, {kHeight, kWidth, 4})}, out, params);
    trial.peers = {{"OpenCV", kAtLeast, peer(from, to, shape, channels, filter)}};
    trial.tolerance = 1.01 / 200;  // one level, the largest being a little above 200
    if (trial.peers[0].run && channels != 3) trial.difference = bench.compare(out, to);
    return trial;
  };
  return {name, prepare};
}

// A frame of video to RGBA. `code` is OpenCV's for the same conversion.
Workload decoded(const std::string& format, [[maybe_unused]] int code) {
  const auto prepare = [=](Bench& bench) {
    const auto from = random_array<uint8_t>(static_cast<size_t>(kHeight * kWidth * 3 / 2));
    // Luma below 16, which video has not, OpenCV takes for 16.
    for (size_t i = 0; i < static_cast<size_t>(kHeight * kWidth); ++i) {
      (*from)[i] = static_cast<uint8_t>(16 + (*from)[i] % 220);
    }
    const auto to = array<uint8_t>(static_cast<size_t>(kHeight * kWidth * 4));
    const BufferPtr out = bench.output<uint8_t>({kHeight, kWidth, 4});
    Trial trial;
    trial.ours = bench.call("yuv_to_rgba", {bench.input(from, {kHeight * kWidth * 3 / 2})}, out,
                            {{"format", format}});
    std::function<void()> run;
#ifdef DALA_BENCH_OPENCV
    auto in = std::make_shared<Mat>(static_cast<int>(kHeight * 3 / 2), static_cast<int>(kWidth),
                                    CV_8UC1, from->data());
    auto result = std::make_shared<Mat>(static_cast<int>(kHeight), static_cast<int>(kWidth),
                                        CV_8UC4, to->data());
    on_peer_thread_with_helpers([&] {
      cv::setNumThreads(static_cast<int>(std::thread::hardware_concurrency()));
      cv::cvtColor(*in, *result, code);
    });
    run = [=] { cv::cvtColor(*in, *result, code); };
    trial.difference = bench.compare(out, to);
#endif
    trial.peers = {{"OpenCV", kAtLeast, run}};
    trial.tolerance = 2.01 / 255;  // OpenCV's own rounding is up to a level off
    return trial;
  };
  return {format + " to rgba", prepare};
}

Filter gaussian(int radius, double sigma) {
#ifdef DALA_BENCH_OPENCV
  return [=](const Mat& from, Mat& to) {
    const cv::Size size(2 * radius + 1, 2 * radius + 1);
    cv::GaussianBlur(from, to, size, sigma, sigma, cv::BORDER_REFLECT_101);
  };
#else
  (void)radius;
  (void)sigma;
  return {};
#endif
}

Filter sharpened() {
#ifdef DALA_BENCH_OPENCV
  return [smooth = Mat()](const Mat& from, Mat& to) mutable {
    cv::GaussianBlur(from, smooth, cv::Size(5, 5), 1, 1, cv::BORDER_REFLECT_101);
    cv::addWeighted(from, 1.5, smooth, -0.5, 0, to);
  };
#else
  return {};
#endif
}

Filter bilateral() {
#ifdef DALA_BENCH_OPENCV
  return [](const Mat& from, Mat& to) {
    cv::bilateralFilter(from, to, 5, 0.1 * 255, 2, cv::BORDER_REFLECT_101);
  };
#else
  return {};
#endif
}

Filter gray() {
#ifdef DALA_BENCH_OPENCV
  return [](const Mat& from, Mat& to) { cv::cvtColor(from, to, cv::COLOR_RGBA2GRAY); };
#else
  return {};
#endif
}

Filter resized([[maybe_unused]] bool area) {
#ifdef DALA_BENCH_OPENCV
  return [=](const Mat& from, Mat& to) {
    cv::resize(from, to, to.size(), 0, 0, area ? cv::INTER_AREA : cv::INTER_LINEAR);
  };
#else
  return {};
#endif
}

#ifdef DALA_BENCH_OPENCV
constexpr int kNv12 = cv::COLOR_YUV2RGBA_NV12;
constexpr int kPlanar = cv::COLOR_YUV2RGBA_I420;
#else
constexpr int kNv12 = 0;
constexpr int kPlanar = 0;
#endif

Params blur_params(int64_t radius, double sigma) { return {{"radius", radius}, {"sigma", sigma}}; }

}  // namespace

Family image_family() {
  const Shape same{kHeight, kWidth, 4};
  const Params area{{"mode", std::string("area")}};
  return {"image",
          {
              workload("blur radius 3", "blur", blur_params(3, 1.5), same, gaussian(3, 1.5)),
              workload("blur radius 15", "blur", blur_params(15, 5), same, gaussian(15, 5)),
              workload("blur radius 31", "blur", blur_params(31, 10), same, gaussian(31, 10)),
              workload("sharpen", "sharpen", {}, same, sharpened()),
              workload("grayscale", "grayscale", {}, {kHeight, kWidth}, gray(), 1),
              decoded("nv12", kNv12),
              decoded("yuv420p", kPlanar),
              workload("denoise (bilateral)", "denoise", {}, same, bilateral(), 3),
              workload("resize to 1280x720", "resize", {}, {720, 1280, 4}, resized(false)),
              workload("resize to 3840x2160", "resize", {}, {2160, 3840, 4}, resized(false)),
              workload("resize to 640x480 by area", "resize", area, {480, 640, 4}, resized(true)),
          }};
}

}  // namespace dala::bench
