// Lookup and registration of kernels.
#include "kernels/registry.hpp"

#include <doctest/doctest.h>

#include <set>

#include "support/engine_fixture.hpp"

namespace dala::test {
namespace {

Descriptor custom_kernel(const std::string& name) {
  Descriptor descriptor;
  descriptor.name = name;
  return descriptor;
}

}  // namespace

TEST_CASE("the registry holds the kernels of the contract") {
  const Registry registry;
  std::set<std::string> names;
  for (const auto& descriptor : registry.list()) names.insert(descriptor->name);
  for (const char* name : {"elementwise_add",
                           "elementwise_sub",
                           "elementwise_mul",
                           "elementwise_div",
                           "elementwise_min",
                           "elementwise_max",
                           "elementwise_pow",
                           "scalar_mul",
                           "relu",
                           "sigmoid",
                           "tanh",
                           "exp",
                           "log",
                           "sqrt",
                           "abs",
                           "neg",
                           "clamp",
                           "fill",
                           "cast",
                           "matmul",
                           "transpose",
                           "reshape",
                           "reduce_sum",
                           "reduce_max",
                           "reduce_min",
                           "reduce_mean",
                           "argmax",
                           "softmax",
                           "layer_norm"}) {
    CHECK_MESSAGE(names.count(name) == 1, name);
  }
}

TEST_CASE("every descriptor is complete") {
  const Registry registry;
  for (const auto& descriptor : registry.list()) {
    INFO(descriptor->name);
    CHECK(descriptor->summary.ends_with("."));
    CHECK_FALSE(descriptor->output_rule.empty());
    CHECK_FALSE(descriptor->dtypes.empty());
    CHECK(descriptor->check != nullptr);
    CHECK(descriptor->plan != nullptr);
    CHECK_FALSE(descriptor->custom);
    for (const ParamSpec& param : descriptor->params) {
      CHECK_MESSAGE(!param.summary.empty(), param.name);
      CHECK_MESSAGE(!(param.required && param.fallback), param.name);
    }
  }
}

TEST_CASE("an unknown name suggests the nearest ones") {
  const Registry registry;
  CHECK(failure([&] { registry.find("elementwise_ad"); }) ==
        "unknown_kernel: no kernel is named elementwise_ad; did you mean "
        "elementwise_add?");
  CHECK(failure([&] { registry.find("rellu"); }) ==
        "unknown_kernel: no kernel is named rellu; did you mean relu?");
  CHECK(failure([&] { registry.find("add"); }) ==
        "unknown_kernel: no kernel is named add; did you mean elementwise_add or scatter_add?");
  CHECK(failure([&] { registry.find("reduce_man"); }) ==
        "unknown_kernel: no kernel is named reduce_man; did you mean reduce_max, reduce_mean or "
        "reduce_min?");
  CHECK(failure([&] { registry.find("warp_drive_9"); }) ==
        "unknown_kernel: no kernel is named warp_drive_9; kernels/0 lists those there are");
  CHECK(failure([&] { registry.find("foo"); }) ==
        "unknown_kernel: no kernel is named foo; kernels/0 lists those there are");
}

TEST_CASE("custom kernels come and go, built-in ones stay") {
  Registry registry;
  registry.add(custom_kernel("mine"));
  CHECK(registry.find("mine")->custom);
  registry.add(custom_kernel("mine"));
  CHECK(registry.remove("mine"));
  CHECK_FALSE(registry.remove("mine"));
  CHECK_FALSE(registry.remove("relu"));
  CHECK(failure([&] { registry.add(custom_kernel("relu")); }) ==
        "invalid_param: relu is a built-in kernel and cannot be replaced");
  CHECK(registry.find("relu")->plan != nullptr);
}

}  // namespace dala::test
