#include "kernels/custom/custom_kernel.hpp"

#include <doctest/doctest.h>

#include "support/engine_fixture.hpp"

using namespace dala;
using test::buffer;
using test::engine;
using test::read;
using test::run;

namespace {

void add(const CustomSource& source) {
  engine().registry().add(make_custom_kernel(source, engine().planner()));
}

CustomSource source_of(const std::string& name, const std::string& code, int inputs,
                       std::vector<std::string> params = {}) {
  CustomSource source;
  source.name = name;
  source.source = code;
  source.inputs = inputs;
  source.params = std::move(params);
  return source;
}

Error registering(const std::string& code, int inputs, std::vector<std::string> params = {}) {
  return test::must_fail([&] { add(source_of("test_bad", code, inputs, std::move(params))); });
}

}  // namespace

TEST_CASE("a custom kernel gets its arguments by name") {
  add(source_of("test_axpy",
                "__kernel void test_axpy(float gain, __global float* output, int n,\n"
                "                        __global const float* x, __global const float* y) {\n"
                "  int i = get_global_id(0);\n"
                "  if (i < n) output[i] = gain * x[i] + y[i];\n"
                "}\n",
                2, {"gain"}));
  auto x = buffer<float>({1, 2, 3});
  auto y = buffer<float>({10, 20, 30});
  auto out = buffer<float>({0, 0, 0});
  run("test_axpy", {x, y}, out, {{"gain", 2.0}});
  CHECK(read<float>(out) == std::vector<float>{12, 24, 36});
  run("test_axpy", {x, y}, x, {{"gain", int64_t{3}}});  // in place
  CHECK(read<float>(x) == std::vector<float>{13, 26, 39});

  CHECK(test::must_fail([&] { run("test_axpy", {x, y}, out); }).reason == Reason::invalid_param);
  CHECK(test::must_fail([&] {
          run("test_axpy", {x}, out, {{"gain", 1.0}});
        }).reason == Reason::arity_mismatch);
  auto integers = buffer<int32_t>({1, 2, 3});
  const Error dtype = test::must_fail([&] {
    run("test_axpy", {x, integers}, out, {{"gain", 1.0}});
  });
  CHECK(dtype.reason == Reason::dtype_mismatch);
  CHECK(dtype.message == "input 1 of test_axpy is s32, expected f32 for float* y");
}

TEST_CASE("elements that a kernel does not write keep their value") {
  add(source_of("test_first_only",
                "__kernel void test_first_only(__global int* output) {\n"
                "  if (get_global_id(0) == 0) output[0] = 42;\n"
                "}\n",
                0));
  auto out = buffer(std::vector<int32_t>(2000, 7));
  const auto held = engine().runtime().read(out, nullptr);  // forces the next write to copy
  run("test_first_only", {}, out);
  const auto values = read<int32_t>(out);
  CHECK(values[0] == 42);
  CHECK(values[1] == 7);
  CHECK(values[1999] == 7);
}

TEST_CASE("images: two dimensions, sizes filled in, vectors of channels") {
  add(source_of("test_position",
                "__kernel void test_position(__global const uchar4* image,\n"
                "                            __global uchar4* output, int width, uint height,\n"
                "                            int channels) {\n"
                "  int x = get_global_id(0), y = get_global_id(1);\n"
                "  if (x >= width || y >= (int)height) return;\n"
                "  output[y * width + x] = (uchar4)(x, y, channels, image[y * width + x].w);\n"
                "}\n",
                1));
  const std::vector<uint8_t> zeros(3 * 5 * 4, 9);
  auto image = buffer(zeros, {3, 5, 4});
  auto out = buffer(zeros, {3, 5, 4});
  run("test_position", {image}, out);
  const auto pixels = read<uint8_t>(out);
  CHECK(pixels[(2 * 5 + 4) * 4 + 0] == 4);
  CHECK(pixels[(2 * 5 + 4) * 4 + 1] == 2);
  CHECK(pixels[(2 * 5 + 4) * 4 + 2] == 4);
  CHECK(pixels[(2 * 5 + 4) * 4 + 3] == 9);

  auto flat = buffer(zeros, {60});
  auto flat_out = buffer(zeros, {60});
  CHECK(test::must_fail([&] { run("test_position", {flat}, flat_out); }).reason ==
        Reason::shape_mismatch);
  run("test_position", {flat}, flat_out,
      {{"width", int64_t{5}}, {"height", int64_t{3}}, {"channels", int64_t{4}}});
  CHECK(read<uint8_t>(flat_out) == pixels);
}

TEST_CASE("an empty output launches nothing") {
  add(source_of("test_empty", "__kernel void test_empty(__global int* output) { output[0] = 1; }",
                0));
  run("test_empty", {}, buffer(std::vector<int32_t>{}, {0, 3}));
}

