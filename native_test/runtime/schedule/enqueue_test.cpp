// Scratch memory of the parts of a command.
#include "runtime/schedule/enqueue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "support/pipeline.hpp"

namespace dala::test {

TEST_CASE("stages that take much scratch memory share it") {
  constexpr size_t kCount = 1'500'000;
  std::mt19937 random(3);
  TestPipeline pipeline;
  std::vector<std::vector<float>> expected;
  std::vector<BufferPtr> outputs;
  for (int i = 0; i < 4; ++i) {
    std::vector<float> elements(kCount);
    for (float& element : elements) element = static_cast<float>(random());
    const BufferPtr input = buffer(elements);
    outputs.push_back(zeros(DType::f32, {static_cast<int64_t>(kCount)}));
    pipeline.add("sort", {input}, outputs.back());
    std::sort(elements.begin(), elements.end());
    expected.push_back(std::move(elements));
  }
  for (int run = 0; run < 2; ++run) {  // on the driver's queue, and on the executor
    pipeline.run();
    for (size_t i = 0; i < outputs.size(); ++i) CHECK(read<float>(outputs[i]) == expected[i]);
  }
}

}  // namespace dala::test
