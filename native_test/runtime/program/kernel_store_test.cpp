#include "runtime/program/kernel_store.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>

#include "runtime/error.hpp"
#include "runtime/process/files.hpp"
#include "support/folder.hpp"

using namespace dala;
using test::Folder;

namespace {

constexpr const char* kProgram = "ZZ/CDEFGH";  // no name of the real driver

// Simulates the driver: a build leaves a folder with a mark, a launch leaves a library in it.
struct Driver {
  WorkFolder& work = WorkFolder::of_process({});

  std::string place(const std::string& name) const {
    return text(work.path(), "/", kProgram, "/", name);
  }
  void build(const std::string& code) {
    make_folder(work.path() + "/" + kProgram);
    if (!std::filesystem::exists(place("program.bc"))) test::set_content(place("program.bc"), code);
    test::set_content(place("last_accessed"), "");
    // Real builds take longer than a tick of the file system's clock; this one does not.
    static std::chrono::seconds turns{0};
    const auto now = std::filesystem::file_time_type::clock::now();
    std::filesystem::last_write_time(place("last_accessed"), now + ++turns);
    test::set_content(place("program.bc_XXXXXX.temp"), "half");
  }
  void fail() {
    make_folder(work.path() + "/" + kProgram);
    test::set_content(place("build.log"), "error");
  }
  // As at the start of the next VM.
  void forget() { std::filesystem::remove_all(work.path() + "/ZZ"); }
  ~Driver() { forget(); }
};

void build(KernelStore& store, Driver& driver, const std::string& key, const std::string& code) {
  KernelStore::Build turn(store, key);
  driver.build(code);
  turn.succeeded();
}

}  // namespace

TEST_CASE("what the driver compiles is there for the next VM") {
  const Folder folder;
  Driver driver;
  auto files = std::make_shared<DiskCache>(folder.path, 0);
  {
    KernelStore store(files, driver.work);
    build(store, driver, "one", "code");
    test::set_content(driver.place("one.so"), "library");
    store.stop();
    store.leave();
  }
  CHECK(folder.names() == std::vector<std::string>{"one.pack"});
  driver.forget();
  KernelStore store(files, driver.work);
  {
    KernelStore::Build turn(store, "one");
    CHECK(test::content_of(driver.place("program.bc")) == "code");
    CHECK(test::content_of(driver.place("one.so")) == "library");
    CHECK_FALSE(std::filesystem::exists(driver.place("last_accessed")));
    CHECK_FALSE(std::filesystem::exists(driver.place("program.bc_XXXXXX.temp")));
    driver.build("other code");
    turn.succeeded();
  }
  // There is nothing new to save.
  const auto written = std::filesystem::last_write_time(folder.path + "/one.pack");
  store.publish();
  CHECK(std::filesystem::last_write_time(folder.path + "/one.pack") == written);
}

TEST_CASE("a damaged pack is as good as none, and is made again") {
  const Folder folder;
  Driver driver;
  auto files = std::make_shared<DiskCache>(folder.path, 0);
  {
    KernelStore store(files, driver.work);
    build(store, driver, "one", "code");
    store.stop();
  }
  const std::string path = folder.path + "/one.pack";
  const std::string good = test::content_of(path);
  for (const std::string& damaged : {std::string(), good.substr(0, good.size() / 2),
                                     std::string(good.size(), 'x'), good + "x"}) {
    driver.forget();
    test::set_content(path, damaged);
    KernelStore store(files, driver.work);
    {
      KernelStore::Build turn(store, "one");
      CHECK_FALSE(std::filesystem::exists(driver.place("program.bc")));
      CHECK_FALSE(std::filesystem::exists(path));
      driver.build("code");
      turn.succeeded();
    }
    store.stop();
    CHECK(test::content_of(path) == good);
  }
}