TEST_CASE("sources that cannot be called are refused with advice") {
  CHECK(registering("fn input: Tensor<f32> {}", 1).reason == Reason::build_failed);
  CHECK(registering("__kernel void test_bad(__global float* x, __global float* output) {}", 1)
            .message ==
        "input x of test_bad must be declared const, as in __global const float* x");
  CHECK(registering("__kernel void test_bad(__global const float* x) {}", 1).message ==
        "test_bad has no argument named output, as in __global float* output");
  CHECK(registering("__kernel void test_bad(__global float* output, float gain) {}", 0).message ==
        "argument gain of test_bad is neither one of its params nor one of n, width, height, "
        "channels");
  CHECK(registering("__kernel void test_bad(__global float* output) {}", 0, {"gain"}).message ==
        "the source of test_bad has no argument named gain");
  CHECK(registering("__kernel void test_bad(__global float* output) {}", 2).message ==
        "test_bad is registered with 2 inputs, but its source takes 0");
  CHECK(registering("__kernel void test_bad(__global float* output, __local float* x) {}", 0)
            .reason == Reason::invalid_param);
  CHECK(registering("__kernel void a(__global int* output) {}\n"
                    "__kernel void b(__global int* output) {}",
                    0)
            .message == "the source of test_bad has no kernel named test_bad; it has a, b");
  CHECK(registering("__kernel void test_bad(__global float* output, float n) {}", 0).message ==
        "argument n of test_bad is filled in and must be an integer, not float");
}

TEST_CASE("integer params are checked against the argument's type") {
  add(source_of("test_shift",
                "__kernel void test_shift(__global int* output, uchar amount) {\n"
                "  output[get_global_id(0)] = amount;\n"
                "}\n",
                0, {"amount"}));
  auto out = buffer<int32_t>({0});
  run("test_shift", {}, out, {{"amount", int64_t{255}}});
  CHECK(read<int32_t>(out)[0] == 255);
  CHECK(test::must_fail([&] {
          run("test_shift", {}, out, {{"amount", int64_t{256}}});
        }).reason == Reason::invalid_param);
  CHECK(test::must_fail([&] {
          run("test_shift", {}, out, {{"amount", 1.5}});
        }).reason == Reason::invalid_param);
}

TEST_CASE("more __local memory than the device has is an error at registration") {
  const uint64_t most = engine().runtime().device().info().local_memory;
  const Error error = registering(
      "__kernel void test_bad(__global int* output) {\n"
      "  __local int shared[" +
          std::to_string(most / 4 + 1) +
          "];\n"
          "  shared[get_local_id(0)] = output[0];\n"
          "  barrier(CLK_LOCAL_MEM_FENCE);\n"
          "  output[0] = shared[get_local_size(0) - 1 - get_local_id(0)];\n"
          "}\n",
      0);
  CHECK(error.reason == Reason::unsupported);
  CHECK(error.message.find("bytes of __local memory") != std::string::npos);
}

