// Calls whose buffers are shorter than the kernel assumes.
#include "kernels/custom/lengths.hpp"

#include <doctest/doctest.h>

#include "support/engine_fixture.hpp"

using namespace dala;

namespace {

KernelArgument pointer(const std::string& name, int lanes = 1) {
  KernelArgument argument;
  argument.name = name;
  argument.type = "uchar*";
  argument.kind = KernelArgument::Kind::buffer;
  argument.element = DType::u8;
  argument.lanes = lanes;
  return argument;
}

KernelArgument scalar(const std::string& name) {
  KernelArgument argument;
  argument.name = name;
  argument.type = "int";
  argument.kind = KernelArgument::Kind::scalar;
  return argument;
}

Call call(std::vector<Shape> inputs, Shape output, Params params = {}) {
  Call result;
  for (Shape& shape : inputs) result.inputs.push_back({DType::u8, std::move(shape)});
  result.output = {DType::u8, std::move(output)};
  result.params = std::move(params);
  return result;
}

std::string refusal_of(const Lengths& lengths, const Call& call) {
  const Error error = test::must_fail([&] { lengths.check(call); });
  CHECK(error.reason == Reason::shape_mismatch);
  return error.message;
}

const Params kFlat = {{"width", int64_t{5000}}, {"height", int64_t{5000}}};

}  // namespace

TEST_CASE("one item per element: an input needs the size of the output") {
  const Lengths lengths("k", {pointer("input"), pointer("output"), scalar("n")}, {}, {}, false);
  lengths.check(call({{12}}, {12}));
  lengths.check(call({{4, 5}}, {12}));  // a larger input is allowed
  lengths.check(call({{0}}, {0}));
  CHECK(refusal_of(lengths, call({{11}}, {12})) ==
        "input 0 (input) of k has 11 elements, but the kernel may read 12 according to the size of "
        "the output; declare an argument with the length of the input, such as int input_n, or "
        "register the kernel with sizes: [input: ...]");
  refusal_of(lengths, call({{0}}, {1}));
  CHECK(lengths.value(*lengths.find("n"), call({{12}}, {12})) == 12);
}

TEST_CASE("vectors count as one element each") {
  const Lengths lengths("k", {pointer("x", 4), pointer("output", 2), scalar("n")}, {}, {}, false);
  const Call fits = call({{48}}, {24});
  lengths.check(fits);
  CHECK(lengths.value(*lengths.find("n"), fits) == 12);
  CHECK(lengths.items(fits).first == 12);
  refusal_of(lengths, call({{44}}, {24}));
}

TEST_CASE("images: the size follows from the buffers") {
  const Lengths lengths(
      "blur",
      {pointer("input"), pointer("output"), scalar("width"), scalar("height"), scalar("channels")},
      {}, {}, true);
  lengths.check(call({{4, 4, 3}}, {4, 4, 3}));
  refusal_of(lengths, call({{4, 4, 3}}, {8000, 8000, 3}));
  refusal_of(lengths, call({{4, 4}}, {4, 4, 3}));
  CHECK(refusal_of(lengths, call({{4, 4, 3}}, {4, 4, 3}, kFlat)) ==
        "width 5000, height 5000 and channels 3 make 75000000 elements; the output of blur has 48");
  CHECK(refusal_of(lengths, call({{48}}, {48}, kFlat)) ==
        "width 5000, height 5000 and channels 1 make 25000000 elements; the output of blur has 48");
  CHECK(refusal_of(lengths, call({{48}}, {48}, {{"width", int64_t{4}}})) ==
        "blur works on images: give it buffers of shape {height, width} or {height, width, "
        "channels}, or the params width and height; the output is {48}");

  const Call flat = call({{48}}, {48}, {{"width", int64_t{4}}, {"height", int64_t{4}}});
  lengths.check(flat);
  CHECK(lengths.value(*lengths.find("channels"), flat) == 3);
  refusal_of(lengths, call({{47}}, {48}, {{"width", int64_t{4}}, {"height", int64_t{4}}}));
  // A product that overflows 64 bits.
  const int64_t most = 1 << 24;
  refusal_of(lengths, call({{48}}, {48}, {{"width", most}, {"height", most}, {"channels", most}}));
}

TEST_CASE("an image in the input, and an output of another size") {
  const Lengths without("k", {pointer("input"), pointer("output"), scalar("width")}, {}, {}, true);
  CHECK(refusal_of(without, call({{40, 40}}, {256})) ==
        "the output of k has 256 elements, expected at least 1600 for width 40, height 40 and "
        "channels 1; a kernel whose output has another size must take it as int n");
  const Lengths with_n("k", {pointer("input"), pointer("output"), scalar("width"), scalar("n")}, {},
                       {}, true);
  with_n.check(call({{40, 40}}, {256}));
  const Lengths declared("k", {pointer("input"), pointer("output"), scalar("width")}, {},
                         {{"output", 256}}, true);
  declared.check(call({{40, 40}}, {256}));
  refusal_of(declared, call({{40, 40}}, {255}));
}

