#include "bench/peer_process.hpp"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "runtime/device/thread_placement.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace dala::bench {
namespace {

// Where `bin/setup bench` puts packages of npm.
std::filesystem::path package_folder() {
  if (const char* folder = std::getenv("DALA_BENCH_NODE_DIR")) return folder;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::filesystem::path base = cache != nullptr && *cache != '\0'
                                         ? std::filesystem::path(cache)
                                         : std::filesystem::path(home ? home : ".") / ".cache";
  return base / "dala_gpu" / "bench";
}

std::vector<int> threads_of(int pid) {
  std::vector<int> ids;
  std::error_code error;
  const std::string folder = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    ids.push_back(std::atoi(entry.path().filename().c_str()));
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

// The process may use all CPUs, whichever the calling thread is bound to.
void allow_all_cpus(int pid) {
  cpu_set_t allowed;
  if (sched_getaffinity(getpid(), sizeof(allowed), &allowed) == 0) {
    for (int thread : threads_of(pid)) sched_setaffinity(thread, sizeof(allowed), &allowed);
  }
}

}  // namespace

std::shared_ptr<PeerProcess> PeerProcess::onnx_runtime() {
  const std::string modules = (package_folder() / "node_modules").string();
  if (!std::filesystem::is_directory(modules + "/onnxruntime-node")) return nullptr;
  return start("ONNX Runtime", "node", "onnx_runtime.js", "NODE_PATH=" + modules);
}

// The system's Python is the one that packages of the system are for.
std::shared_ptr<PeerProcess> PeerProcess::torch_jit() {
  return start("torch-jit", "/usr/bin/python3", "torch_jit.py", "PYTHONWARNINGS=ignore");
}

std::shared_ptr<PeerProcess> PeerProcess::numpy() {
  return start("numpy", "/usr/bin/python3", "numpy_random.py", "PYTHONWARNINGS=ignore");
}

std::shared_ptr<PeerProcess> PeerProcess::start(const std::string& name, const std::string& program,
                                                const std::string& script,
                                                const std::string& variable) {
  int to[2];
  int from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) return nullptr;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);

  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.push_back(const_cast<char*>(variable.c_str()));
  environment.push_back(nullptr);
  std::string first = program;
  std::string path = DALA_BENCH_DIR "/" + script;
  char* arguments[] = {first.data(), path.data(), nullptr};
  int pid = 0;
  const int failed =
      posix_spawnp(&pid, program.c_str(), &actions, nullptr, arguments, environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(to[0]);
  close(from[1]);
  if (failed != 0) {
    close(to[1]);
    close(from[0]);
    return nullptr;
  }
  // Writing to one that has ended is an error like any other.
  signal(SIGPIPE, SIG_IGN);
  auto process = std::make_shared<PeerProcess>(name, pid, to[1], from[0]);
  const std::string ready = process->read_line();
  if (ready.rfind("ready ", 0) != 0) return nullptr;
  process->name_ += ready.substr(5);
  return process;
}

PeerProcess::PeerProcess(std::string name, int pid, int to, int from)
    : name_(std::move(name)), pid_(pid), to_(to), from_(from) {}

// It ends by itself when there is nobody left to ask.
PeerProcess::~PeerProcess() {
  close(to_);
  close(from_);
  waitpid(pid_, nullptr, 0);
}

void PeerProcess::load(const std::string& model, const std::string& input,
                       const std::vector<int64_t>& shape) {
  std::string dims;
  for (int64_t dim : shape) dims += (dims.empty() ? "" : "x") + std::to_string(dim);
  const std::string threads = std::to_string(std::thread::hardware_concurrency());
  allow_all_cpus(pid_);
  const std::vector<int> before = threads_of(pid_);
  ask("load\t" + model + "\t" + input + "\t" + dims + "\t" + threads);
  // The calling thread works as well; other threads that were there before do not.
  std::vector<int> workers{pid_};
  const std::vector<int> after = threads_of(pid_);
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                      std::back_inserter(workers));
  spread_over_cpus(workers);
}

double PeerProcess::time_of(int calls) { return std::stod(ask("run\t" + std::to_string(calls))); }

std::vector<float> PeerProcess::outputs(const std::string& scratch_file) {
  ask("save\t" + scratch_file);
  std::ifstream file(scratch_file, std::ios::binary | std::ios::ate);
  std::vector<float> elements(static_cast<size_t>(file.tellg()) / sizeof(float));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(elements.data()),
            static_cast<std::streamsize>(elements.size() * sizeof(float)));
  std::filesystem::remove(scratch_file);
  return elements;
}

std::string PeerProcess::ask(const std::string& line) {
  const std::string text = line + "\n";
  if (write(to_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error(name_ + " has ended");
  }
  const std::string answer = read_line();
  if (answer.rfind("error ", 0) == 0) throw std::runtime_error(name_ + ": " + answer.substr(6));
  return answer;
}

std::string PeerProcess::read_line() {
  std::string line;
  for (char next = 0; read(from_, &next, 1) == 1 && next != '\n';) line += next;
  return line;
}

}  // namespace dala::bench