TEST_CASE("a kernel is compiled before its launch, and for other launches on request") {
  add(source_of("test_ahead",
                "__kernel void test_ahead(__global int* output, int n) {\n"
                "  output[get_global_id(0)] = n;\n"
                "}\n",
                0));
  const auto ready = [](int64_t count) {
    const BufferPtr output = test::zeros(DType::s32, {count});
    const Stage stage = engine().stage("test_ahead", {}, output, {});
    const auto& step = std::get<KernelStep>(stage.launch->steps.front());
    return step.program->ready_for(step.entry, step.range);
  };
  for (int64_t count : {1, 7, 8, 24, 64, 1000, 640, 128 * 1024}) {
    CAPTURE(count);
    CHECK(ready(count));
  }
  const bool ahead = !engine().runtime().device().compiles_at_launch();
  CHECK(ready(100'001) == ahead);
  auto output = test::zeros(DType::s32, {100'001});
  run("test_ahead", {}, output);
  CHECK(read<int32_t>(output).back() == 100'001);
  CHECK(ready(100'001));
}

TEST_CASE("a kernel that casts const away does not reach memory that a binary shows") {
  CustomSource source = source_of("test_cast",
                                  "__kernel void test_cast(__global const int* x,\n"
                                  "                        __global int* output) {\n"
                                  "  ((__global int*)x)[get_global_id(0)] = -1;\n"
                                  "  output[get_global_id(0)] = x[get_global_id(0)];\n"
                                  "}\n",
                                  1);
  add(source);
  const std::vector<int32_t> sevens(4096, 7);
  const auto shown = std::make_shared<std::vector<int32_t>>(sevens);
  const TensorType type{DType::s32, {4096}};
  auto borrowed = engine().runtime().from_host(type, shown->data(), shown);
  auto output = test::zeros(DType::s32, {4096});
  run("test_cast", {borrowed}, output);
  CHECK(*shown == sevens);
  CHECK(read<int32_t>(output).front() == -1);

  // Memory shown by a binary that was read back.
  auto own = test::zeros(DType::s32, {4096});
  const auto held = engine().runtime().read(own, nullptr);
  if (held.pending) engine().runtime().wait(*held.pending);
  run("test_cast", {own}, output);
  CHECK(*reinterpret_cast<const int32_t*>(held.readback->data()) == 0);

  source.trusted = true;
  add(source);
  if (engine().runtime().device().shares_host_memory()) {
    run("test_cast", {borrowed}, output);
    CHECK(shown->front() == -1);  // a trusted kernel that violates its const writes to the binary
  }
}

TEST_CASE("a custom kernel can be replaced and removed, a built-in one cannot") {
  CHECK(test::must_fail([&] {
          add(source_of("relu", "__kernel void relu(__global int* output) {}", 0));
        }).reason == Reason::invalid_param);
  add(source_of("test_gone", "__kernel void test_gone(__global int* output) {}", 0));
  add(source_of("test_gone", "__kernel void test_gone(__global int* output, int n) {}", 0));
  CHECK(engine().registry().remove("test_gone"));
  CHECK_FALSE(engine().registry().remove("test_gone"));
  CHECK_FALSE(engine().registry().remove("relu"));
  CHECK(test::must_fail([&] { engine().registry().find("test_gone"); }).reason ==
        Reason::unknown_kernel);
}

namespace {

CustomSource split_source() {
  CustomSource source;
  source.name = "test_split";
  source.source =
      "__kernel void test_split(__global const float* x, __global int* whole, "
      "__global float* fraction, int n, int fraction_n) {\n"
      "  int i = get_global_id(0);\n"
      "  if (i >= n) return;\n"
      "  whole[i] = (int)floor(x[i]);\n"
      "  if (i < fraction_n) fraction[i] = x[i] - floor(x[i]);\n"
      "}\n";
  source.outputs = {"whole", "fraction"};
  return source;
}

Stage split(const BufferPtr& x, const BufferPtr& whole, const BufferPtr& fraction) {
  return engine().stages("test_split", {x}, whole, {}, Expansion::at_once, {fraction})->front();
}

}  // namespace

TEST_CASE("a kernel writes to several outputs") {
  engine().registry().add(make_custom_kernel(split_source(), engine().planner()));
  const BufferPtr x = buffer<float>({1.5f, -0.25f, 3});
  const BufferPtr whole = buffer<int32_t>({7, 7, 7});
  // The rest of a shorter output is the kernel's own concern, and elements that it does not write
  // keep their values.
  const BufferPtr fraction = buffer<float>({9, 9});
  const BufferPtr moment = engine().runtime().scheduler().snapshot(*fraction, "fraction");
  Runtime& runtime = engine().runtime();
  runtime.wait(runtime.scheduler().submit({split(x, whole, fraction)}, nullptr, nullptr));
  CHECK(read<int32_t>(whole) == std::vector<int32_t>{1, -1, 3});
  CHECK(read<float>(fraction) == std::vector<float>{0.5f, 0.75f});
  CHECK(read<float>(moment) == std::vector<float>{9, 9});

  // An output that is an input as well.
  runtime.wait(runtime.scheduler().submit({split(x, whole, x)}, nullptr, nullptr));
  CHECK(read<float>(x) == std::vector<float>{0.5f, 0.75f, 0});
  CHECK(read<int32_t>(whole) == std::vector<int32_t>{1, -1, 3});

  CHECK_THROWS_WITH_AS(split(x, whole, buffer<int32_t>({1, 2, 3})),
                       "output 1 of test_split is s32, expected f32 for float* fraction", Error);
  CHECK_THROWS_WITH_AS(engine().stage("test_split", {x}, whole, {}),
                       "test_split has 2 outputs, got 1", Error);
  const BufferPtr same = buffer<float>({1, 2, 3});
  CHECK_THROWS_WITH_AS(engine().stages("neg", {x}, same, {}, Expansion::at_once, {whole}),
                       "neg has 1 output, got 2", Error);
  engine().registry().remove("test_split");
}

TEST_CASE("two outputs of a kernel are not one buffer") {
  CustomSource source;
  source.name = "test_both";
  source.source =
      "__kernel void test_both(__global float* a, __global float* b) {\n"
      "  a[get_global_id(0)] = 1;\n"
      "  b[get_global_id(0)] = 2;\n"
      "}\n";
  source.inputs = 0;
  source.outputs = {"a", "b"};
  engine().registry().add(make_custom_kernel(source, engine().planner()));
  const BufferPtr x = buffer<float>({0});
  CHECK_THROWS_WITH_AS(engine().stages("test_both", {}, x, {}, Expansion::at_once, {x}),
                       "two outputs of test_both are the same buffer; each needs one of its own",
                       Error);
  engine().registry().remove("test_both");
}

TEST_CASE("outputs are arguments of the source that are not const") {
  CustomSource missing = split_source();
  missing.outputs = {"whole", "fraction", "rest"};
  CHECK_THROWS_WITH_AS(make_custom_kernel(missing, engine().planner()),
                       "test_split has no argument named rest, as in __global float* rest", Error);
  CustomSource constant = split_source();
  constant.outputs = {"whole", "fraction", "x"};
  constant.inputs = 0;
  CHECK_THROWS_WITH_AS(make_custom_kernel(constant, engine().planner()),
                       "output x of test_split must not be declared const", Error);
  CustomSource one = split_source();
  one.outputs = {"whole"};
  CHECK_THROWS_WITH_AS(make_custom_kernel(one, engine().planner()),
                       "input fraction of test_split must be declared const, as in __global const "
                       "float* fraction",
                       Error);
}
