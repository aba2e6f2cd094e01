// Consecutive layers in one command, on which the executor's threads work together.
#include <doctest/doctest.h>

#include <numeric>
#include <random>
#include <thread>

#include "kernels/nn/conv/convolution.hpp"
#include "support/engine_fixture.hpp"

namespace dala::test {
namespace {

BufferPtr random_floats(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> numbers(-1, 1);
  std::vector<float> elements(static_cast<size_t>(TensorType{DType::f32, shape}.count()));
  for (float& element : elements) element = numbers(random);
  return buffer(elements, shape);
}

// A small network of typical kernels of models, on images {1, 15, 13, 20}.
class Network {
 public:
  Network() {
    conv({1, 15, 13, 40}, 3, 1, {1, 1});
    conv({1, 15, 13, 40}, 3, 40, {1, 1});
    const size_t skipped = values_.size() - 1;
    conv({1, 15, 13, 40}, 1, 1, {1, 1}, skipped);
    conv({1, 15, 13, 40}, 3, 10, {1, 1});
    conv({1, 15, 13, 40}, 1, 40, {1, 1});
    pool("max_pool2d", {1, 8, 7, 40}, 3);
    conv({1, 8, 7, 72}, 1, 1, {1, 1});
    conv({1, 4, 4, 72}, 3, 72, {2, 2});
    pool("avg_pool2d", {1, 2, 2, 72}, 3);
    conv({1, 2, 2, 33}, 1, 1, {1, 1});
  }

  // Shared by all runs, like the arena of a model.
  const std::vector<Stage>& stages() const { return stages_; }
  const BufferPtr& input() const { return values_.front(); }
  const BufferPtr& output() const { return values_.back(); }

 private:
  void conv(const Shape& shape, int64_t size, int64_t groups, std::vector<double> stride,
            std::optional<size_t> residual = std::nullopt) {
    const BufferPtr in = values_.back();
    const auto seed = static_cast<unsigned>(values_.size());
    const Shape plain{shape[3], in->type().shape[3] / groups, size, size};
    const BufferPtr packed = zeros(DType::f32, packed_weights_shape(plain, groups));
    run("conv2d_pack", {random_floats(plain, seed)}, packed, {{"groups", groups}});
    std::vector<BufferPtr> inputs{in, packed, random_floats({shape[3]}, seed + 100)};
    if (residual) inputs.push_back(values_[*residual]);
    add("conv2d", inputs, shape,
        {{"layout", std::string("nhwc")},
         {"packed", true},
         {"groups", groups},
         {"pad", size / 2},
         {"stride", std::move(stride)},
         {"activation", std::string("relu")}});
  }

  void pool(const std::string& kernel, const Shape& shape, int64_t size) {
    add(kernel, {values_.back()}, shape,
        {{"layout", std::string("nhwc")},
         {"size", size},
         {"stride", int64_t{2}},
         {"pad", size / 2}});
  }

  void add(const std::string& kernel, const std::vector<BufferPtr>& inputs, const Shape& shape,
           const Params& params) {
    values_.push_back(zeros(DType::f32, shape));
    stages_.push_back(engine().stage(kernel, inputs, values_.back(), params));
  }

  std::vector<BufferPtr> values_{random_floats({1, 15, 13, 20}, 7)};
  std::vector<Stage> stages_;
};

std::vector<float> one_by_one(const Network& network) {
  Runtime& runtime = engine().runtime();
  for (const Stage& stage : network.stages()) {
    runtime.wait(runtime.scheduler().submit({stage}, nullptr, nullptr));
  }
  return read<float>(network.output());
}

}  // namespace

TEST_CASE("layers in one command give, bit for bit, what they give one by one") {
  const Network network;
  Runtime& runtime = engine().runtime();
  const std::vector<float> expected = one_by_one(network);
  CHECK(std::accumulate(expected.begin(), expected.end(), 0.0F) > 0);
  for (int i = 0; i < 20; ++i) {
    runtime.wait(runtime.scheduler().submit(network.stages(), nullptr, nullptr));
    REQUIRE(read<float>(network.output()) == expected);
  }
  // A profile includes all of them.
  const auto profile = std::make_shared<Profile>();
  runtime.wait(runtime.scheduler().submit(network.stages(), nullptr, nullptr, profile));
  CHECK(profile->kernels().at("conv2d").count == 8);
  CHECK(read<float>(network.output()) == expected);
}

TEST_CASE("commands of several threads keep out of each other's way") {
  constexpr int kThreads = 4;
  const int rounds = quick() ? 2 : 50;
  const std::vector<Network> networks(kThreads);
  const std::vector<float> expected = one_by_one(networks[0]);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (const Network& network : networks) {
    threads.emplace_back([&] {
      Runtime& runtime = engine().runtime();
      for (int i = 0; i < rounds; ++i) {
        runtime.wait(runtime.scheduler().submit(network.stages(), nullptr, nullptr));
        if (read<float>(network.output()) != expected) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("layers follow what writes their input") {
  const Network network;
  Runtime& runtime = engine().runtime();
  const std::vector<float> before = one_by_one(network);
  const BufferPtr other = random_floats(network.input()->type().shape, 99);
  // The input is replaced while commands that read it wait.
  for (int i = 0; i < 10; ++i) {
    const BufferPtr saved = zeros(DType::f32, network.input()->type().shape);
    const CommandId keep =
        runtime.scheduler().submit({engine().copy_stage(network.input(), saved)}, nullptr, nullptr);
    runtime.scheduler().submit({engine().copy_stage(other, network.input())}, nullptr, nullptr);
    runtime.scheduler().submit(network.stages(), nullptr, nullptr);
    runtime.wait(keep);
    const std::vector<float> changed = read<float>(network.output());
    CHECK(changed != before);
    runtime.scheduler().submit({engine().copy_stage(saved, network.input())}, nullptr, nullptr);
    runtime.scheduler().submit(network.stages(), nullptr, nullptr);
    CHECK(read<float>(network.output()) == before);
  }
}

}  // namespace dala::test
