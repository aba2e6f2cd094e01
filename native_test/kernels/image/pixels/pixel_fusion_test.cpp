// Colour filters in a pipeline are fused, and compute the same bits as one by one.
#include <doctest/doctest.h>

#include <random>

#include "kernels/image/pictures.hpp"
#include "support/pipeline.hpp"

namespace dala::test {
namespace {

struct Filter {
  std::string kernel;
  Params params = {};
};

const std::vector<Filter> kChain{{"brightness", {{"value", 0.1}}},
                                 {"contrast", {{"value", 0.3}}},
                                 {"saturation", {{"value", -0.4}}},
                                 {"sepia"},
                                 {"white_balance", {{"temperature", 4000.0}}},
                                 {"hdr", {{"exposure", 1.3}}}};

// Runs the chain with `then` at its end, fused and one by one.
void compare(DType dtype, const Shape& shape, const Filter& then, const Shape& last) {
  std::mt19937_64 random(7);
  const Tensor picture = random_tensor({dtype, shape}, random);
  const auto start = [&] { return buffer_of_bytes(picture.type, to_bytes(picture)); };

  const BufferPtr alone = start();
  for (const Filter& filter : kChain) run(filter.kernel, {alone}, alone, filter.params);
  const BufferPtr expected = zeros(dtype, last);
  run(then.kernel, {alone}, expected, then.params);

  const BufferPtr together = start();
  const BufferPtr got = zeros(dtype, last);
  TestPipeline pipeline;
  for (const Filter& filter : kChain) {
    pipeline.add(filter.kernel, {together}, together, filter.params);
  }
  pipeline.add(then.kernel, {together}, got, then.params);
  const PipelinePlan plan = pipeline.plan();
  CHECK(groups(plan) == "0 1 2 3 4 5 6");
  TestPipeline::run(plan);
  CHECK(engine().runtime().read_now(got) == engine().runtime().read_now(expected));
  CHECK(engine().runtime().read_now(together) == engine().runtime().read_now(alone));
}

}  // namespace

TEST_CASE("a chain of colour filters is one kernel with the same bits") {
  for (DType dtype : {DType::u8, DType::f32}) {
    CAPTURE(std::string(to_string(dtype)));
    compare(dtype, {7, 23, 4}, {"grayscale"}, {7, 23});
    compare(dtype, {7, 23, 4}, {"chroma_key"}, {7, 23, 4});
    compare(dtype, {5, 16, 3}, {"rgb_to_rgba"}, {5, 16, 4});
    compare(dtype, {1, 1, 3}, {"grayscale"}, {1, 1, 3});
  }
  if (!quick()) compare(DType::u8, {61, 203, 4}, {"grayscale"}, {61, 203, 4});
}

TEST_CASE("filters that need the position are not fused") {
  const BufferPtr image = zeros(DType::u8, {4, 5, 3});
  TestPipeline pipeline;
  pipeline.add("sepia", {image}, image)
      .add("vignette", {image}, image)
      .add("sepia", {image}, image);
  CHECK(groups(pipeline.plan()) == "0 | 1 | 2");
}

}  // namespace dala::test
