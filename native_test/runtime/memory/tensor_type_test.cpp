#include "runtime/memory/tensor_type.hpp"

#include <doctest/doctest.h>

#include "support/engine_fixture.hpp"

using namespace dala;

TEST_CASE("element types have names and sizes") {
  CHECK(size_of(DType::f32) == 4);
  CHECK(size_of(DType::f64) == 8);
  CHECK(size_of(DType::s32) == 4);
  CHECK(size_of(DType::s64) == 8);
  CHECK(size_of(DType::u32) == 4);
  CHECK(size_of(DType::u8) == 1);
  for (DType dtype : {DType::f16, DType::bf16, DType::s16, DType::u16}) CHECK(size_of(dtype) == 2);
  CHECK(size_of(DType::s8) == 1);
  CHECK(size_of(DType::u64) == 8);
  CHECK(size_of(DType::c64) == 8);
  for (DType dtype : kAllDTypes) CHECK(parse_dtype(to_string(dtype)) == dtype);
  CHECK_FALSE(parse_dtype("f8"));
}

TEST_CASE("shapes count their elements") {
  CHECK(TensorType{DType::f32, {}}.count() == 1);
  CHECK(TensorType{DType::f64, {2, 3}}.bytes() == 48);
  CHECK(TensorType{DType::u8, {5, 0, 7}}.count() == 0);
  CHECK(to_string(TensorType{DType::f32, {2, 3}}) == "f32 {2, 3}");
  CHECK(to_string(Shape{}) == "{}");
}

TEST_CASE("absurd shapes are refused before any arithmetic overflows") {
  const int64_t huge = int64_t{1} << 40;
  CHECK(test::must_fail([&] {
          checked_type(DType::f32, {huge, huge});
        }).reason == Reason::shape_mismatch);
  CHECK(test::must_fail([&] {
          checked_type(DType::f32, {0, huge, huge});
        }).reason == Reason::shape_mismatch);
  CHECK(test::must_fail([&] {
          checked_type(DType::f32, {3, -1});
        }).message == "a shape has dimensions of 0 or more, got {3, -1}");
  CHECK(checked_type(DType::u8, {huge}).count() == huge);
}

TEST_CASE("a shape has only so many dimensions") {
  CHECK(checked_type(DType::u8, Shape(kMostDimensions, 1)).count() == 1);
  CHECK(test::must_fail([&] { checked_type(DType::u8, Shape(1'000'000, 1)); }).message ==
        "a shape has at most 32 dimensions, got 1000000");
}
