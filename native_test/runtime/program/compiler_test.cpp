// Sources that crash, stall or mislead a compiler, in a separate process.
#include "runtime/program/compiler.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>

#include "runtime/program/child_process.hpp"
#include "support/engine_fixture.hpp"

using namespace dala;

namespace {

constexpr std::chrono::milliseconds kLimit{120'000};

std::string kernel(const std::string& body) {
  return "__kernel void k(__global const float* x, __global float* output, int n) {" + body + "}";
}

Error failure(const std::string& source, std::chrono::milliseconds limit = kLimit,
              std::vector<Specialisation> specialisations = {}) {
  Compiler compiler(test::engine().runtime().device(), limit);
  return test::must_fail([&] { compiler.compile(source, "", std::move(specialisations)); });
}

bool available() { return Compiler(test::engine().runtime().device(), kLimit).available(); }

}  // namespace

TEST_CASE("a request survives the way to the other process") {
  const CompileRequest request{
      "p", "d", std::string("a\0b", 3), "-w", {{"k", {64, 2, 1}, true}, {"", {1, 1, 1}, false}}};
  const std::string bytes = encode(request);
  const auto decoded = decode_request(bytes);
  REQUIRE(decoded);
  CHECK(decoded->source == request.source);
  CHECK(decoded->specialisations == request.specialisations);
  for (size_t length = 0; length < bytes.size(); ++length) {
    CHECK_FALSE(decode_request(std::string_view(bytes).substr(0, length)));
  }
  CHECK_FALSE(decode_request(bytes + "x"));
}

TEST_CASE("a child process: its output, its end, and an end that is brought about") {
  const std::atomic<bool> go_on{false};
  const ChildOutcome echoed = run_child("/bin/cat", std::string(300'000, 'x'), kLimit, go_on);
  CHECK(echoed.end == ChildOutcome::End::exited);
  CHECK(echoed.output.size() == 300'000);
  CHECK(run_child("/bin/false", "", kLimit, go_on).code == 1);
  CHECK(run_child("/no/such/program", "", kLimit, go_on).end == ChildOutcome::End::not_started);
  const ChildOutcome late = run_child("/usr/bin/yes", "", std::chrono::milliseconds(50), go_on);
  CHECK(late.end == ChildOutcome::End::timed_out);
  const std::atomic<bool> stop{true};
  CHECK(run_child("/usr/bin/yes", "", kLimit, stop).end == ChildOutcome::End::stopped);
}

TEST_CASE("a source that compiles, and one that does not") {
  if (!available()) return;
  Compiler compiler(test::engine().runtime().device(), kLimit);
  compiler.compile(kernel("output[n] = x[n];"), "", {{"k", {8, 1, 1}, false}});
  const Error error = failure(kernel("output[n] = undeclared;"));
  CHECK(error.reason == Reason::build_failed);
  CHECK(error.message.starts_with("the OpenCL C source does not compile:\n"));
  CHECK(std::get<std::string>(error.details.front().second).find("undeclared") !=
        std::string::npos);
}

TEST_CASE("a source over which the compiler crashes") {
  if (!available()) return;
  const Error error = failure(kernel("output[0] = " + std::string(400'000, '-') + "1;"));
  CHECK(error.reason == Reason::build_failed);
  // A sanitizer turns the signal into an exit code.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) && !defined(__has_feature)
  CHECK(error.message.starts_with("the compiler ended with signal "));
#endif
}

TEST_CASE("a build that takes too long") {
  if (!available()) return;
  const Error error = failure(kernel(""), std::chrono::milliseconds(1));
  CHECK(error.message ==
        "the compiler was ended: it took longer for this source than build_timeout allows (1 ms)");
}

TEST_CASE("a compiler that is stopped") {
  if (!available()) return;
  Compiler compiler(test::engine().runtime().device(), kLimit);
  compiler.stop();
  CHECK(test::must_fail([&] { compiler.compile(kernel(""), "", {}); }).reason == Reason::no_device);
}

TEST_CASE("kernels whose frame overflows a thread's stack are refused") {
  const Device& device = test::engine().runtime().device();
  if (!available() || !device.compiles_at_launch()) return;
#if defined(__x86_64__)
  const Error error = failure(
      kernel("float b[100000]; for (int i = 0; i < n; ++i) b[i] = x[i]; output[n] = b[n + 1];"),
      kLimit, {{"k", {64, 1, 1}, false}});
  CHECK(error.message.starts_with("the compiled kernel is refused: its private arrays take "));
#endif
}
