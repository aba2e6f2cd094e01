#include "runtime/program/kernel_store.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "runtime/error.hpp"
#include "runtime/process/files.hpp"
#include "runtime/process/folders.hpp"
#include "runtime/program/group_function.hpp"
#include "runtime/program/pack.hpp"

namespace dala {
namespace {

namespace fs = std::filesystem;

// The driver touches this file in the program's folder at every build.
constexpr const char* kMark = "last_accessed";
constexpr std::chrono::seconds kProbeEvery{10};
constexpr time_t kAbandonedFor =
    600;  // seconds after which a temporary file is considered abandoned

bool is_unfinished(const std::string& name) {
  const std::string end = fs::path(name).extension().string();
  return end == ".temp" || end == ".tmp";
}

timespec modified(const std::string& path) {
  struct stat state {};
  if (stat(path.c_str(), &state) != 0) return {};
#if defined(__APPLE__)
  return state.st_mtimespec;
#else
  return state.st_mtim;
#endif
}

bool same(const timespec& left, const timespec& right) {
  return left.tv_sec == right.tv_sec && left.tv_nsec == right.tv_nsec;
}

std::string pack_name(const std::string& key) { return key + ".pack"; }

// Paths, relative to `root`, of the files below `folder` that are worth keeping.
std::vector<std::string> files_below(const std::string& root, const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  const fs::recursive_directory_iterator end;
  for (fs::recursive_directory_iterator at(root + "/" + folder, error); !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    const std::string name = at->path().filename().string();
    if (!at->is_regular_file(gone) || name == kMark || is_unfinished(name)) continue;
    found.push_back(at->path().string().substr(root.size() + 1));
  }
  return found;
}

// Removes temporary files beside the programs, where the driver leaves some at every build.
void remove_abandoned(const std::string& root) {
  const time_t now = time(nullptr);
  for (const std::string& name : names_in(root)) {
    if (name.compare(0, 4, "temp") != 0) continue;
    const std::string path = root + "/" + name;
    if (now - modified(path).tv_sec > kAbandonedFor) remove_all(path);
  }
}

}  // namespace

KernelStore::Build::Build(KernelStore& store, std::string key)
    : store_(store), key_(std::move(key)), turn_(store.turn_) {
  store_.begin(key_);
}

KernelStore::Build::~Build() {
  try {
    // Its own files are saved with those of its first launch.
    store_.publish_ended();
    store_.claim(key_, succeeded_);
  } catch (const std::exception&) {
    // Out of memory: nothing is saved, and the next VM compiles again.
  }
}

KernelStore::KernelStore(std::shared_ptr<DiskCache> files, WorkFolder& work)
    : files_(std::move(files)), work_(work) {
  work_.hold();
  // Attributes earlier changes by the driver to other engines of this process.
  observe();
}

KernelStore::~KernelStore() { leave(); }

void KernelStore::provide(const std::string& key) {
  const std::lock_guard turn(turn_);
  begin(key);
  // They stay for the next build, whichever build ends before it begins.
  unpacked_.clear();
}

void KernelStore::begin(const std::string& key) {
  require_running();
  // A cleaner of temporary files may have removed the folder.
  make_folder(work_.path());
  const std::string problem = build_problem();
  if (!problem.empty()) {
    throw Error(Reason::build_failed,
                text("the program cannot be compiled: ", work_.path(), " ", problem));
  }
  {
    const std::lock_guard lock(news_mutex_);
    discarded_.erase(key);
  }
  remove_unwanted();
  unpack(key);
}

std::string KernelStore::build_problem() {
  // Builds come in bursts, and the second check takes milliseconds.
  const auto now = std::chrono::steady_clock::now();
  if (now < next_probe_) return room_problem(work_.path());
  std::string problem = real_room_problem(work_.path());
  if (problem.empty()) next_probe_ = now + kProbeEvery;
  return problem;
}

void KernelStore::require_running() const {
  if (stopped_) throw Error(Reason::build_failed, "nothing can be compiled: the VM is ending");
}

void KernelStore::require_room() const {
  require_running();
  std::string problem = room_problem(work_.path());
  if (!problem.empty() && access(work_.path().c_str(), F_OK) != 0 && make_folder(work_.path())) {
    problem = room_problem(work_.path());
  }
  if (problem.empty()) return;
  throw Error(Reason::build_failed,
              text("the kernel cannot be compiled: ", work_.path(), " ", problem));
}

void KernelStore::launched(const std::string& key, cl_event event) noexcept {
  try {
    News news{key, retained(event)};
    const std::lock_guard lock(news_mutex_);
    news_.push_back(std::move(news));
    pending_ = true;
  } catch (const std::exception&) {
    // The launch goes on; the next VM compiles again.
  }
}

bool KernelStore::compiles() noexcept {
  const std::lock_guard lock(news_mutex_);
  return std::any_of(news_.begin(), news_.end(),
                     [](const News& news) { return news.event && !has_ended(news.event); });
}

void KernelStore::keep_news() noexcept {
  const std::lock_guard lock(news_mutex_);
  told_ = false;
}

bool KernelStore::has_news() noexcept {
  if (!pending_.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(news_mutex_);
  if (told_) return false;
  told_ = std::any_of(news_.begin(), news_.end(),
                      [](const News& news) { return news.event && has_ended(news.event); });
  return told_;
}

void KernelStore::publish() noexcept {
  try {
    const std::unique_lock turn(turn_, std::try_to_lock);
    {
      const std::lock_guard lock(news_mutex_);
      told_ = false;
    }
    if (turn) publish_ended();
  } catch (const std::exception&) {
    // As above.
  }
}

void KernelStore::publish_ended() {
  std::set<std::string> keys;
  {
    const std::lock_guard lock(news_mutex_);
    std::set<std::string> busy;
    for (const News& news : news_) {
      if (news.event && !has_ended(news.event)) busy.insert(news.key);
    }
    std::erase_if(news_, [&](const News& news) {
      if (busy.count(news.key) > 0) return false;
      if (discarded_.count(news.key) == 0) keys.insert(news.key);
      return true;
    });
    pending_ = !news_.empty();
  }
  for (const std::string& key : keys) save(key);
}

std::vector<std::string> KernelStore::observe() {
  std::vector<std::string> used;
  const std::string& root = work_.path();
  for (const std::string& first : names_in(root)) {
    // Programs are in folders named after the first two characters of their names.
    if (first.size() != 2) continue;
    for (const std::string& second : names_in(root + "/" + first)) {
      const std::string path = first + "/" + second;
      const timespec mark = modified(text(root, "/", path, "/", kMark));
      const auto [found, is_new] = folders_.try_emplace(path);
      if (!is_new && same(found->second.used, mark)) continue;
      found->second.used = mark;
      used.push_back(path);
    }
  }
  return used;
}

void KernelStore::unpack(const std::string& key) {
  const std::optional<std::string> packed = files_->read(pack_name(key));
  if (!packed) {
    saved_.erase(key);
    return;
  }
  std::set<std::string>& saved = saved_[key];
  for (const auto& [path, content] : dala::unpack(*packed)) {
    saved.insert(path);
    unpacked_.insert(path.substr(0, path.find('/', path.find('/') + 1)));
    const std::string place = work_.path() + "/" + path;
    // Existing files are this VM's own.
    if (access(place.c_str(), F_OK) == 0) continue;
    if (!make_folder(place.substr(0, place.find_last_of('/'))) || !replace_file(place, content)) {
      return;  // the driver compiles the rest again
    }
  }
}

void KernelStore::claim(const std::string& key, bool succeeded) {
  const std::set<std::string> unpacked = std::exchange(unpacked_, {});
  for (const std::string& path : observe()) {
    Folder& folder = folders_[path];
    const bool marked = !same(folder.used, {});
    if (succeeded && marked) {
      folder.keys.insert(key);
    } else if (folder.keys.empty() && !marked && (unpacked.count(path) > 0 || has_failed(path))) {
      drop(path);
    }
  }
  remove_abandoned(work_.path());
  if (!succeeded) return;
  const std::lock_guard lock(news_mutex_);
  news_.push_back({key, ClEvent()});
  pending_ = true;
}

// A failed build leaves nothing but its log. A folder without a log may belong to a build by
// another library in this process.
bool KernelStore::has_failed(const std::string& path) const {
  const std::string folder = text(work_.path(), "/", path, "/");
  return access((folder + "build.log").c_str(), F_OK) == 0 &&
         access((folder + "program.bc").c_str(), F_OK) != 0;
}

void KernelStore::drop(const std::string& path) {
  remove_all(work_.path() + "/" + path);
  folders_.erase(path);
}

void KernelStore::save(const std::string& key) {
  if (files_->folder().empty()) return;
  std::vector<std::string> paths;
  for (const auto& [path, folder] : folders_) {
    if (folder.keys.count(key) == 0) continue;
    for (std::string& file : files_below(work_.path(), path)) paths.push_back(std::move(file));
  }
  std::set<std::string>& saved = saved_[key];
  if (std::all_of(paths.begin(), paths.end(),
                  [&saved](const std::string& path) { return saved.count(path) > 0; })) {
    return;
  }
  // Keeps files that another VM has saved and this one does not have.
  Files files;
  if (const auto packed = files_->read(pack_name(key))) files = dala::unpack(*packed);
  for (const std::string& path : paths) {
    if (auto content = read_file(work_.path() + "/" + path)) files[path] = std::move(*content);
  }
  if (!files_->write(pack_name(key), pack(files))) return;
  saved.insert(paths.begin(), paths.end());
  const std::lock_guard lock(news_mutex_);
  if (discarded_.count(key) > 0) files_->remove(pack_name(key));
}

std::string KernelStore::library_of(const std::string& key, const Specialisation& form) {
  const std::lock_guard turn(turn_);
  for (const auto& [path, folder] : folders_) {
    if (folder.keys.count(key) == 0) continue;
    // A library for all grids also serves small ones.
    for (const bool small_grid : {true, false}) {
      if (small_grid && form.wide) continue;
      std::string library = text(work_.path(), "/", path, "/",
                                 group_library_path(form.entry, form.local, small_grid));
      if (access(library.c_str(), R_OK) == 0) return library;
    }
  }
  return "";
}

void KernelStore::enter(const std::string& key) {
  const std::lock_guard lock(news_mutex_);
  ++programs_[key];
}

void KernelStore::exit(const std::string& key) noexcept {
  const std::lock_guard lock(news_mutex_);
  const auto found = programs_.find(key);
  if (found == programs_.end() || --found->second > 0) return;
  programs_.erase(found);
  has_unwanted_ = has_unwanted_ || discarded_.count(key) > 0;
}

void KernelStore::discard(const std::string& key) {
  const std::lock_guard lock(news_mutex_);
  discarded_.insert(key);
  files_->remove(pack_name(key));
}

void KernelStore::remove_unwanted() {
  std::vector<std::string> keys;
  {
    const std::lock_guard lock(news_mutex_);
    if (!std::exchange(has_unwanted_, false)) return;
    std::erase_if(discarded_, [&](const std::string& key) {
      if (programs_.count(key) > 0) return false;
      std::erase_if(news_, [&key](const News& news) { return news.key == key; });
      keys.push_back(key);
      return true;
    });
  }
  for (const std::string& key : keys) {
    saved_.erase(key);
    std::vector<std::string> unused;
    for (auto& [path, folder] : folders_) {
      if (folder.keys.erase(key) > 0 && folder.keys.empty()) unused.push_back(path);
    }
    for (const std::string& path : unused) drop(path);
  }
}

void KernelStore::stop() noexcept {
  stopped_ = true;
  publish();
}

void KernelStore::leave() noexcept {
  // A build in progress needs the folder.
  const std::unique_lock turn(turn_, std::try_to_lock);
  if (turn && !left_.exchange(true)) work_.release();
}

}  // namespace dala
