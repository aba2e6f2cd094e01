#include "runtime/program/program.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "runtime/program/disk_cache.hpp"
#include "support/engine_fixture.hpp"
#include "support/folder.hpp"

using namespace dala;
using test::Folder;
namespace fs = std::filesystem;

namespace {

constexpr const char* kSource =
    "__kernel void one(__global int* out) { out[get_global_id(0)] = 1; }\n";

std::string only_file(const std::string& folder) {
  std::string found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    CHECK(found.empty());
    found = entry.path().string();
  }
  return found;
}

// A rewritten file has a new inode; reading only updates its time.
ino_t inode(const std::string& path) {
  struct stat state {};
  REQUIRE(stat(path.c_str(), &state) == 0);
  return state.st_ino;
}

const Device& device() { return test::engine().runtime().device(); }

// Binaries only; kernel_store_test covers the driver's own files.
ProgramFiles in(const std::string& folder) {
  return {std::make_shared<DiskCache>(folder, 0), nullptr};
}

}  // namespace

TEST_CASE("the same source and options are one program") {
  Folder folder;
  ProgramCache cache(device(), in(folder.path));
  CHECK(cache.get(kSource, "-DA=1") == cache.get(kSource, "-DA=1"));
  CHECK(cache.get(kSource, "-DA=1") != cache.get(kSource, "-DA=2"));
}

TEST_CASE("a program is built once, saved, and read back without its source") {
  Folder folder;
  {
    ProgramCache cache(device(), in(folder.path));
    const auto program = cache.get(kSource, "");
    CHECK_FALSE(program->ready());
    program->build();
    CHECK(program->ready());
    CHECK(program->saved() == !device().binaries_are_costly());
    program->save();
    CHECK(program->saved());
  }
  ProgramCache cache(device(), in(folder.path));
  const auto program = cache.get(kSource, "");
  const auto written = inode(only_file(folder.path));
  program->build();
  CHECK(program->saved());
  CHECK(inode(only_file(folder.path)) == written);
  CHECK(program->kernel("one").object.get() != nullptr);
  CHECK(only_file(folder.path) != "");
}

TEST_CASE("a damaged file means a new build") {
  Folder folder;
  {
    ProgramCache cache(device(), in(folder.path));
    const auto program = cache.get(kSource, "");
    program->build();
    program->save();
  }
  const std::string file = only_file(folder.path);
  const auto size = fs::file_size(file);
  const auto rebuilds = [&] {
    ProgramCache cache(device(), in(folder.path));
    const auto program = cache.get(kSource, "");
    program->build();
    program->save();
    return fs::file_size(file) == size && program->kernel("one").object.get() != nullptr;
  };
  SUBCASE("cut short") {
    fs::resize_file(file, size / 2);
    CHECK(rebuilds());
  }
  SUBCASE("empty") {
    fs::resize_file(file, 0);
    CHECK(rebuilds());
  }
  SUBCASE("a byte changed") {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(size / 2));
    stream.put('\x7f');
    stream.put('\x01');
    stream.close();
    CHECK(rebuilds());
  }
}

TEST_CASE("source that does not compile gives the compiler's words, every time") {
  Folder folder;
  ProgramCache cache(device(), in(folder.path));
  const auto program = cache.get("__kernel void broken(__global int* out) { out[0] = nope; }", "");
  for (int i = 0; i < 2; ++i) {
    const Error error = test::must_fail([&] { program->build(); });
    CHECK(error.reason == Reason::build_failed);
    CHECK(error.message.find("nope") != std::string::npos);
    REQUIRE(error.details.size() == 1);
    CHECK(error.details.front().first == "log");
  }
}

TEST_CASE("a cache folder that cannot be written costs nothing but time") {
  ProgramCache cache(device(), in("/proc/no/such/folder"));
  const auto program = cache.get(kSource, "-DB=1");
  program->build();
  program->save();
  CHECK(program->kernel("one").object.get() != nullptr);
}
