// Inputs against the ports that a model declares.
#include "model/signature.hpp"

#include "model/onnx_model.hpp"

namespace dala::test {

namespace {

constexpr uint64_t kLimit = 1 << 20;

model::Port port(const std::string& name, const std::vector<model::Dimension>& shape) {
  model::Port port;
  port.name = name;
  port.shape = shape;
  return port;
}

std::string problem(const std::vector<model::Port>& ports, const std::vector<Shape>& shapes) {
  return failure([&] { model::check_shapes(ports, shapes, kLimit); });
}

}  // namespace

TEST_CASE("shapes are compared with fixed, symbolic and open dimensions") {
  const std::vector<model::Port> ports{port("a", {{{}, "batch"}, {2, ""}}),
                                       port("b", {{{}, "batch"}, {{}, ""}})};
  model::check_shapes(ports, {{3, 2}, {3, 7}}, kLimit);
  CHECK(problem(ports, {{3, 2}}) == "arity_mismatch: the model takes 2 inputs, got 1");
  CHECK(problem(ports, {{3, 1}, {3, 7}}) ==
        "shape_mismatch: input \"a\" has shape {3, 1}, the model takes {batch, 2}");
  CHECK(problem(ports, {{3, 2}, {3}}) ==
        "shape_mismatch: input \"b\" has shape {3}, the model takes {batch, _}");
  CHECK(problem(ports, {{3, 2}, {2, 2}}) ==
        "shape_mismatch: input \"b\" has 2 for the dimension batch, input \"a\" has 3");
  CHECK(problem(ports, {{3, 2}, {3, 1 << 20}}) ==
        "out_of_memory: input \"b\" has shape {3, 1048576}, too large for the 1048576 bytes of the "
        "device");
  model::Port any;
  any.name = "any";
  model::check_shapes({any}, {{1, 2, 3}}, kLimit);
}

TEST_CASE("an input of another element type") {
  const std::vector<model::Port> ports{port("x", {{2, ""}})};
  CHECK(failure([&] { model::checked_shapes(ports, {zeros(DType::f64, {2})}, kLimit); }) ==
        "dtype_mismatch: input \"x\" is f64, the model takes f32");
  CHECK(model::checked_shapes(ports, {zeros(DType::f32, {2})}, kLimit) == std::vector<Shape>{{2}});
}

TEST_CASE("an open first dimension is likely a batch of one") {
  const auto batch = model::likely_shapes({port("x", {{{}, "n"}, {4, ""}})});
  REQUIRE(batch);
  CHECK(batch->shapes == std::vector<Shape>{{1, 4}});
  CHECK_FALSE(batch->certain);
  const auto fixed = model::likely_shapes({port("x", {{3, ""}})});
  REQUIRE(fixed);
  CHECK(fixed->certain);
  CHECK_FALSE(model::likely_shapes({port("x", {{3, ""}, {{}, "width"}})}));
  CHECK_FALSE(model::likely_shapes({model::Port{}}));
}

}  // namespace dala::test