TEST_CASE("vectors of an image need their lanes for every pixel") {
  const Lengths lengths("k", {pointer("input", 4), pointer("output", 4), scalar("width")}, {}, {},
                        true);
  lengths.check(call({{4, 4, 4}}, {4, 4, 4}));
  CHECK(refusal_of(lengths, call({{4, 4, 4}}, {4, 4})) ==
        "the output of k has 16 elements, expected at least 64 for width 4, height 4 and channels "
        "4; a kernel whose output has another size must take it as int n");
  refusal_of(lengths, call({{4, 4}}, {4, 4, 4}));
}

TEST_CASE("lengths of inputs are filled in by name") {
  const Lengths lengths("k",
                        {pointer("image"), pointer("mask"), pointer("output"), scalar("width"),
                         scalar("mask_width"), scalar("mask_height"), scalar("input0_n")},
                        {}, {}, true);
  const Call given = call({{2, 2, 3}, {3, 5}}, {40, 40});
  lengths.check(given);
  CHECK(lengths.value(*lengths.find("mask_width"), given) == 5);
  CHECK(lengths.value(*lengths.find("mask_height"), given) == 3);
  CHECK(lengths.value(*lengths.find("input1_channels"), given) == 1);
  CHECK(lengths.value(*lengths.find("input0_n"), given) == 12);
  CHECK(lengths.value(*lengths.find("width"), given) == 40);
  CHECK_FALSE(lengths.find("masks_n"));
  CHECK(refusal_of(lengths, call({{2, 2}, {15}}, {40, 40})) ==
        "k works on images: give it buffers of shape {height, width} or {height, width, "
        "channels}, or the params mask_width and mask_height; input 1 is {15}");
  const Params flat = {{"mask_width", int64_t{5}}, {"mask_height", int64_t{3}}};
  lengths.check(call({{2, 2}, {15}}, {40, 40}, flat));
  CHECK(refusal_of(lengths, call({{2, 2}, {14}}, {40, 40}, flat)) ==
        "mask_width 5, mask_height 3 and mask_channels 1 make 15 elements; input 1 of k has 14");
  CHECK(refusal_of(lengths, call({{2, 2}, {0, 5}}, {40, 40})) ==
        "input 1 (mask) of k is an empty image");

  const Lengths only("k", {pointer("x"), pointer("output"), scalar("input_n")}, {}, {}, false);
  CHECK(only.value(*only.find("input_n"), call({{7}}, {12})) == 7);
  only.check(call({{7}}, {12}));
}

TEST_CASE("a param with the name of a length is set by the caller and replaces it") {
  const Lengths lengths("k", {pointer("input"), pointer("output"), scalar("input_n")}, {"input_n"},
                        {}, false);
  CHECK_FALSE(lengths.find("input_n"));
  lengths.check(call({{7}}, {12}));
}

TEST_CASE("declared sizes") {
  const Lengths table("k", {pointer("x"), pointer("table"), pointer("output"), scalar("n")}, {},
                      {{"table", 256}}, false);
  table.check(call({{1000}, {256}}, {1000}));
  CHECK(refusal_of(table, call({{1000}, {255}}, {1000})) ==
        "input 1 (table) of k has 255 elements, expected at least 256");
  refusal_of(table, call({{999}, {256}}, {1000}));
  const Lengths any("k", {pointer("x"), pointer("output")}, {}, {{"", 0}}, false);
  any.check(call({{1}}, {1000}));
}

TEST_CASE("outputs after the first are checked as inputs are") {
  const Lengths lengths("k", {pointer("x"), pointer("low"), pointer("high"), scalar("n")}, {}, {},
                        false, {"low", "high"});
  Call call{{{DType::f32, {8}}}, {DType::f32, {8}}, {}, {{DType::f32, {8}}}};
  CHECK_NOTHROW(lengths.check(call));
  call.more_outputs[0].shape = {7};
  CHECK(refusal_of(lengths, call) ==
        "output 1 (high) of k has 7 elements, but the kernel may write 8 according to the size of "
        "the first output; declare an argument with the length of the output, such as int high_n, "
        "or register the kernel with sizes: [high: ...]");

  const Lengths with_n(
      "k", {pointer("x"), pointer("low"), pointer("high"), scalar("n"), scalar("high_n")}, {}, {},
      false, {"low", "high"});
  CHECK_NOTHROW(with_n.check(call));
  CHECK(with_n.value(*with_n.find("high_n"), call) == 7);
  CHECK(with_n.value(*with_n.find("n"), call) == 8);
  CHECK(with_n.value(*with_n.find("low_n"), call) == 8);

  const Lengths declared("k", {pointer("x"), pointer("low"), pointer("high"), scalar("n")}, {},
                         {{"high", 7}}, false, {"low", "high"});
  CHECK_NOTHROW(declared.check(call));
  call.more_outputs[0].shape = {6};
  CHECK(refusal_of(declared, call) == "output 1 (high) of k has 6 elements, expected at least 7");
}
