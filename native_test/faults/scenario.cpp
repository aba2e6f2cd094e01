#include "faults/scenario.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <numeric>
#include <thread>

#include "kernels/custom/custom_kernel.hpp"
#include "model/model.hpp"
#include "runtime/schedule/reservation.hpp"
#include "support/bytes.hpp"
#include "support/onnx_writer.hpp"
#include "support/pipeline.hpp"

namespace dala::test {
namespace {

constexpr auto kBound = std::chrono::seconds(120);

void expect(bool right, const std::string& what) {
  if (!right) throw WrongResult(what + " is wrong");
}

std::vector<float> ramp(size_t count, float first = -10) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

std::vector<float> without_negative(std::vector<float> values) {
  for (float& each : values) each = std::max(each, 0.0F);
  return values;
}

Runtime& runtime() { return engine().runtime(); }

void uploads_and_reads() {
  // Too large to be copied at once, and too misaligned to be borrowed.
  constexpr size_t kCount = 40'000;
  auto owner = std::make_shared<std::vector<std::byte>>(kCount * sizeof(float) + 1);
  const std::vector<float> values = ramp(kCount);
  std::memcpy(owner->data() + 1, values.data(), kCount * sizeof(float));
  const TensorType type{DType::f32, {static_cast<int64_t>(kCount)}};
  const BufferPtr uploaded = runtime().from_host(type, owner->data() + 1, owner);
  expect(read<float>(uploaded) == values, "an upload");
  runtime().write(uploaded, owner->data() + 1, owner);
  expect(read<float>(uploaded) == values, "a write");
  // Aligned: borrowed, if the device allows it.
  expect(read<float>(buffer(values)) == values, "a buffer that may be borrowed");
  expect(read<float>(buffer(ramp(3))) == ramp(3), "a small buffer");
}

void fills() {
  for (int round = 0; round < 2; ++round) {  // the second round reuses memory
    const BufferPtr zero = zeros(DType::u8, {100'000});
    expect(read<uint8_t>(zero) == std::vector<uint8_t>(100'000, 0), "a buffer of zeros");
    run("fill", {}, zero, {{"value", int64_t{7}}});
    expect(read<uint8_t>(zero) == std::vector<uint8_t>(100'000, 7), "a filled buffer");
  }
}

void kernels() {
  const BufferPtr x = buffer(ramp(300));
  const BufferPtr y = zeros(DType::f32, {300});
  run("relu", {x}, y);
  expect(read<float>(y) == without_negative(ramp(300)), "relu");
  // In place, while a binary shows the input: the output gets fresh memory.
  const auto shown = runtime().read(x, nullptr);
  run("relu", {x}, x);
  expect(read<float>(x) == without_negative(ramp(300)), "relu in place");
}

void copies() {
  const BufferPtr from = buffer(ramp(50));
  const BufferPtr to = zeros(DType::f32, {50});
  const auto id = runtime().scheduler().submit({engine().copy_stage(from, to)}, nullptr, nullptr);
  runtime().wait(id);
  expect(read<float>(to) == ramp(50), "a copy");
}

// A kernel that writes only some elements, while a binary shows the buffer.
void drawing() {
  const BufferPtr image = zeros(DType::u8, {4, 4, 4});
  const auto shown = runtime().read(image, nullptr);
  run("fill_rect", {}, image,
      {{"x", int64_t{0}},
       {"y", int64_t{0}},
       {"width", int64_t{1}},
       {"height", int64_t{1}},
       {"color", std::vector<double>{9, 9, 9, 255}}});
  std::vector<uint8_t> expected(64, 0);
  expected[0] = expected[1] = expected[2] = 9;
  expected[3] = 255;
  expect(read<uint8_t>(image) == expected, "a rectangle");
}

// A reservation: first the place in the order, later the stages.
void reserved_commands() {
  const BufferPtr x = buffer(ramp(100));
  const BufferPtr y = zeros(DType::f32, {100});
  const auto reserved = runtime().scheduler().reserve({x}, y, nullptr, nullptr);
  const Stage after = engine().stage("neg", {y}, x, {});
  const CommandId last = runtime().scheduler().submit({after}, nullptr, nullptr);
  engine().complete(*reserved, "relu", {});
  runtime().wait(reserved->id());
  runtime().wait(last);
  std::vector<float> expected = ramp(100);
  for (float& each : expected) each = -std::max(each, 0.0F);
  expect(read<float>(x) == expected, "a reserved command");
}

void pipelines() {
  const BufferPtr x = buffer(ramp(100));
  const BufferPtr between = runtime().temporary(checked_type(DType::f32, {100}));
  const BufferPtr y = zeros(DType::f32, {100});
  for (bool fuse : {true, false}) {
    TestPipeline pipeline;
    pipeline.add("elementwise_add", {x, x}, between).add("relu", {between}, y);
    pipeline.barrier().add("elementwise_add", {y, x}, y);
    pipeline.run(fuse);
    std::vector<float> expected = ramp(100);
    for (float& each : expected) each = std::max(2 * each, 0.0F) + each;
    expect(read<float>(y) == expected, "a pipeline");
  }
}

// Commands that a library enqueues itself.
void calls() {
  const BufferPtr from = buffer(ramp(20));
  const BufferPtr to = zeros(DType::f32, {20});
  auto launch = std::make_shared<Launch>();
  launch->name = "call";
  launch->steps.push_back(CallStep{[](cl_command_queue queue, const auto& memory) {
    check(cl().clEnqueueCopyBuffer(queue, memory(input(0)), memory(output()), 0, 0, 80, 0, nullptr,
                                   nullptr),
          "clEnqueueCopyBuffer");
  }});
  const CommandId before = submit("relu", {from}, from);
  const CommandId call =
      runtime().scheduler().submit({Stage{launch, {from}, to}}, nullptr, nullptr);
  runtime().wait(before);
  runtime().wait(call);
  expect(read<float>(to) == without_negative(ramp(20)), "a call");
}

void custom_kernels() {
  CustomSource source;
  source.name = "doubled";
  source.source =
      "__kernel void doubled(__global const float* x, __global float* output, int n) {\n"
      "  int i = get_global_id(0);\n"
      "  if (i < n) output[i] = 2 * x[i];\n"
      "}\n";
  engine().registry().remove("doubled");
  engine().registry().add(make_custom_kernel(source, engine().planner()));
  const BufferPtr y = zeros(DType::f32, {30});
  run("doubled", {buffer(ramp(30))}, y);
  std::vector<float> expected = ramp(30);
  for (float& each : expected) each *= 2;
  expect(read<float>(y) == expected, "a custom kernel");
}

// A convolution of ones over an image of ones, followed by the layers of a sequence.
void models() {
  OnnxWriter writer;
  writer.input("x", {1, 8, 4, 4}).output("y");
  writer.constant("w", model::ElementType::f32, {8, 8, 1, 1}, std::vector<float>(64, 1));
  writer.node("Conv", {"x", "w"}, {"a"}).node("Relu", {"a"}, {"b"});
  writer.node("Conv", {"b", "w"}, {"c"}).node("GlobalAveragePool", {"c"}, {"y"});
  const auto model = model::Model::load(engine(), as_bytes(writer.str()), "");
  const BufferPtr x = buffer(std::vector<float>(128, 1), {1, 8, 4, 4});
  const std::vector<float> expected(8, 64);
  expect(read<float>(model->predict_now({x}).at(0)) == expected, "a prediction");
  const auto profiled = model->profile({x});
  expect(read<float>(profiled.outputs.at(0)) == expected, "a profiled prediction");
}

void cancelled_commands() {
  const BufferPtr x = buffer(ramp(200));
  const BufferPtr y = zeros(DType::f32, {200});
  Scheduler& scheduler = runtime().scheduler();
  std::vector<CommandId> ids;
  for (int i = 0; i < 8; ++i) {
    ids.push_back(scheduler.submit({engine().stage("relu", {x}, y, {})}, nullptr, nullptr));
  }
  scheduler.cancel(ids.back());
  for (size_t i = 0; i + 1 < ids.size(); ++i) runtime().wait(ids[i]);
  expect(read<float>(y) == without_negative(ramp(200)), "a result beside one that is cancelled");
}

void profiles() {
  const auto profile = runtime().scheduler().start_profile();
  const BufferPtr y = zeros(DType::f32, {10});
  run("relu", {buffer(ramp(10))}, y);
  expect(read<float>(y) == without_negative(ramp(10)), "a profiled kernel");
}

// Read by another thread than the waiting one.
class Limit {
 public:
  void start(std::string what) {
    const std::lock_guard lock(mutex_);
    what_ = std::move(what);
    ++running_;
    if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
    changed_.notify_all();
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    ++running_;
    what_.clear();
    changed_.notify_all();
  }
  ~Limit() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!ended_) {
      const auto before = running_;
      const bool changed =
          changed_.wait_for(lock, kBound, [&] { return ended_ || running_ != before; });
      if (changed || what_.empty()) continue;
      std::fprintf(stderr, "no end of it: %s\n", what_.c_str());
      std::abort();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  uint64_t running_ = 0;
  bool ended_ = false;
  std::thread thread_;
};

Limit& limit() {
  static Limit instance;
  return instance;
}

}  // namespace

const std::vector<Part>& parts() {
  static const std::vector<Part> all = {
      {"uploads and reads", uploads_and_reads},
      {"fills", fills},
      {"kernels", kernels},
      {"copies", copies},
      {"drawing", drawing},
      {"pipelines", pipelines},
      {"calls", calls},
      {"reserved commands", reserved_commands},
      {"custom kernels", custom_kernels},
      {"models", models},
      {"cancelled commands", cancelled_commands},
      {"profiles", profiles},
  };
  return all;
}

const Part& part_named(const std::string& name) {
  for (const Part& part : parts()) {
    if (part.name == name) return part;
  }
  throw std::logic_error("there is no part " + name);
}

Watchdog::Watchdog(std::string what) { limit().start(std::move(what)); }
Watchdog::~Watchdog() { limit().stop(); }

}  // namespace dala::test
