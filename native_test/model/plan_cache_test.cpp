// Plans by shapes and by values, and models without plans.
#include "model/plan_cache.hpp"

#include "model/load.hpp"
#include "model/onnx_model.hpp"

namespace dala::test {

using model::ElementType;

TEST_CASE("shapes that depend on values") {
  OnnxWriter writer;
  writer.input("x", {"n"}).output("places", {}, ElementType::i64).output("doubled");
  writer.node("NonZero", {"x"}, {"places"});
  writer.node("Add", {"x", "x"}, {"doubled"});
  const auto model = load(writer);
  for (int round = 0; round < 2; ++round) {
    const auto outputs = model->predict_now({buffer<float>({0, 3, 0, 4}, {4})});
    CHECK(outputs[0]->type() == TensorType{DType::s64, {1, 2}});
    CHECK(read<int64_t>(outputs[0]) == std::vector<int64_t>{1, 3});
    CHECK(read<float>(outputs[1]) == std::vector<float>{0, 6, 0, 8});
  }
  CHECK(failure([&] { model->profile({buffer<float>({1}, {1})}); }) ==
        "unsupported: a model whose shapes depend on values runs step by step and cannot be "
        "profiled");
}

TEST_CASE("plans are kept by shapes, and the least recently used is evicted") {
  // A plan for n elements has one temporary: Softsign is not fused.
  OnnxWriter writer;
  writer.input("x", {"n"}).output("y");
  writer.node("Softsign", {"x"}, {"a"}).node("Softsign", {"a"}, {"y"});
  const auto model = load(writer);
  constexpr int64_t kUnit = 1024;
  // In units, after a prediction with so many.
  const auto working_with = [&](int64_t units) {
    model->predict_now({zeros(DType::f32, {units * kUnit})});
    return model->info().working_bytes / (kUnit * sizeof(float));
  };
  for (int64_t units = 1; units <= 8; ++units) working_with(units);
  CHECK(working_with(8) == 36);          // 1 to 8: the plan from loading is evicted
  CHECK(working_with(9) == 36 - 1 + 9);  // 2 to 9
  CHECK(working_with(2) == 44);          // found, and now the last used
  CHECK(working_with(10) == 44 - 3 + 10);
}

TEST_CASE("a plan is found without waiting, or not at all") {
  OnnxWriter writer;
  writer.input("x", {"n", 2}).output("y").node("Abs", {"x"}, {"y"});
  model::PlanCache plans(engine(), model::load_graph(as_bytes(writer.str()), ""));
  CHECK(plans.find({{3, 2}}) == nullptr);
  const auto plan = plans.find_or_make({{3, 2}});
  REQUIRE(plan != nullptr);
  CHECK(plans.find({{3, 2}}) == plan);
  CHECK(plans.find({{4, 2}}) == nullptr);
  plans.free();
  CHECK(plans.freed());
  CHECK(failure([&] { plans.find({{3, 2}}); }) == "freed: the model has been freed");
  CHECK(failure([&] { plans.find_or_make({{3, 2}}); }) == "freed: the model has been freed");
  CHECK(failure([&] {
          plans.run({zeros(DType::f32, {3, 2})});
        }) == "freed: the model has been freed");
}

}  // namespace dala::test
