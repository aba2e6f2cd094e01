// Every call for files and processes fails once. The library copes or reports it; files only
// contain what was written to them, no descriptor leaks, and the same work succeeds afterwards.
#include <doctest/doctest.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <map>

#include "faults/cl_faults.hpp"
#include "faults/file_faults.hpp"
#include "faults/recovery.hpp"
#include "runtime/process/files.hpp"
#include "runtime/process/folders.hpp"
#include "runtime/program/cache_folders.hpp"
#include "runtime/program/child_process.hpp"
#include "runtime/program/disk_cache.hpp"
#include "runtime/program/kernel_store.hpp"
#include "support/folder.hpp"

namespace dala::test {
namespace {

namespace fs = std::filesystem;

constexpr int kErrors[] = {ENOSPC, EIO, EACCES, EMFILE};

bool exists(const std::string& path) {
  const ClFaults::Pause pause;
  return fs::exists(path);
}

// Work with files, in its own folder. Throws WrongResult for results that no fault excuses, and
// returns whether everything succeeded.
struct FilePart {
  const char* name;
  bool (*run)(const std::string& folder);
};

size_t open_descriptors() {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    static_cast<void>(entry);
    ++count;
  }
  return count;
}

void need_one_of(const std::optional<std::string>& content,
                 const std::vector<std::string>& allowed) {
  if (!content) return;
  if (std::find(allowed.begin(), allowed.end(), *content) != allowed.end()) return;
  throw WrongResult("a file has a content that nobody has written");
}

bool disk_cache(const std::string& folder) {
  DiskCache cache(folder, 100'000);
  const std::string first(5000, 'a');
  const std::string second(9000, 'b');
  bool good = cache.write("one.bin", first);
  need_one_of(cache.read("one.bin"), {first});
  good = cache.write("one.bin", second) && good;
  const auto found = cache.read("one.bin");
  need_one_of(found, {first, second});
  good = good && found == second;
  for (int i = 0; i < 14; ++i) {  // beyond the limit
    good = cache.write(text("other", i, ".bin"), second) && good;
  }
  cache.trim();
  cache.remove("one.bin");
  return good && !cache.read("one.bin");
}

bool damaged_file(const std::string& folder) {
  DiskCache cache(folder, 0);
  const std::string content(3000, 'c');
  bool good = cache.write("damaged.bin", content);
  {
    const ClFaults::Pause pause;
    std::fstream file(folder + "/damaged.bin", std::ios::in | std::ios::out | std::ios::binary);
    if (file) file.seekp(1000).put('x');
  }
  // A damaged file must never be returned as content.
  if (cache.read("damaged.bin")) throw WrongResult("a damaged file was read");
  return good && !exists(folder + "/damaged.bin");
}

bool folders(const std::string& folder) {
  const std::string deep = folder + "/a/b/c";
  bool good = make_folder(deep);
  for (const std::string& problem :
       {trust_problem(deep, FolderUse::own), write_problem(deep), room_problem(deep),
        real_room_problem(deep), load_problem(deep)}) {
    good = good && problem.empty();
  }
  on_network(deep);
  sweep_work_folders(folder);
  Config config;
  config.cache_dir = deep + "/cache";
  const Store store = choose_store(config);
  // Either the configured folder, or a note that says why not.
  if (store.folder != config.cache_dir && store.note.empty()) throw WrongResult("a choice");
  good = good && store.folder == config.cache_dir && store.note.empty();
  remove_all(folder + "/a");
  return good && !exists(folder + "/a");
}

// Simulates the driver: a build leaves a folder with a mark.
void play_build(const std::string& place) {
  const ClFaults::Pause pause;
  fs::create_directories(place);
  if (!fs::exists(place + "/program.bc")) set_content(place + "/program.bc", "code");
  if (content_of(place + "/program.bc") != "code") throw WrongResult("an unpacked file");
  set_content(place + "/last_accessed", "");
}

void play_new_vm(const WorkFolder& work) {
  const ClFaults::Pause pause;
  fs::remove_all(work.path() + "/ZY");
}

bool kernel_store(const std::string& folder) {
  WorkFolder& work = WorkFolder::of_process({});
  const auto files = std::make_shared<DiskCache>(folder, 0);
  const auto build = [&](KernelStore& store) {
    KernelStore::Build turn(store, "key");
    play_build(work.path() + "/ZY/FAULTS");
    turn.succeeded();
  };
  bool good = true;
  for (int vm = 0; vm < 2; ++vm) {
    play_new_vm(work);
    KernelStore store(files, work);
    try {
      build(store);
      store.require_room();
    } catch (const Error& error) {
      if (error.reason != Reason::build_failed) throw;
      good = false;
    }
    store.stop();
    store.leave();
  }
  play_new_vm(work);
  good = good && exists(folder + "/key.pack");
  KernelStore(files, work).discard("key");
  return good && !exists(folder + "/key.pack");
}

bool child_processes(const std::string&) {
  const std::atomic<bool> go_on{false};
  const std::string input(100'000, 'x');
  const ChildOutcome outcome = run_child("/bin/cat", input, std::chrono::seconds(20), go_on);
  if (outcome.end == ChildOutcome::End::timed_out) throw WrongResult("a child that has no end");
  return outcome.end == ChildOutcome::End::exited && outcome.output == input;
}

const std::vector<FilePart>& file_parts() {
  static const std::vector<FilePart> all = {
      {"the cache on disk", disk_cache},
      {"a damaged file", damaged_file},
      {"folders", folders},
      {"the store of kernels", kernel_store},
      {"child processes", child_processes},
  };
  return all;
}

std::string describe(const FileFaultSpec& spec, long nth, int error, const std::string& where) {
  return text("call ", nth, " of ", spec.name, " fails with ", std::strerror(error), " in ", where);
}

// The calls that fail: the first with all errors, later ones with one of them.
std::vector<std::pair<long, int>> faults_of(long calls, long few) {
  std::vector<std::pair<long, int>> faults;
  if (calls == 0) return faults;
  for (int error : kErrors) faults.emplace_back(1, error);
  for (long nth : some_of(calls, few)) {
    if (nth > 1) faults.emplace_back(nth, kErrors[nth % std::size(kErrors)]);
  }
  return faults;
}

std::map<FileFunction, long> calls_of(const std::function<void()>& action) {
  std::map<FileFunction, long> calls;
  for (const FileFaultSpec& spec : file_fault_specs()) {
    calls[spec.function] = -FileFaults::calls(spec.function);
  }
  action();
  for (const FileFaultSpec& spec : file_fault_specs()) {
    calls[spec.function] += FileFaults::calls(spec.function);
  }
  return calls;
}

bool has_unfinished(const std::string& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".tmp") return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a call for a file that fails") {
  ClFaults::install();
  engine();  // so that the work folder exists
  engine_of_process().reset();
  for (const FilePart& part : file_parts()) {
    const auto calls = calls_of([&] {
      const Folder folder;
      CHECK(part.run(folder.path));
    });
    for (const FileFaultSpec& spec : file_fault_specs()) {
      constexpr long kFew = 12;
      for (const auto& [nth, error] : faults_of(calls.at(spec.function), kFew)) {
        const Folder folder;
        const std::string what = describe(spec, nth, error, part.name);
        INFO(what);
        const Watchdog watchdog(what);
        const size_t descriptors = open_descriptors();
        FileFaults::arm(spec.function, nth, error);
        CHECK_NOTHROW(part.run(folder.path));
        FileFaults::disarm();
        CHECK(open_descriptors() == descriptors);
        // A file that cannot be removed stays until it counts as abandoned.
        if (spec.function != FileFunction::unlink) CHECK_FALSE(has_unfinished(folder.path));
        CHECK(part.run(folder.path));
      }
    }
  }
}

TEST_CASE("a call for a file that fails while a device starts or a program is built") {
  ClFaults::install();
  const Folder cache;
  Config config = config_with(true);
  config.cache_dir = cache.path;
  const auto run = [&config] {
    const ScopedEngine scoped(config);
    part_named("kernels").run();
  };
  run();
  const auto calls = calls_of(run);
  for (const FileFaultSpec& spec : file_fault_specs()) {
    constexpr long kFew = 2;
    for (const auto& [nth, error] : faults_of(calls.at(spec.function), kFew)) {
      const std::string what = describe(spec, nth, error, "an engine");
      INFO(what);
      const Watchdog watchdog(what);
      const size_t descriptors = open_descriptors();
      FileFaults::arm(spec.function, nth, error);
      try {
        run();
      } catch (const Error& problem) {
        CHECK(problem.message != "");
      }
      FileFaults::disarm();
      CHECK(ClFaults::live().empty());
      // Every errno takes the same path here, so only some second runs are needed.
      if (thorough() || error == kErrors[0]) CHECK_NOTHROW(run());
      CHECK(open_descriptors() == descriptors);
    }
  }
}

}  // namespace dala::test
