#include "runtime/program/compiler.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "runtime/error.hpp"
#include "runtime/program/child_process.hpp"

namespace dala {
namespace {

// The program in the same folder as the library or executable that contains this code.
std::string find_program(const Device& device) {
  if (device.runs_only_when_awaited()) return "";
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&find_program), &info) == 0) return "";
  std::string path = info.dli_fname == nullptr ? "" : info.dli_fname;
  const size_t slash = path.rfind('/');
  path = slash == std::string::npos ? "./" : path.substr(0, slash + 1);
  path += "dala_gpu_compiler";
  return access(path.c_str(), X_OK) == 0 ? path : "";
}

Error failed(const std::string& sentence, const std::string& log) {
  return Error(Reason::build_failed, sentence, {{"log", log}});
}

std::string in_brackets(const std::string& words) {
  return words.empty() ? "" : text(" (", words, ")");
}

[[noreturn]] void throw_outcome(const ChildOutcome& outcome, std::chrono::milliseconds limit) {
  using End = ChildOutcome::End;
  std::string words = outcome.last_words;
  while (!words.empty() && words.back() == '\n') words.pop_back();
  switch (outcome.end) {
    case End::timed_out:
      throw failed(text("the compiler was ended: it took longer for this source than "
                        "build_timeout allows (",
                        limit.count(), " ms)"),
                   words);
    case End::stopped:
      throw Error(Reason::no_device, "the library is being unloaded");
    case End::not_started:
      throw Error(Reason::build_failed,
                  text("the compiler could not be started: ", std::strerror(outcome.code)));
    case End::signalled:
      throw failed(text("the compiler ended with signal ", outcome.code, " (",
                        strsignal(outcome.code), ") over this source"),
                   words);
    case End::exited:
      break;
  }
  throw failed(text("the compiler gave up on this source", in_brackets(words)), words);
}

}  // namespace

Compiler::Compiler(const Device& device, std::chrono::milliseconds limit)
    : device_(device),
      limit_(limit.count() > 0 ? limit : std::chrono::hours(24)),
      program_(find_program(device)) {}

// The reply is "ok", "log" followed by the compiler's log, or "refused" followed by a sentence.
void Compiler::compile(const std::string& source, const std::string& options,
                       std::vector<Specialisation> specialisations) {
  const CompileRequest request{device_.info().platform_name, device_.info().name, source, options,
                               std::move(specialisations)};
  const ChildOutcome outcome = run_child(program_, encode(request), limit_, stopped_);
  const std::string_view answer = outcome.output;
  const size_t line = answer.find('\n');
  if (outcome.end == ChildOutcome::End::exited && line != std::string_view::npos) {
    const std::string rest(answer.substr(line + 1));
    if (answer.substr(0, line) == "ok") return;
    if (answer.substr(0, line) == "refused") throw failed(rest, rest);
    if (answer.substr(0, line) == "log") {
      throw failed(text("the OpenCL C source does not compile:\n", rest), rest);
    }
  }
  throw_outcome(outcome, limit_);
}

}  // namespace dala