TEST_CASE("files that another VM has saved meanwhile are kept") {
  const Folder folder;
  Driver driver;
  auto files = std::make_shared<DiskCache>(folder.path, 0);
  KernelStore store(files, driver.work);
  build(store, driver, "one", "code");
  {
    // Another process, which does not know this one's folder.
    KernelStore other(files, driver.work);
    build(other, driver, "one", "code");
    test::set_content(driver.place("other.so"), "theirs");
    other.stop();
    std::filesystem::remove(driver.place("other.so"));
  }
  test::set_content(driver.place("one.so"), "ours");
  store.stop();
  driver.forget();
  KernelStore next(files, driver.work);
  const KernelStore::Build turn(next, "one");
  CHECK(test::content_of(driver.place("one.so")) == "ours");
  CHECK(test::content_of(driver.place("other.so")) == "theirs");
}

TEST_CASE("a build that fails leaves nothing") {
  const Folder folder;
  Driver driver;
  KernelStore store(std::make_shared<DiskCache>(folder.path, 0), driver.work);
  {
    const KernelStore::Build turn(store, "one");
    driver.fail();
  }
  CHECK_FALSE(std::filesystem::exists(driver.place("")));
  store.publish();
  CHECK(folder.names().empty());
}

TEST_CASE("a program that is discarded goes, unless it is built again") {
  const Folder folder;
  Driver driver;
  KernelStore store(std::make_shared<DiskCache>(folder.path, 0), driver.work);
  const auto next_turn = [&] { const KernelStore::Build turn(store, "next"); };
  for (const char* key : {"one", "same"}) {
    store.enter(key);
    build(store, driver, key, "code");
  }
  store.publish();
  CHECK(folder.names() == std::vector<std::string>{"one.pack", "same.pack"});

  store.discard("one");
  store.publish();
  CHECK(folder.names() == std::vector<std::string>{"same.pack"});
  store.exit("one");
  next_turn();
  CHECK(std::filesystem::exists(driver.place("program.bc")));  // shared with the other program

  SUBCASE("with the last program") {
    store.discard("same");
    next_turn();
    CHECK(std::filesystem::exists(driver.place("program.bc")));
    store.exit("same");
    next_turn();
    CHECK_FALSE(std::filesystem::exists(driver.place("program.bc")));
  }
  SUBCASE("while a program that took its place stays") {
    store.discard("same");
    store.enter("same");
    build(store, driver, "same", "code");
    store.exit("same");
    next_turn();
    CHECK(std::filesystem::exists(driver.place("program.bc")));
    store.publish();
    CHECK(folder.names() == std::vector<std::string>{"same.pack"});
  }
}

TEST_CASE("a kernel may be called what the driver calls its temporary files") {
  const Folder folder;
  Driver driver;
  KernelStore store(std::make_shared<DiskCache>(folder.path, 0), driver.work);
  build(store, driver, "one", "code");
  make_folder(driver.place("tempo/1-1-1"));
  test::set_content(driver.place("tempo/1-1-1/tempo.so"), "library");
  store.stop();
  driver.forget();
  KernelStore next(std::make_shared<DiskCache>(folder.path, 0), driver.work);
  const KernelStore::Build turn(next, "one");
  CHECK(test::content_of(driver.place("tempo/1-1-1/tempo.so")) == "library");
}

TEST_CASE("nothing is compiled once the VM is ending") {
  Driver driver;
  KernelStore store(std::make_shared<DiskCache>("", 0), driver.work);
  store.require_room();
  store.stop();
  CHECK_THROWS_WITH_AS(store.require_room(), "nothing can be compiled: the VM is ending", Error);
  CHECK_THROWS_WITH_AS(KernelStore::Build(store, "one"),
                       "nothing can be compiled: the VM is ending", Error);
}

TEST_CASE("a work folder that was tidied away is made again") {
  Driver driver;
  KernelStore store(std::make_shared<DiskCache>("", 0), driver.work);
  const std::string aside = driver.work.path() + "-aside";
  std::filesystem::rename(driver.work.path(), aside);
  store.require_room();
  CHECK(std::filesystem::is_directory(driver.work.path()));
  std::filesystem::remove(driver.work.path());
  { const KernelStore::Build turn(store, "one"); }
  CHECK(std::filesystem::is_directory(driver.work.path()));
  std::filesystem::remove(driver.work.path());
  std::filesystem::rename(aside, driver.work.path());
}
